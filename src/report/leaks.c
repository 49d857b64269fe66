// SPDX-License-Identifier: LGPL-2.1-only
/* Leaks: what still lives at the end of a capture. */
#include <inttypes.h>

#include "report/report.h"

/* === Data ================================================================================= */

enum {
	SITE,
	STACK,
	BYTES,
	REQUESTED,
	OBJECTS,
	OLDEST,
	YOUNGEST,
	MEAN_AGE,
	ALLOCS,
	FREES,
	IMPLIED_FREES,
	PAGE_FREES,
	COLUMNS
};

static ks_show_fn show_age;

static const struct ks_column columns[COLUMNS] = {
	[SITE] = { "site", "site", KS_CELL_TEXT },
	[STACK] = { "stack", "stack", KS_CELL_TEXTS, .width = 28 },
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[REQUESTED] = { "requested", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 10, .gap = 1 },
	[OLDEST] = { "oldest", "oldest", KS_CELL_U64, KS_UNIT_TICKS, .width = 12, .gap = 1,
		     .show = show_age },
	[YOUNGEST] = { "youngest", "youngest", KS_CELL_U64, KS_UNIT_TICKS, .width = 12, .gap = 1,
		       .show = show_age },
	[MEAN_AGE] = { "mean_age", "mean age", KS_CELL_U64, KS_UNIT_TICKS, .width = 12, .gap = 1,
		       .show = show_age },
	[ALLOCS] = { "allocs", "allocs", KS_CELL_U64, KS_UNIT_COUNT, .width = 10, .gap = 1 },
	[FREES] = { "frees", "frees", KS_CELL_U64, KS_UNIT_COUNT, .width = 10, .gap = 1 },
	[IMPLIED_FREES] = { "implied_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[PAGE_FREES] = { "page_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
};

static const unsigned int in_text[] = {
	BYTES, OBJECTS, OLDEST, MEAN_AGE, YOUNGEST, ALLOCS, FREES, SITE, STACK,
};

/* === Internals ============================================================================ */

/* Ages need no nanoseconds: "1.250", or ticks. */
static void show_age(const struct ks_table *table, size_t row, unsigned int column,
		     struct ks_strbuf *out)
{
	u64 age = ks_table_cell(table, row, column)->u64;

	if (table->columns[column].unit == KS_UNIT_NS)
		ks_strbuf_printf(out, "%" PRIu64 ".%03" PRIu64, age / 1000000000,
				 age / 1000000 % 1000);
	else
		ks_strbuf_printf(out, "%" PRIu64, age);
}

static struct ks_table *new_table(struct ks_doc *doc, const struct ks_model *model,
				  const char *name, u64 top)
{
	struct ks_column mine[COLUMNS];
	struct ks_table *table;
	int i;

	for (i = 0; i < COLUMNS; i++) {
		mine[i] = columns[i];
		if (mine[i].unit == KS_UNIT_TICKS)
			mine[i].unit = ks_time_unit(model);
	}
	table = ks_doc_loose_table(doc, name, mine, COLUMNS);
	if (!table)
		return NULL;
	ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	table->text_rows = (size_t)top;
	table->more = "more sites";
	return table;
}

static struct ks_table *add_rows(struct ks_doc *doc, const struct ks_model *model, const char *name,
				 const struct ks_leak *rows, size_t len, u64 top)
{
	struct ks_table *table = new_table(doc, model, name, top);
	size_t i;

	for (i = 0; i < len; i++) {
		const struct ks_leak *leak = &rows[i];
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, SITE, leak->label);
		ks_row_texts(row, STACK, leak->frames, leak->frames_len);
		ks_row_u64(row, BYTES, leak->bytes);
		ks_row_u64(row, REQUESTED, leak->bytes_req);
		ks_row_u64(row, OBJECTS, leak->objects);
		ks_row_u64(row, OLDEST, leak->oldest);
		ks_row_u64(row, YOUNGEST, leak->youngest);
		ks_row_u64(row, MEAN_AGE, leak->age_sum / leak->objects);
		ks_row_u64(row, ALLOCS, leak->allocs);
		ks_row_u64(row, FREES, leak->frees);
		ks_row_u64(row, IMPLIED_FREES, leak->implied_frees);
		ks_row_u64(row, PAGE_FREES, leak->page_frees);
	}
	return table;
}

/* What the list leaves out, and why. */
static void say_left_out(struct ks_doc *doc, const struct ks_leaks *leaks)
{
	u64 objects = 0, bytes = 0;
	size_t i;

	ks_doc_say(doc, "%12" PRIu64 " %10" PRIu64 " in all, at the end of the capture\n",
		   leaks->bytes, leaks->objects);
	if (leaks->young_objects)
		ks_doc_say(doc, "%12" PRIu64 " %10" PRIu64 " left out: younger than --min-age\n",
			   leaks->young_bytes, leaks->young_objects);
	for (i = 0; i < leaks->unseen.len; i++) {
		objects += leaks->unseen.items[i].objects;
		bytes += leaks->unseen.items[i].bytes;
	}
	if (leaks->unseen.len)
		ks_doc_say(doc,
			   "%12" PRIu64 " %10" PRIu64
			   " left out: of %zu sites most of whose frees raise no "
			   "event, so that nobody can say what lives\n\n",
			   bytes, objects, leaks->unseen.len);
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_leaks(const struct ks_model *model, const struct ks_leaks *leaks, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-leaks-1");
	struct ks_table *unseen;

	if (!doc)
		return NULL;
	ks_doc_text(doc, "level", ks_level_name(model->level));
	ks_doc_text(doc, "clock", ks_clock_name(model->clock));
	ks_doc_u64(doc, "min_age", leaks->min_age);
	ks_doc_u64(doc, "bytes", leaks->bytes);
	ks_doc_u64(doc, "objects", leaks->objects);
	ks_doc_u64(doc, "young_bytes", leaks->young_bytes);
	ks_doc_u64(doc, "young_objects", leaks->young_objects);
	ks_doc_place(doc, add_rows(doc, model, "sites", leaks->sites.items, leaks->sites.len, top),
		     KS_IN_BOTH);
	say_left_out(doc, leaks);
	unseen = add_rows(doc, model, "unseen", leaks->unseen.items, leaks->unseen.len, top);
	ks_doc_place(doc, unseen, leaks->unseen.len ? KS_IN_BOTH : KS_IN_JSON);
	ks_doc_say(doc, "\n");
	ks_doc_quality(doc, model);
	return doc;
}
