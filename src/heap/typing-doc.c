// SPDX-License-Identifier: LGPL-2.1-only
/* The table of types, and how the types are known. */
#include "heap/typing-doc.h"

#include <inttypes.h>

/* === Data ================================================================================= */

enum { TYPE, CACHE, BYTES, OBJECTS, KNOWN_BY, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[TYPE] = { "type", "type", KS_CELL_TEXT },
	[CACHE] = { "cache", "cache", KS_CELL_TEXT, .width = 24 },
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[KNOWN_BY] = { "known_by", "known by", KS_CELL_TEXT },
};

static const unsigned int in_text[] = { BYTES, OBJECTS, KNOWN_BY, CACHE, TYPE };

/* === Public =============================================================================== */

void ks_doc_add_types(struct ks_doc *doc, const struct ks_census *census,
		      const struct ks_typing *typing, u64 top)
{
	struct ks_table *table = ks_doc_table(doc, "types", columns, COLUMNS);
	u64 bytes = 0, objects = 0, unknown = 0;
	struct ks_row out;
	size_t i;

	if (!table)
		return;
	ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	table->text_rows = (size_t)top;
	table->more = "more types";
	for (i = 0; i < typing->rows.len; i++) {
		const struct ks_typing_row *row = &typing->rows.items[i];

		out = ks_table_add(table);
		ks_row_text(out, TYPE, ks_type_text(typing->types, row->type));
		ks_row_text(out, CACHE, census->caches->items.items[row->cache].name);
		ks_row_u64(out, BYTES, row->bytes);
		ks_row_u64(out, OBJECTS, row->objects);
		ks_row_text(out, KNOWN_BY, ks_known_by_name(row->known_by));
		bytes += row->bytes;
		objects += row->objects;
		if (row->known_by == KS_KNOWN_NOT)
			unknown += row->objects;
	}
	out = ks_table_total(table);
	ks_row_u64(out, BYTES, bytes);
	ks_row_u64(out, OBJECTS, objects);
	ks_table_label_total(table, "in all");
	ks_doc_u64(doc, "unknown_objects", unknown);
	if (typing->no_functions)
		ks_doc_say(doc,
			   "\nAddresses of functions can't be had: contents were not looked at.\n");
	ks_doc_say(doc, "\n%" PRIu64 " of %" PRIu64 " objects are of no known type\n\n", unknown,
		   objects);
}
