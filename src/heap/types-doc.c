// SPDX-License-Identifier: LGPL-2.1-only
/* Adds objects up by type, cache and how the type is known. */
#include "heap/types-doc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/map64.h"

/* === Data ================================================================================= */

enum { TYPE, CACHE, BYTES, OBJECTS, SIZE, KNOWN_BY, EXAMPLE, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[TYPE] = { "type", "type", KS_CELL_TEXT },
	[CACHE] = { "cache", "cache", KS_CELL_TEXT, .width = 24 },
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[SIZE] = { "size", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[KNOWN_BY] = { "known_by", "known by", KS_CELL_TEXT },
	[EXAMPLE] = { "example", "example", KS_CELL_HEX, KS_UNIT_ADDRESS },
};

static const unsigned int in_text[] = { BYTES, OBJECTS, KNOWN_BY, EXAMPLE, CACHE, TYPE };

struct sum {
	u32 type, cache;
	u32 known_by;
	u32 example;
	u64 objects, bytes;
};

struct sums {
	KS_VEC(struct sum) items;
};

/* === Internals ============================================================================ */

static int add_up(const struct ks_snapshot *s, struct sums *sums)
{
	struct ks_map64 keys;
	int err = ks_map64_init(&keys);
	u32 i, number = KS_NONE;
	u64 key, last = UINT64_MAX;
	struct sum *sum;

	for (i = 0; !err && i < s->count; i++) {
		key = (u64)s->cache[i] << 40 | (u64)s->known_by[i] << 32 | s->type[i];
		/* Neighbours are mostly of one kind. */
		if (key != last)
			number = ks_map64_add(&keys, key);
		last = key;
		if (number == KS_NONE ||
		    (number == sums->items.len && !ks_vec_push(&sums->items))) {
			err = -ENOMEM;
			break;
		}
		sum = &sums->items.items[number];
		if (!sum->objects)
			*sum = (struct sum){ .type = s->type[i],
					     .cache = s->cache[i],
					     .known_by = s->known_by[i],
					     .example = i };
		sum->objects++;
		sum->bytes += s->caches.items[s->cache[i]].size;
	}
	ks_map64_deinit(&keys);
	return err;
}

static int by_bytes(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->example < y->example ? -1 : x->example > y->example;
}

static void add_rows(struct ks_doc *doc, const struct ks_snapshot *s, const struct sums *sums,
		     u64 top)
{
	struct ks_table *table = ks_doc_table(doc, "types", columns, COLUMNS);
	u64 bytes = 0, unknown = 0;
	struct ks_row row;
	size_t i;

	if (!table)
		return;
	ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	table->text_rows = (size_t)top;
	table->more = "more types";
	for (i = 0; i < sums->items.len; i++) {
		const struct sum *sum = &sums->items.items[i];

		row = ks_table_add(table);
		ks_row_text(row, TYPE, s->types.items[sum->type].name);
		ks_row_text(row, CACHE, s->caches.items[sum->cache].name);
		ks_row_u64(row, BYTES, sum->bytes);
		ks_row_u64(row, OBJECTS, sum->objects);
		ks_row_u64(row, SIZE, s->caches.items[sum->cache].size);
		ks_row_text(row, KNOWN_BY, ks_known_by_name(sum->known_by));
		ks_row_u64(row, EXAMPLE, s->addr[sum->example]);
		bytes += sum->bytes;
		if (sum->known_by == KS_KNOWN_NOT)
			unknown += sum->objects;
	}
	row = ks_table_total(table);
	ks_row_u64(row, BYTES, bytes);
	ks_row_u64(row, OBJECTS, s->count);
	ks_table_label_total(table, "in all");
	ks_doc_u64(doc, "unknown_objects", unknown);
	if (s->no_functions)
		ks_doc_say(doc,
			   "\nAddresses of functions can't be had: contents were not looked at.\n");
	ks_doc_say(doc, "\n%" PRIu64 " of %" PRIu32 " objects are of no known type\n", unknown,
		   s->count);
}

/* === Public =============================================================================== */

void ks_doc_add_types(struct ks_doc *doc, const struct ks_snapshot *s, u64 top)
{
	struct sums sums = { 0 };

	if (add_up(s, &sums))
		doc->failed = true;
	if (sums.items.len)
		qsort(sums.items.items, sums.items.len, sizeof(*sums.items.items), by_bytes);
	if (!doc->failed)
		add_rows(doc, s, &sums, top);
	ks_vec_free(&sums.items);
}

struct ks_doc *ks_doc_of_types(const struct ks_snapshot *s, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-heap-types-1");

	if (doc)
		ks_doc_add_types(doc, s, top);
	return doc;
}
