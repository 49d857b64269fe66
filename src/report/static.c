// SPDX-License-Identifier: LGPL-2.1-only
/* The static footprint as a document. */
#include "report/static.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "base/num.h"

/* === Data ================================================================================= */

enum {
	NAME,
	OBJECTS,
	KIND,
	FILE_PATH,
	MODULE,
	BYTES, /* in all classes: of a section or a symbol, which are in one */
	CLASS,
	CLASSES, /* bytes by class */
	TOTAL = CLASSES + KS_SECS,
	SHARE,
	COLUMNS
};

static ks_show_fn show_name, show_share, show_difference;
static ks_say_fn say_skipped_object;

/* Names and heads of NAME and of the classes depend on the grouping. */
static const struct ks_column columns[COLUMNS] = {
	[NAME] = { "dir", "directory", KS_CELL_TEXT, .show = show_name },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_COUNT, .width = 8, .gap = 1 },
	[KIND] = { "kind", "kind", KS_CELL_TEXT, .width = 8, .gap = 1 },
	[FILE_PATH] = { "file", NULL, KS_CELL_TEXT },
	[MODULE] = { "module", NULL, KS_CELL_TEXT },
	[BYTES] = { NULL, "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[CLASS] = { NULL, "counts as", KS_CELL_TEXT, .width = 9 },
	[TOTAL] = { "total", "total", KS_CELL_U64, KS_UNIT_BYTES, .width = 8, .gap = 1,
		    .object = "bytes" },
	/* per cent */
	[SHARE] = { NULL, "share", KS_CELL_DOUBLE, KS_UNIT_RATIO, .width = 6, .gap = 1,
		    .show = show_share },
};

enum { IMAGE_CLASS, IMAGE_OBJECTS, IMAGE_VMLINUX, IMAGE_DIFFERENCE, IMAGE_COLUMNS };

static const struct ks_column image_columns[IMAGE_COLUMNS] = {
	[IMAGE_CLASS] = { NULL, "", KS_CELL_TEXT, .width = 8 },
	[IMAGE_OBJECTS] = { NULL, "objects", KS_CELL_U64, KS_UNIT_BYTES, .width = 12, .gap = 1 },
	[IMAGE_VMLINUX] = { NULL, "vmlinux", KS_CELL_U64, KS_UNIT_BYTES, .width = 12, .gap = 1 },
	[IMAGE_DIFFERENCE] = { NULL, "difference", KS_CELL_TEXT, .show = show_difference },
};

enum { SKIPPED_OBJECT, SKIPPED_WHY, SKIPPED_COLUMNS };

static const struct ks_column skipped_columns[SKIPPED_COLUMNS] = {
	[SKIPPED_OBJECT] = { "object", NULL, KS_CELL_TEXT },
	[SKIPPED_WHY] = { "why", NULL, KS_CELL_TEXT },
};

static const struct ks_column unreadable_columns[SKIPPED_COLUMNS] = {
	[SKIPPED_OBJECT] = { "object", NULL, KS_CELL_TEXT },
	[SKIPPED_WHY] = { "message", NULL, KS_CELL_TEXT },
};

/* === Internals: cells ===================================================================== */

/* "inode.c [ext4]", or a symbol and its file. */
static void show_name(const struct ks_table *table, size_t row, unsigned int column,
		      struct ks_strbuf *out)
{
	const char *module;

	if (row == KS_TOTAL) {
		ks_strbuf_puts(out, table->total_label);
		return;
	}
	ks_strbuf_puts(out, ks_table_cell(table, row, column)->text);
	if (ks_table_state(table, row, FILE_PATH) != KS_CELL_UNSET) {
		const char *file = ks_table_cell(table, row, FILE_PATH)->text;

		ks_strbuf_printf(out, "  %s", *file ? file : "unresolved");
		return;
	}
	module = ks_table_cell(table, row, MODULE)->text;
	if (module)
		ks_strbuf_printf(out, " [%s]", module);
}

static void show_share(const struct ks_table *table, size_t row, unsigned int column,
		       struct ks_strbuf *out)
{
	ks_strbuf_printf(out, "%.1f%%", ks_table_cell(table, row, column)->number);
}

static void show_difference(const struct ks_table *table, size_t row, unsigned int column,
			    struct ks_strbuf *out)
{
	u64 objects = ks_table_cell(table, row, IMAGE_OBJECTS)->u64;
	u64 image = ks_table_cell(table, row, IMAGE_VMLINUX)->u64;
	bool more = image >= objects;

	(void)column;
	ks_strbuf_printf(out, "%c%" PRIu64, more ? '+' : '-',
			 more ? image - objects : objects - image);
}

static void say_skipped_object(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	const char *path = ks_table_cell(table, row, SKIPPED_OBJECT)->text;

	ks_strbuf_printf(out, "%-14s ", ks_table_cell(table, row, SKIPPED_WHY)->text);
	ks_escape_tty(out, path, strlen(path));
	ks_strbuf_puts(out, "\n");
}

/* === Internals: the rows ================================================================== */

static struct ks_footprint whole_of(const struct ks_static_model *model)
{
	struct ks_footprint sum;
	unsigned int i;

	for (i = 0; i < KS_SECS; i++)
		sum.bytes[i] = ks_add_sat(model->builtin.bytes[i], model->modules.bytes[i]);
	return sum;
}

static void select_columns(struct ks_table *table, enum ks_static_by by)
{
	static const unsigned int sections[] = { BYTES, OBJECTS, CLASS, NAME };
	static const unsigned int symbols[] = { BYTES, CLASS, KIND, NAME };
	bool is_symbol = by == KS_STATIC_SYMBOL;
	unsigned int json[COLUMNS] = { NAME }, csv[COLUMNS] = { NAME }, classes[COLUMNS], i;
	size_t in_json = 1, in_csv = 1, in_text = 0;

	if (is_symbol) {
		json[in_json++] = KIND;
		json[in_json++] = FILE_PATH;
	} else {
		json[in_json++] = OBJECTS;
	}
	json[in_json++] = MODULE;
	for (i = CLASSES; i <= TOTAL; i++) {
		json[in_json++] = csv[in_csv++] = i;
		if (i != CLASSES + KS_SEC_DISCARDED)
			classes[in_text++] = i;
	}
	csv[in_csv++] = MODULE;
	if (is_symbol) {
		csv[in_csv++] = KIND;
		csv[in_csv++] = FILE_PATH;
	} else {
		csv[in_csv++] = OBJECTS;
	}
	classes[in_text++] = SHARE;
	classes[in_text++] = NAME;
	ks_table_select(table, KS_FORM_JSON, json, in_json);
	ks_table_select(table, KS_FORM_CSV, csv, in_csv);
	ks_table_select(table, KS_FORM_PARQUET, csv, in_csv);
	if (by == KS_STATIC_SECTION)
		ks_table_select(table, KS_FORM_TEXT, sections, ARRAY_SIZE(sections));
	else if (is_symbol)
		ks_table_select(table, KS_FORM_TEXT, symbols, ARRAY_SIZE(symbols));
	else
		ks_table_select(table, KS_FORM_TEXT, classes, in_text);
}

static struct ks_table *new_table(struct ks_doc *doc, enum ks_static_by by)
{
	static const char *const heads[] = { "directory", "file", "section", "symbol, file" };
	struct ks_column mine[COLUMNS];
	struct ks_table *table;
	unsigned int i;

	memcpy(mine, columns, sizeof(mine));
	for (i = 0; i < KS_SECS; i++) {
		const char *name = ks_section_class_name((enum ks_section_class)i);

		mine[CLASSES + i] =
			(struct ks_column){ name,	name,	  KS_CELL_U64,	    KS_UNIT_BYTES,
					    .width = 8, .gap = 1, .object = "bytes" };
	}
	mine[NAME].name = ks_static_by_name(by);
	mine[NAME].head = heads[by];
	if (by == KS_STATIC_SYMBOL)
		mine[CLASS].head = "class";
	table = ks_doc_loose_table(doc, "rows", mine, COLUMNS);
	select_columns(table, by);
	return table;
}

/* The one class that a section's or symbol's bytes are in. */
static const char *class_of(const struct ks_footprint *size)
{
	unsigned int i;

	for (i = 0; i < KS_SECS - 1 && !size->bytes[i];)
		i++;
	return ks_section_class_name((enum ks_section_class)i);
}

static void put_footprint(struct ks_row row, const struct ks_footprint *size, u64 whole)
{
	u64 total = ks_footprint_total(size);
	unsigned int i;

	for (i = 0; i < KS_SECS; i++)
		ks_row_u64(row, CLASSES + i, size->bytes[i]);
	ks_row_u64(row, TOTAL, total);
	ks_row_double(row, SHARE, whole ? 100.0 * (double)total / (double)whole : 0);
}

static void put_row(struct ks_row row, enum ks_static_by by, const struct ks_static_row *from,
		    u64 whole)
{
	u64 bytes = 0;
	unsigned int i;

	ks_row_text(row, NAME, from->name);
	if (by == KS_STATIC_SYMBOL) {
		ks_row_text(row, KIND, from->is_function ? "function" : "variable");
		ks_row_text(row, FILE_PATH, from->file);
	} else {
		ks_row_u64(row, OBJECTS, from->files);
	}
	if (*from->module)
		ks_row_text(row, MODULE, from->module);
	for (i = 0; i < KS_SECS; i++)
		bytes += from->size.bytes[i];
	/* A symbol that the linker discards takes no room. */
	ks_row_u64(row, BYTES, by == KS_STATIC_SYMBOL ? ks_footprint_total(&from->size) : bytes);
	ks_row_text(row, CLASS, class_of(&from->size));
	put_footprint(row, &from->size, whole);
}

static struct ks_table *rows_table(struct ks_doc *doc, const struct ks_static_model *model,
				   const struct ks_static_rows *rows)
{
	struct ks_footprint whole = whole_of(model);
	struct ks_table *table = new_table(doc, rows->by);
	size_t i;

	for (i = 0; i < rows->items.len; i++)
		put_row(ks_table_add(table), rows->by, &rows->items.items[i],
			ks_footprint_total(&whole));
	if (rows->by == KS_STATIC_DIR || rows->by == KS_STATIC_FILE) {
		put_footprint(ks_table_total(table), &whole, ks_footprint_total(&whole));
		ks_table_label_total(table, "all");
	}
	if (table) {
		table->left_out = rows->left_out;
		table->more = "more";
	}
	return table;
}

/* === Internals: around the rows =========================================================== */

static void add_footprint(struct ks_doc *doc, const char *name, const struct ks_footprint *f)
{
	unsigned int i;

	ks_doc_open(doc, name);
	for (i = 0; i < KS_SECS; i++)
		ks_doc_u64(doc, ks_section_class_name((enum ks_section_class)i), f->bytes[i]);
	ks_doc_u64(doc, "total", ks_footprint_total(f));
	ks_doc_close(doc);
}

static void add_facts(struct ks_doc *doc, const struct ks_static_model *model, enum ks_static_by by)
{
	ks_doc_text(doc, "kernel", model->source);
	ks_doc_text(doc, "release", model->release);
	ks_doc_text(doc, "branch", model->branch);
	ks_doc_text(doc, "by", ks_static_by_name(by));
	ks_doc_u64(doc, "builtin_objects", model->builtin_objects);
	ks_doc_u64(doc, "module_objects", model->module_objects);
	add_footprint(doc, "builtin", &model->builtin);
	add_footprint(doc, "modules", &model->modules);
	if (!model->have_image)
		return;
	add_footprint(doc, "vmlinux", &model->image);
	ks_doc_u64(doc, "vmlinux_kallsyms", model->image_kallsyms);
	ks_doc_u64(doc, "vmlinux_btf", model->image_btf);
}

static struct ks_table *skipped_table(struct ks_doc *doc, const struct ks_static_model *model)
{
	struct ks_table *table =
		ks_doc_loose_table(doc, "skipped", skipped_columns, SKIPPED_COLUMNS);
	size_t i;

	for (i = 0; i < model->skipped.len; i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, SKIPPED_OBJECT, model->skipped.items[i].path);
		ks_row_text(row, SKIPPED_WHY, model->skipped.items[i].why);
	}
	if (table)
		table->say = say_skipped_object;
	return table;
}

static struct ks_table *unreadable_table(struct ks_doc *doc, const struct ks_static_model *model)
{
	struct ks_table *table =
		ks_doc_loose_table(doc, "unreadable", unreadable_columns, SKIPPED_COLUMNS);
	size_t i;

	for (i = 0; i < model->bad.len; i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, SKIPPED_OBJECT, model->bad.items[i].path);
		ks_row_text(row, SKIPPED_WHY, model->bad.items[i].message);
	}
	return table;
}

static void say_head(struct ks_doc *doc, const struct ks_static_model *model)
{
	ks_doc_say(doc, "static footprint of ");
	ks_doc_say_escaped(doc, *model->release ? model->release : model->source);
	if (*model->branch) {
		ks_doc_say(doc, ", ");
		ks_doc_say_escaped(doc, model->branch);
	}
	if (model->builtin_objects + model->module_objects)
		ks_doc_say(doc, ": %" PRIu64 " objects built in, %" PRIu64 " in modules",
			   model->builtin_objects, model->module_objects);
	ks_doc_say(doc, "\n\n");
}

/* "not counted: 7 composite, 39 host tool" */
static void say_skipped(struct ks_doc *doc, const struct ks_static_model *model)
{
	size_t i, start = 0;

	if (!model->skipped.len)
		return;
	ks_doc_say(doc, "not counted: ");
	for (i = 1; i <= model->skipped.len; i++) {
		const struct ks_static_skip *first = &model->skipped.items[start];

		if (i < model->skipped.len && !strcmp(model->skipped.items[i].why, first->why))
			continue;
		ks_doc_say(doc, "%s%zu %s", start ? ", " : "", i - start, first->why);
		start = i;
	}
	ks_doc_say(doc, " (--skipped lists them)\n");
}

static void put_image(struct ks_table *table, const char *class, u64 objects, u64 image)
{
	struct ks_row row = ks_table_add(table);

	ks_row_text(row, IMAGE_CLASS, class);
	ks_row_u64(row, IMAGE_OBJECTS, objects);
	ks_row_u64(row, IMAGE_VMLINUX, image);
}

/* The built-in part beside vmlinux: they differ, and here is by how much and why. */
static void say_image(struct ks_doc *doc, const struct ks_static_model *model)
{
	struct ks_table *table;
	unsigned int i;

	if (!model->have_image)
		return;
	ks_doc_say(doc, "\nvmlinux beside the objects in it:\n");
	table = ks_doc_loose_table(doc, "image", image_columns, IMAGE_COLUMNS);
	for (i = 0; i < KS_SEC_DISCARDED; i++)
		put_image(table, ks_section_class_name((enum ks_section_class)i),
			  model->builtin.bytes[i], model->image.bytes[i]);
	put_image(table, "total", ks_footprint_total(&model->builtin),
		  ks_footprint_total(&model->image));
	ks_doc_place(doc, table, KS_IN_TEXT);
	ks_doc_say(doc,
		   "of that, made by the link: %" PRIu64 " kallsyms, %" PRIu64
		   " BTF; the rest is alignment, linker tables and merged\nstrings. %" PRIu64
		   " bytes of the objects are in sections that the linker discards.\n",
		   model->image_kallsyms, model->image_btf, model->builtin.bytes[KS_SEC_DISCARDED]);
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_static(const struct ks_static_model *model,
				const struct ks_static_rows *rows)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-static-1");

	if (!doc)
		return NULL;
	add_facts(doc, model, rows->by);
	say_head(doc, model);
	ks_doc_place(doc, rows_table(doc, model, rows), KS_IN_BOTH);
	ks_doc_place(doc, skipped_table(doc, model), KS_IN_JSON);
	ks_doc_place(doc, unreadable_table(doc, model), KS_IN_JSON);
	ks_doc_say(doc, "\n");
	say_skipped(doc, model);
	if (rows->by == KS_STATIC_DIR || rows->by == KS_STATIC_SECTION)
		say_image(doc, model);
	return doc;
}

struct ks_doc *ks_doc_of_skipped(const struct ks_static_model *model)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-static-skipped-1");

	if (doc)
		ks_doc_place(doc, skipped_table(doc, model), KS_IN_BOTH);
	return doc;
}
