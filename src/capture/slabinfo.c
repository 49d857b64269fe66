// SPDX-License-Identifier: LGPL-2.1-only
/* Reading /proc/slabinfo, and from /sys/kernel/slab what it does not say. */
#include "capture/slabinfo.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/tracefs.h"

/* === Data ================================================================================= */

/* A link in /sys/kernel/slab: the caches of one target have been merged. */
struct link {
	char name[128], target[128];
};

struct links {
	KS_VEC(struct link) items;
};

/* === Internals ============================================================================ */

static int read_links(const char *sysfs, struct links *links)
{
	DIR *dir = opendir(sysfs);
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		struct link *link;
		ssize_t len;

		if (entry->d_type != DT_LNK || strlen(entry->d_name) >= sizeof(link->name))
			continue;
		link = ks_vec_push(&links->items);
		if (!link) {
			err = -ENOMEM;
			break;
		}
		strcpy(link->name, entry->d_name);
		len = readlinkat(dirfd(dir), entry->d_name, link->target, sizeof(link->target) - 1);
		link->target[len > 0 ? len : 0] = '\0';
	}
	if (dir)
		closedir(dir);
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct link *)a)->name, ((const struct link *)b)->name);
}

/* The other names of the folder that a cache's name leads to. */
static const char *aliases_of(struct ks_slab_census *census, const struct links *links,
			      const char *name)
{
	const char *target = NULL, *aliases;
	struct ks_strbuf sb;
	size_t i;

	ks_strbuf_init(&sb);
	for (i = 0; i < links->items.len; i++)
		if (!strcmp(links->items.items[i].name, name))
			target = links->items.items[i].target;
	for (i = 0; target && *target && i < links->items.len; i++) {
		const struct link *link = &links->items.items[i];

		if (!strcmp(link->target, target) && strcmp(link->name, name))
			ks_strbuf_printf(&sb, "%s%s", sb.len ? "," : "", link->name);
	}
	aliases = sb.failed ? NULL : ks_arena_strndup(&census->arena, ks_strbuf_str(&sb), sb.len);
	ks_strbuf_deinit(&sb);
	return aliases;
}

static u32 number_in(const char *sysfs, const char *cache, const char *file)
{
	struct ks_strbuf text;
	char path[512];
	u32 number = 0;

	ks_strbuf_init(&text);
	if (snprintf(path, sizeof(path), "%s/%s/%s", sysfs, cache, file) < (int)sizeof(path) &&
	    !ks_slurp(path, &text))
		number = (u32)strtoul(ks_strbuf_str(&text), NULL, 10);
	ks_strbuf_deinit(&text);
	return number;
}

/* name active_objs num_objs objsize objperslab pagesperslab : tunables ... : slabdata active_slabs num_slabs ... */
static int add_line(struct ks_slab_census *census, const char *line, const char *sysfs,
		    const struct links *links)
{
	unsigned long long active, all, size, per_slab, pages, active_slabs, slabs;
	struct ks_slab_cache *cache;
	char name[128];

	if (line[0] == '#' ||
	    sscanf(line,
		   "%127s %llu %llu %llu %llu %llu : tunables %*u %*u %*u : slabdata %llu %llu",
		   name, &active, &all, &size, &per_slab, &pages, &active_slabs, &slabs) != 8)
		return 0;
	cache = ks_vec_push(&census->caches);
	if (!cache)
		return -ENOMEM;
	cache->name = ks_arena_strndup(&census->arena, name, strlen(name));
	cache->aliases = aliases_of(census, links, name);
	if (!cache->name || !cache->aliases)
		return -ENOMEM;
	cache->object_size = number_in(sysfs, name, "object_size");
	cache->reclaimable = number_in(sysfs, name, "reclaim_account");
	cache->stride = (u32)size;
	cache->pages = (u32)pages;
	cache->slabs = slabs;
	cache->objects = active;
	cache->bytes = active * size;
	return 0;
}

/* === Public =============================================================================== */

int ks_slabinfo_read(const char *path, const char *sysfs, struct ks_slab_census *census)
{
	struct links links = { 0 };
	struct ks_strbuf text;
	char *line, *next;
	int err;

	ks_strbuf_init(&text);
	err = ks_slurp(path, &text);
	if (!err)
		err = read_links(sysfs, &links);
	if (links.items.len)
		qsort(links.items.items, links.items.len, sizeof(struct link), by_name);
	for (line = text.len ? text.s : NULL; !err && line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		err = add_line(census, line, sysfs, &links);
	}
	census->how = KS_CENSUS_BY_SLABINFO;
	ks_vec_free(&links.items);
	ks_strbuf_deinit(&text);
	return err;
}
