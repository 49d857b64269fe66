// SPDX-License-Identifier: LGPL-2.1-only
/* Reads the links of /sys/kernel/slab. Their targets are named after what the merged caches have in common. */
#include "heap/aliases.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* === Internals ============================================================================ */

static int by_cache(const void *a, const void *b)
{
	const struct ks_alias *x = a, *y = b;

	if (x->cache != y->cache)
		return x->cache < y->cache ? -1 : 1;
	return strcmp(x->name, y->name);
}

static u32 cache_of_id(const struct ks_caches *caches, const char *id)
{
	u32 i;

	for (i = 0; i < caches->items.len; i++)
		if (*id && !strcmp(caches->items.items[i].id, id))
			return i;
	return KS_NONE;
}

/* === Public =============================================================================== */

int ks_aliases_read(const struct ks_kernel *kernel, const struct ks_caches *caches,
		    struct ks_aliases **ret_aliases)
{
	struct ks_aliases *aliases = calloc(1, sizeof(*aliases));
	DIR *dir = kernel->live ? opendir("/sys/kernel/slab") : NULL;
	struct ks_alias *alias;
	struct dirent *entry;
	char target[128];
	ssize_t len;
	u32 cache;

	if (!aliases) {
		if (dir)
			closedir(dir);
		return -ENOMEM;
	}
	ks_arena_init(&aliases->arena);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_type != DT_LNK)
			continue;
		len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		cache = cache_of_id(caches, target);
		if (cache == KS_NONE)
			continue;
		alias = ks_vec_push(&aliases->items);
		if (alias) {
			alias->cache = cache;
			alias->name = ks_arena_strndup(&aliases->arena, entry->d_name,
						       strlen(entry->d_name));
		}
		if (!alias || !alias->name) {
			closedir(dir);
			ks_aliases_free(aliases);
			return -ENOMEM;
		}
	}
	if (dir)
		closedir(dir);
	if (aliases->items.len)
		qsort(aliases->items.items, aliases->items.len, sizeof(*aliases->items.items),
		      by_cache);
	*ret_aliases = aliases;
	return 0;
}

void ks_aliases_free(struct ks_aliases *aliases)
{
	if (!aliases)
		return;
	ks_vec_free(&aliases->items);
	ks_arena_deinit(&aliases->arena);
	free(aliases);
}
