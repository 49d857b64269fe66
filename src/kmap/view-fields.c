// SPDX-License-Identifier: LGPL-2.1-only
/* The tables of "kmap fields": all types of a map; or one, by field, cache line, and in a proposed order. */
#include <string.h>

#include "kmap/field-rows.h"
#include "kmap/reorder.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

enum {
	TYPE_TYPE,
	TYPE_BY,
	TYPE_SIZE,
	TYPE_OBJECTS,
	TYPE_READS,
	TYPE_WRITES,
	TYPE_FIELDS,
	TYPE_TOUCHED,
	TYPE_LINES,
	TYPE_LINES_TOUCHED,
	TYPE_BYTES_TOUCHED,
	TYPE_HOLES,
	TYPE_VARYING,
	TYPE_BEYOND,
	TYPE_COLUMNS
};

static const struct ks_column type_columns[TYPE_COLUMNS] = {
	[TYPE_SIZE] = { "size", "size", KS_CELL_U64, KS_UNIT_BYTES, .exact = true, .width = 6 },
	[TYPE_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 8 },
	[TYPE_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT, .width = 9 },
	[TYPE_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT, .width = 9 },
	[TYPE_FIELDS] = { "fields", "fields", KS_CELL_U64, KS_UNIT_COUNT },
	[TYPE_TOUCHED] = { "fields_touched", "touched", KS_CELL_U64, KS_UNIT_COUNT },
	[TYPE_LINES] = { "lines", "lines", KS_CELL_U64, KS_UNIT_COUNT },
	[TYPE_LINES_TOUCHED] = { "lines_touched", "lines/object", KS_CELL_DOUBLE, KS_UNIT_NONE },
	[TYPE_BYTES_TOUCHED] = { "bytes_touched", "bytes/object", KS_CELL_DOUBLE, KS_UNIT_NONE },
	[TYPE_HOLES] = { "holes", "holes", KS_CELL_U64, KS_UNIT_BYTES, .optional = true },
	[TYPE_VARYING] = { "varying", "varying", KS_CELL_U64, KS_UNIT_COUNT, .if_any = true },
	[TYPE_BEYOND] = { "beyond", "beyond", KS_CELL_U64, KS_UNIT_COUNT, .if_any = true },
	[TYPE_BY] = { "typed_by", "typed by", KS_CELL_TEXT, KS_UNIT_NONE },
	[TYPE_TYPE] = { "type", "type", KS_CELL_TEXT, KS_UNIT_NONE },
};

static const unsigned int type_text[] = {
	TYPE_SIZE,  TYPE_OBJECTS, TYPE_READS,  TYPE_WRITES, TYPE_LINES_TOUCHED, TYPE_BYTES_TOUCHED,
	TYPE_HOLES, TYPE_VARYING, TYPE_BEYOND, TYPE_BY,	    TYPE_TYPE,
};

enum { ORDER_OFFSET, ORDER_WAS, ORDER_SIZE, ORDER_HEAT, ORDER_MEMBER, ORDER_COLUMNS };

static const struct ks_column order_columns[ORDER_COLUMNS] = {
	[ORDER_OFFSET] = { "offset", "offset", KS_CELL_U64, KS_UNIT_NONE },
	[ORDER_WAS] = { "was", "was", KS_CELL_U64, KS_UNIT_NONE },
	[ORDER_SIZE] = { "size", "size", KS_CELL_U64, KS_UNIT_BYTES, .exact = true },
	[ORDER_HEAT] = { "heat", "heat", KS_CELL_TEXT, KS_UNIT_NONE },
	[ORDER_MEMBER] = { "member", "member", KS_CELL_TEXT, KS_UNIT_NONE },
};

/* === Internals: tables ==================================================================== */

static void put_type(struct ks_table *table, const struct ks_kmap_struct *type)
{
	struct ks_row row = ks_table_add(table);
	u64 touched = 0, used = 0;
	size_t j;

	for (j = 0; j < type->fields.len; j++)
		touched += ks_kmap_field_accesses(&type->fields.items[j]) > 0;
	ks_row_text(row, TYPE_TYPE, type->name);
	ks_row_text(row, TYPE_BY, ks_kmap_typed_name(type->typed));
	ks_row_u64(row, TYPE_SIZE, type->size);
	ks_row_u64(row, TYPE_OBJECTS, type->objects);
	ks_row_u64(row, TYPE_READS, type->reads);
	ks_row_u64(row, TYPE_WRITES, type->writes);
	ks_row_u64(row, TYPE_FIELDS, type->fields.len);
	ks_row_u64(row, TYPE_TOUCHED, touched);
	ks_row_u64(row, TYPE_LINES, (type->size + KS_KMAP_LINE - 1) / KS_KMAP_LINE);
	ks_row_double(row, TYPE_LINES_TOUCHED, (double)type->lines / (double)type->objects);
	ks_row_double(row, TYPE_BYTES_TOUCHED, (double)type->bytes / (double)type->objects);
	for (j = 0; type->layout && j < type->layout->members.len; j++)
		used += type->layout->members.items[j].size;
	if (type->layout)
		ks_row_u64(row, TYPE_HOLES, used < type->size ? type->size - used : 0);
	ks_row_u64(row, TYPE_VARYING, type->varying);
	ks_row_u64(row, TYPE_BEYOND, type->beyond);
}

/* Those with most accesses; 0 = all. */
static void add_types(struct ks_doc *doc, const struct ks_kmap_fields *fields, u64 top)
{
	struct ks_table *table = ks_doc_table(doc, "types", type_columns, TYPE_COLUMNS);
	size_t i;

	if (!table)
		return;
	ks_table_select(table, KS_FORM_TEXT, type_text, ARRAY_SIZE(type_text));
	table->more = "types";
	for (i = 0; i < fields->structs.len && (!top || i < top); i++)
		put_type(table, &fields->structs.items[i]);
	table->left_out = fields->structs.len - i;
}

static void add_tables(struct ks_doc *doc, const struct ks_kmap_struct *type,
		       const struct ks_kmap_places *places)
{
	struct ks_table *fields = ks_kmap_field_table(doc), *lines, *pairs;

	if (fields)
		ks_kmap_put_fields(fields, type, places);
	ks_doc_say(doc, "\n");
	lines = ks_kmap_line_table(doc);
	if (lines) {
		lines->title = "Cache lines that are used";
		ks_kmap_put_lines(lines, type);
	}
	pairs = ks_kmap_pair_table(doc);
	if (!pairs)
		return;
	ks_kmap_put_pairs(pairs, type, places);
	if (ks_table_len(pairs))
		pairs->title = "Read-mostly beside written, in one cache line";
}

static void add_order(struct ks_doc *doc, const struct ks_kmap_struct *type)
{
	static const char *const heats[] = { "cold", "read", "written" };
	struct ks_kmap_order_of order;
	struct ks_table *table;
	size_t i;

	if (!type->layout)
		return;
	if (ks_kmap_reorder(type, &order)) {
		doc->failed = true;
		return;
	}
	if (!order.places.len) {
		ks_kmap_order_deinit(&order);
		return;
	}
	ks_doc_open(doc, "proposal");
	ks_doc_u64(doc, "size", order.size);
	ks_doc_u64(doc, "new_size", order.new_size);
	ks_doc_u64(doc, "size_class", ks_kmap_size_class(order.size));
	ks_doc_u64(doc, "new_size_class", ks_kmap_size_class(order.new_size));
	ks_doc_u64(doc, "holes", order.holes);
	ks_doc_u64(doc, "new_holes", order.new_holes);
	ks_doc_u64(doc, "hot_lines", order.hot_lines);
	ks_doc_u64(doc, "new_hot_lines", order.new_hot_lines);
	ks_doc_u64(doc, "mixed_lines", order.mixed_lines);
	ks_doc_u64(doc, "new_mixed_lines", order.new_mixed_lines);
	ks_doc_close(doc);
	ks_doc_say(
		doc,
		"A proposed order: %llu bytes (now %llu), %llu of them holes (now %llu); %llu hot cache "
		"lines (now %llu), %llu of them with both what is read and what is written (now "
		"%llu).\n",
		(unsigned long long)order.new_size, (unsigned long long)order.size,
		(unsigned long long)order.new_holes, (unsigned long long)order.holes,
		(unsigned long long)order.new_hot_lines, (unsigned long long)order.hot_lines,
		(unsigned long long)order.new_mixed_lines, (unsigned long long)order.mixed_lines);
	table = ks_doc_table(doc, "order", order_columns, ORDER_COLUMNS);
	for (i = 0; table && i < order.places.len; i++) {
		const struct ks_kmap_place *place = &order.places.items[i];
		const struct ks_debug_member *member = &type->layout->members.items[place->member];
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, ORDER_OFFSET, place->offset);
		ks_row_u64(row, ORDER_WAS, member->offset);
		ks_row_u64(row, ORDER_SIZE, member->size);
		ks_row_text(row, ORDER_HEAT, heats[order.heat[place->member]]);
		ks_row_text(row, ORDER_MEMBER, ks_debug_string(type->layout, member->name));
	}
	ks_kmap_order_deinit(&order);
}

static void add_notes(struct ks_doc *doc, const struct ks_kmap_fields *fields)
{
	ks_doc_note(doc, "unplaced_accesses", fields->unplaced,
		    "accesses do not say where in their object they were", false);
	ks_doc_note(doc, "untyped_accesses", fields->untyped,
		    "accesses were to objects of unknown type: give debug information with --types",
		    false);
}

/* === Internals: the page ================================================================== */

/* Types that a page has, so that it stays one that a browser opens at once. */
#define PAGE_TYPES 100

/* Where the rows of a type end, in the tables of all types: they begin where those of the one before end. */
enum { END_FIELDS, END_SHARING, END_COLUMNS };

static const struct ks_column end_columns[END_COLUMNS] = {
	[END_FIELDS] = { "fields", NULL, KS_CELL_U64 },
	[END_SHARING] = { "sharing", NULL, KS_CELL_U64 },
};

/* === Public =============================================================================== */

const struct ks_kmap_struct *ks_kmap_find_struct(const struct ks_kmap_fields *fields,
						 const char *name)
{
	size_t i;

	if (!strncmp(name, "struct ", 7))
		name += 7;
	for (i = 0; i < fields->structs.len; i++)
		if (!strcmp(fields->structs.items[i].name, name))
			return &fields->structs.items[i];
	return NULL;
}

struct ks_doc *ks_kmap_view_types(const struct ks_kmap_census *census,
				  const struct ks_kmap_places *places,
				  const struct ks_kmap_fields *fields, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-types-1");

	if (!doc)
		return NULL;
	add_types(doc, fields, top);
	add_notes(doc, fields);
	ks_kmap_view_quality(doc, census, places);
	return doc;
}

struct ks_doc *ks_kmap_view_fields(const struct ks_kmap_census *census,
				   const struct ks_kmap_places *places,
				   const struct ks_kmap_fields *fields,
				   const struct ks_kmap_struct *type)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-fields-1");

	if (!doc)
		return NULL;
	ks_doc_text(doc, "type", type->name);
	ks_doc_text(doc, "typed_by", ks_kmap_typed_name(type->typed));
	ks_doc_u64(doc, "size", type->size);
	ks_doc_u64(doc, "objects", type->objects);
	ks_doc_u64(doc, "aligned_objects", type->aligned);
	ks_doc_u64(doc, "reads", type->reads);
	ks_doc_u64(doc, "writes", type->writes);
	ks_doc_u64(doc, "varying", type->varying);
	ks_doc_u64(doc, "beyond", type->beyond);
	ks_doc_say(doc, "%s", type->layout ? "struct " : "");
	ks_doc_say_escaped(doc, type->name);
	ks_doc_say(doc, ", %llu bytes: %llu objects, %llu reads, %llu writes\n",
		   (unsigned long long)type->size, (unsigned long long)type->objects,
		   (unsigned long long)type->reads, (unsigned long long)type->writes);
	ks_doc_say(doc, "In each object %.1f cache lines and %.0f bytes were used.\n",
		   (double)type->lines / (double)type->objects,
		   (double)type->bytes / (double)type->objects);
	if (type->aligned < type->objects)
		ks_doc_say(
			doc,
			"%llu objects do not start with a cache line: lines are counted from the "
			"start of the struct.\n",
			(unsigned long long)(type->objects - type->aligned));
	if (type->varying)
		ks_doc_say(doc, "%llu accesses were at offsets that vary, and are in no row.\n",
			   (unsigned long long)type->varying);
	if (type->beyond)
		ks_doc_say(doc, "%llu accesses were behind the struct.\n",
			   (unsigned long long)type->beyond);
	ks_doc_say(doc, "\n");
	add_tables(doc, type, places);
	add_order(doc, type);
	add_notes(doc, fields);
	ks_kmap_view_quality(doc, census, places);
	return doc;
}

void ks_kmap_page_fields(struct ks_doc *doc, const struct ks_kmap_places *places,
			 const struct ks_kmap_fields *fields)
{
	struct ks_table *rows = ks_kmap_field_table(doc), *pairs = ks_kmap_pair_table(doc);
	struct ks_table *ends = ks_doc_table(doc, "type_ends", end_columns, END_COLUMNS);
	size_t i;

	add_types(doc, fields, PAGE_TYPES);
	for (i = 0; rows && pairs && ends && i < fields->structs.len && i < PAGE_TYPES; i++) {
		const struct ks_kmap_struct *type = &fields->structs.items[i];
		struct ks_row end = ks_table_add(ends);

		ks_kmap_put_fields(rows, type, places);
		ks_kmap_put_pairs(pairs, type, places);
		ks_row_u64(end, END_FIELDS, ks_table_len(rows));
		ks_row_u64(end, END_SHARING, ks_table_len(pairs));
	}
	ks_doc_u64(doc, "types_left_out",
		   fields->structs.len > PAGE_TYPES ? fields->structs.len - PAGE_TYPES : 0);
	add_notes(doc, fields);
}
