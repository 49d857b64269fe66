// SPDX-License-Identifier: LGPL-2.1-only
/* Unreachable objects by type, size and what they point to; below it, what can make the result wrong. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map64.h"
#include "heap/unreachable.h"

/* === Data ================================================================================= */

enum { TYPE, CACHE, SIZE, BYTES, OBJECTS, POINTS, KNOWN_BY, CGROUP, EXAMPLE, SITE, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[TYPE] = { "type", "type", KS_CELL_TEXT },
	[CACHE] = { "cache", "cache", KS_CELL_TEXT, .width = 20 },
	[SIZE] = { "size", "size", KS_CELL_U64, KS_UNIT_BYTES, .width = 6, .exact = true },
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 10 },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 8 },
	[POINTS] = { "points_to", "points to", KS_CELL_TEXT },
	[KNOWN_BY] = { "known_by", NULL, KS_CELL_TEXT },
	[CGROUP] = { "cgroup", NULL, KS_CELL_TEXT },
	[EXAMPLE] = { "example", "example", KS_CELL_HEX, KS_UNIT_ADDRESS },
	[SITE] = { "site", "allocated by", KS_CELL_TEXT },
};

static const unsigned int in_text[] = { BYTES, OBJECTS, SIZE, EXAMPLE, CACHE, TYPE, POINTS };
static const unsigned int with_sites[] = {
	BYTES, OBJECTS, SIZE, EXAMPLE, CACHE, TYPE, SITE, POINTS
};

enum { TARGETS_MAX = 4, TEXT_LEN = 400 };

static const char caution[] =
	"\n"
	"An object that nobody uses may be missing here: an old value on a stack, in a buffer or in a field\n"
	"that was not cleared looks like a pointer to it. An object that is in use may be listed: its only\n"
	"pointer may be kept as an offset, a physical address or a number, in a register of a CPU, or in memory\n"
	"of a device; or it is free, and waits for a grace period of RCU to become so.\n";

struct group {
	u32 type, cache;
	u32 points, site; /* texts */
	u32 known_by, example;
	u64 objects, bytes;
};

struct groups {
	KS_VEC(struct group) items;
	struct ks_map64 keys;	/* cache, type and origin */
	struct ks_map64 origin; /* what they point to and who allocated them, as a number */
	struct ks_intern texts;
	const struct ks_heap_sites *sites;
	bool each;
};

/* === Internals ============================================================================ */

/* "mm_struct, file": the types of what an object points to, in the order of its fields. */
static void describe(const struct ks_snapshot *s, u32 object, char *text, size_t size)
{
	u32 i, targets = 0, type;
	size_t len = 0;

	*text = '\0';
	for (i = s->ref_first[object]; i < s->ref_first[object + 1]; i++) {
		type = s->type[s->refs.items[i].to];
		if (len + 2 >= size)
			return;
		if (targets++ == TARGETS_MAX) {
			snprintf(text + len, size - len, ", ...");
			return;
		}
		len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
					type ? s->types.items[type].name
					     : s->caches.items[s->cache[s->refs.items[i].to]].name);
		len = ks_min(len, size - 1);
	}
}

static int add(struct groups *groups, const struct ks_snapshot *s, u32 object)
{
	const char *site = groups->sites ? ks_heap_site(groups->sites, s->addr[object]) : "";
	struct ks_map64 *keys = &groups->keys;
	u32 points, by, origin, number;
	char text[TEXT_LEN];
	struct group *group;

	describe(s, object, text, sizeof(text));
	points = ks_intern_add(&groups->texts, text, strlen(text));
	by = ks_intern_add(&groups->texts, site, strlen(site));
	if (points == KS_NONE || by == KS_NONE)
		return -ENOMEM;
	origin = ks_map64_add(&groups->origin, (u64)points << 32 | by);
	if (origin == KS_NONE)
		return -ENOMEM;
	number = ks_map64_add(keys, groups->each ? object
						 : (u64)s->cache[object] << 48 |
							   (u64)(s->type[object] & 0xffffff) << 24 |
							   (origin & 0xffffff));
	if (number == KS_NONE || (number == groups->items.len && !ks_vec_push(&groups->items)))
		return -ENOMEM;
	group = &groups->items.items[number];
	if (!group->objects)
		*group = (struct group){ .type = s->type[object],
					 .cache = s->cache[object],
					 .points = points,
					 .site = by,
					 .known_by = s->known_by[object],
					 .example = object };
	group->objects++;
	group->bytes += s->caches.items[s->cache[object]].size;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->example < y->example ? -1 : x->example > y->example;
}

static void add_row(struct ks_table *table, const struct ks_snapshot *s,
		    const struct groups *groups, const struct group *group)
{
	struct ks_row row = ks_table_add(table);
	u16 cgroup = s->cgroup[group->example];

	ks_row_text(row, TYPE, s->types.items[group->type].name);
	ks_row_text(row, CACHE, s->caches.items[group->cache].name);
	ks_row_u64(row, SIZE, s->caches.items[group->cache].size);
	ks_row_u64(row, BYTES, group->bytes);
	ks_row_u64(row, OBJECTS, group->objects);
	ks_row_text(row, POINTS, ks_intern_get(&groups->texts, group->points).s);
	ks_row_text(row, KNOWN_BY, ks_known_by_name(group->known_by));
	ks_row_text(row, CGROUP, cgroup < s->cgroups.len ? s->cgroups.items[cgroup] : "");
	ks_row_u64(row, EXAMPLE, s->addr[group->example]);
	ks_row_text(row, SITE, ks_intern_get(&groups->texts, group->site).s);
}

static void add_rows(struct ks_doc *doc, const struct ks_snapshot *s, const struct groups *groups,
		     const struct ks_candidates_list *list, u64 top)
{
	struct ks_table *table = ks_doc_table(doc, "unreachable", columns, COLUMNS);
	u64 bytes = 0;
	struct ks_row row;
	size_t i;

	if (!table)
		return;
	if (groups->sites)
		ks_table_select(table, KS_FORM_TEXT, with_sites, ARRAY_SIZE(with_sites));
	else
		ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	table->text_rows = (size_t)top;
	table->more = groups->each ? "more objects" : "more groups";
	for (i = 0; i < groups->items.len; i++) {
		add_row(table, s, groups, &groups->items.items[i]);
		bytes += groups->items.items[i].bytes;
	}
	row = ks_table_total(table);
	ks_row_u64(row, BYTES, bytes);
	ks_row_u64(row, OBJECTS, list->items.len);
	ks_table_label_total(table, "in all");
	ks_doc_u64(doc, "all_objects", list->objects);
	ks_doc_u64(doc, "unreachable_objects", list->items.len);
	ks_doc_u64(doc, "unreachable_bytes", bytes);
	ks_doc_bool(doc, "seen_twice", list->twice);
	ks_doc_say(doc, "\n%zu of %" PRIu64 " objects are held by nobody%s\n", list->items.len,
		   list->objects,
		   list->twice ? "" : ", as far as one look can tell; two looks tell more");
	if (!s->root_bytes[KS_ROOT_DATA] && !s->root_bytes[KS_ROOT_VMALLOC])
		ks_doc_say(doc,
			   "The kernel's page tables could not be found: variables were looked "
			   "for among pages alone.\n");
	ks_doc_say(doc, "%s", caution);
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_unreachable(const struct ks_snapshot *s,
				     const struct ks_candidates_list *list,
				     const struct ks_unreachable_show *show)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-heap-unreachable-1");
	struct groups groups = { .sites = show->sites, .each = show->each };
	size_t i;
	int err = ks_intern_init(&groups.texts);

	if (!err)
		err = ks_map64_init(&groups.keys);
	if (!err)
		err = ks_map64_init(&groups.origin);
	for (i = 0; !err && i < list->items.len; i++)
		err = add(&groups, s, list->items.items[i].object);
	if (!err && doc) {
		/* Candidates come by address already. */
		if (groups.items.len && !show->each)
			qsort(groups.items.items, groups.items.len, sizeof(*groups.items.items),
			      by_bytes);
		add_rows(doc, s, &groups, list, show->top);
	}
	ks_vec_free(&groups.items);
	ks_intern_deinit(&groups.texts);
	ks_map64_deinit(&groups.keys);
	ks_map64_deinit(&groups.origin);
	if (err) {
		ks_doc_free(doc);
		doc = NULL;
	}
	return doc;
}
