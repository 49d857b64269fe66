// SPDX-License-Identifier: LGPL-2.1-only
/* The table of types. */
#include "heap/types-doc.h"

#include <inttypes.h>

#include "heap/type-sums.h"

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

/* === Internals ============================================================================ */

static void add_rows(struct ks_doc *doc, const struct ks_snapshot *s,
		     const struct ks_type_sums *sums, u64 top)
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
		const struct ks_type_sum *sum = &sums->items.items[i];

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
	struct ks_type_sums sums;

	if (ks_type_sums_init(&sums, s))
		doc->failed = true;
	if (!doc->failed)
		add_rows(doc, s, &sums, top);
	ks_type_sums_deinit(&sums);
}

struct ks_doc *ks_doc_of_types(const struct ks_snapshot *s, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-heap-types-1");

	if (doc)
		ks_doc_add_types(doc, s, top);
	return doc;
}
