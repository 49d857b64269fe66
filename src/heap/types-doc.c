// SPDX-License-Identifier: LGPL-2.1-only
/* The table of types. */
#include "heap/types-doc.h"

#include <inttypes.h>

#include "heap/commonest.h"
#include "heap/type-sums.h"

/* === Data ================================================================================= */

enum { TYPE, CACHE, BYTES, OBJECTS, SIZE, KNOWN_BY, EXAMPLE, CONTENTS, WHAT, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[TYPE] = { "type", "type", KS_CELL_TEXT },
	[CACHE] = { "cache", "cache", KS_CELL_TEXT, .width = 24 },
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[SIZE] = { "size", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[KNOWN_BY] = { "known_by", "known by", KS_CELL_TEXT },
	[EXAMPLE] = { "example", "example", KS_CELL_HEX, KS_UNIT_ADDRESS },
	[CONTENTS] = { "contents", NULL, KS_CELL_TEXT, .optional = true },
	[WHAT] = { NULL, "type", KS_CELL_TEXT, .optional = true }, /* with the contents */
};

static const unsigned int in_text[] = { BYTES, OBJECTS, KNOWN_BY, EXAMPLE, CACHE, TYPE };
static const unsigned int with_contents[] = { BYTES, OBJECTS, KNOWN_BY, EXAMPLE, CACHE, WHAT };

/* === Internals ============================================================================ */

static void add_contents(struct ks_doc *doc, struct ks_row row, const struct ks_snapshot *s,
			 const struct ks_type_sum *sum, struct ks_commonest *commonest)
{
	struct ks_strbuf contents = { 0 }, what = { 0 };

	if (sum->known_by == KS_KNOWN_NOT && ks_commonest_say(commonest, sum->cache, &contents))
		doc->failed = true;
	if (contents.len)
		ks_row_text(row, CONTENTS, ks_strbuf_str(&contents));
	ks_strbuf_puts(&what, s->types.items[sum->type].name);
	if (contents.len)
		ks_strbuf_printf(&what, " (%s)", ks_strbuf_str(&contents));
	ks_row_text(row, WHAT, ks_strbuf_str(&what));
	doc->failed = doc->failed || contents.failed || what.failed;
	ks_strbuf_deinit(&what);
	ks_strbuf_deinit(&contents);
}

static void add_rows(struct ks_doc *doc, const struct ks_snapshot *s,
		     const struct ks_type_sums *sums, struct ks_commonest *commonest, u64 top)
{
	struct ks_table *table =
		ks_doc_table(doc, "types", columns, commonest ? COLUMNS : CONTENTS);
	u64 bytes = 0, unknown = 0;
	struct ks_row row;
	size_t i;

	if (!table)
		return;
	if (commonest)
		ks_table_select(table, KS_FORM_TEXT, with_contents, ARRAY_SIZE(with_contents));
	else
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
		if (commonest)
			add_contents(doc, row, s, sum, commonest);
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

static void add_types(struct ks_doc *doc, const struct ks_snapshot *s,
		      struct ks_commonest *commonest, u64 top)
{
	struct ks_type_sums sums;

	if (ks_type_sums_init(&sums, s))
		doc->failed = true;
	if (!doc->failed)
		add_rows(doc, s, &sums, commonest, top);
	ks_type_sums_deinit(&sums);
}

/* === Public =============================================================================== */

void ks_doc_add_types(struct ks_doc *doc, const struct ks_snapshot *s, u64 top)
{
	add_types(doc, s, NULL, top);
}

struct ks_doc *ks_doc_of_types(const struct ks_snapshot *s, struct ks_kernel *kernel, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-heap-types-1");
	struct ks_commonest *commonest = NULL;

	if (doc && (kernel || s->ref_first) && ks_commonest_new(kernel, s, &commonest))
		doc->failed = true;
	if (doc)
		add_types(doc, s, commonest, top);
	ks_commonest_free(commonest);
	return doc;
}
