// SPDX-License-Identifier: LGPL-2.1-only
/* A snapshot as a document: rows by one of the keys, all of memory, what was missed. */
#include <inttypes.h>
#include <math.h>

#include "live/snapshot.h"
#include "table/render.h"

/* === Data ================================================================================= */

enum {
	NAME,
	CACHE,
	BYTES,
	OBJECTS,
	CHANGE,
	OBJECTS_CHANGE,
	RATE,
	AGE,
	ERROR,
	SLAB_BYTES,
	RECLAIMABLE,
	COLUMNS
};

static ks_show_fn show_reclaimable, show_age, show_bytes;

static const struct ks_column columns[COLUMNS] = {
	[NAME] = { "name", "name", KS_CELL_TEXT },
	[CACHE] = { "cache", NULL, KS_CELL_TEXT, .optional = true, .width = 20 },
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[CHANGE] = { "bytes_change", "change", KS_CELL_S64, KS_UNIT_BYTES, .width = 11 },
	[OBJECTS_CHANGE] = { "objects_change", NULL, KS_CELL_S64, KS_UNIT_OBJECTS },
	[RATE] = { "bytes_per_second", "per s", KS_CELL_DOUBLE, .optional = true, .width = 11,
		   .show = show_bytes },
	[AGE] = { "mean_age_ns", "age", KS_CELL_U64, KS_UNIT_NS, .optional = true, .width = 9,
		  .show = show_age },
	[ERROR] = { "standard_error", "+-", KS_CELL_DOUBLE, .optional = true, .width = 9,
		    .show = show_bytes },
	[SLAB_BYTES] = { "slab_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES, .optional = true },
	[RECLAIMABLE] = { "reclaimable", "recl", KS_CELL_BOOL, .optional = true,
			  .show = show_reclaimable },
};

/* === Internals ============================================================================ */

static void show_reclaimable(const struct ks_table *table, size_t row, unsigned int column,
			     struct ks_strbuf *out)
{
	ks_strbuf_puts(out, ks_table_cell(table, row, column)->u64 ? "yes" : "");
}

static void show_age(const struct ks_table *table, size_t row, unsigned int column,
		     struct ks_strbuf *out)
{
	if (ks_table_state(table, row, column) == KS_CELL_UNSET)
		ks_strbuf_puts(out, "-");
	else
		ks_strbuf_printf(out, "%.1f s",
				 (double)ks_table_cell(table, row, column)->u64 / 1e9);
}

/* Bytes that have a fraction: rates and errors. */
static void show_bytes(const struct ks_table *table, size_t row, unsigned int column,
		       struct ks_strbuf *out)
{
	double value = ks_table_cell(table, row, column)->number;

	if (ks_table_state(table, row, column) == KS_CELL_UNSET) {
		ks_strbuf_puts(out, "-");
		return;
	}
	if (value < 0)
		ks_strbuf_puts(out, "-");
	ks_render_amount(table->people, (u64)(fabs(value) + 0.5), out);
}

static void add_row(struct ks_table *table, const struct ks_live_row *row, bool caches)
{
	struct ks_row out = ks_table_add(table);

	ks_row_text(out, NAME, *row->name ? row->name : "unknown");
	if (row->cache)
		ks_row_text(out, CACHE, row->cache);
	ks_row_u64(out, BYTES, row->bytes);
	ks_row_u64(out, OBJECTS, row->objects);
	ks_row_s64(out, CHANGE, row->bytes_change);
	ks_row_s64(out, OBJECTS_CHANGE, row->objects_change);
	if (!isnan(row->rate))
		ks_row_double(out, RATE, row->rate);
	if (row->age_ns != UINT64_MAX)
		ks_row_u64(out, AGE, row->age_ns);
	if (row->error > 0)
		ks_row_double(out, ERROR, row->error);
	if (caches) {
		ks_row_u64(out, SLAB_BYTES, row->slab_bytes);
		ks_row_bool(out, RECLAIMABLE, row->reclaimable);
	}
}

static void select_columns(struct ks_table *table, const struct ks_live_rows *rows,
			   enum ks_live_by by)
{
	unsigned int ids[COLUMNS], len = 0;
	bool ages = false, errors = false;
	size_t i;

	for (i = 0; i < rows->items.len; i++) {
		ages |= rows->items.items[i].age_ns != UINT64_MAX;
		errors |= rows->items.items[i].error > 0;
	}
	ids[len++] = BYTES;
	if (errors)
		ids[len++] = ERROR;
	ids[len++] = OBJECTS;
	ids[len++] = CHANGE;
	ids[len++] = RATE;
	if (ages)
		ids[len++] = AGE;
	if (by == KS_LIVE_BY_CACHE)
		ids[len++] = RECLAIMABLE;
	ids[len++] = NAME;
	ks_table_select(table, KS_FORM_TEXT, ids, len);
}

static void put_rows(struct ks_doc *doc, const struct ks_live_rows *rows, enum ks_live_by by,
		     u64 top)
{
	struct ks_table *table = ks_doc_table(doc, "rows", columns, COLUMNS);
	u64 bytes = 0, objects = 0;
	struct ks_row total;
	size_t i;

	if (!table)
		return;
	select_columns(table, rows, by);
	table->text_rows = (size_t)top;
	table->more = "more rows";
	for (i = 0; i < rows->items.len; i++) {
		add_row(table, &rows->items.items[i], by == KS_LIVE_BY_CACHE);
		bytes += rows->items.items[i].bytes;
		objects += rows->items.items[i].objects;
	}
	total = ks_table_total(table);
	ks_row_u64(total, BYTES, bytes);
	ks_row_u64(total, OBJECTS, objects);
	ks_table_label_total(table, "in all");
}

static void put_memory(struct ks_doc *doc, const struct ks_live_memory *m)
{
	ks_doc_open(doc, "memory");
	ks_doc_u64(doc, "total", m->total);
	ks_doc_u64(doc, "free", m->free);
	ks_doc_u64(doc, "available", m->available);
	ks_doc_u64(doc, "slab", m->slab);
	ks_doc_u64(doc, "reclaimable", m->reclaimable);
	ks_doc_u64(doc, "unreclaimable", m->unreclaimable);
	ks_doc_u64(doc, "page_tables", m->page_tables);
	ks_doc_u64(doc, "kernel_stacks", m->stacks);
	ks_doc_u64(doc, "vmalloc", m->vmalloc);
	ks_doc_u64(doc, "percpu", m->percpu);
	ks_doc_u64(doc, "anonymous", m->anon);
	ks_doc_u64(doc, "file", m->file);
	ks_doc_close(doc);
}

static void put_head(struct ks_doc *doc, const struct ks_live_snapshot *s, enum ks_live_by by)
{
	ks_doc_text(doc, "level", ks_live_level_name(s->level));
	ks_doc_text(doc, "by", ks_live_by_name(by));
	ks_doc_u64(doc, "time_ns", s->wall_ns);
	ks_doc_u64(doc, "since_baseline_ns", s->at_ns - s->base_ns);
}

/* How old rows are, and whether they are exact. */
static void put_part(struct ks_doc *doc, const struct ks_live_snapshot *s,
		     const struct ks_live_rows *rows)
{
	const struct ks_live_part_info *info = &s->parts[rows->part];

	ks_doc_bool(doc, "present", rows->present);
	if (!rows->present) {
		ks_doc_say(doc, "This can't be told at level %s, or not yet.\n",
			   ks_live_level_name(s->level));
		return;
	}
	ks_doc_bool(doc, "exact", info->exact);
	ks_doc_u64(doc, "age_ns", s->at_ns > info->at_ns ? s->at_ns - info->at_ns : 0);
	if (info->since_ns)
		ks_doc_u64(doc, "allocated_since_ns", s->at_ns - info->since_ns);
}

/* === Public =============================================================================== */

void ks_live_doc_quality(struct ks_doc *doc, const struct ks_live_snapshot *s)
{
	const struct ks_live_quality *q = &s->quality;
	size_t i;

	ks_doc_open(doc, "quality");
	ks_doc_note(doc, "no_room", q->no_room, "objects not followed: tables are full", false);
	ks_doc_note(doc, "no_stack", q->no_stack, "objects without a stack", false);
	ks_doc_note(doc, "recursion", q->recursion, "events not seen: they came while a probe ran",
		    false);
	ks_doc_note(doc, "reconciled", q->reconciled,
		    "objects without a free event that were counted as gone", false);
	ks_doc_note(doc, "torn", q->torn, "slabs that changed while they were counted", false);
	ks_doc_u64(doc, "reconciled_bytes", q->reconciled_bytes);
	ks_doc_u64(doc, "unknown_frees", q->unknown_frees);
	ks_doc_u64(doc, "events", q->events);
	ks_doc_u64(doc, "stacks", q->stacks);
	ks_doc_u64(doc, "cpu_ns", q->cpu_ns);
	ks_doc_u64(doc, "census_cpu_ns", q->census_ns);
	ks_doc_u64(doc, "types_cpu_ns", q->types_ns);
	ks_doc_u64(doc, "memory_bytes", q->memory);
	ks_doc_u64(doc, "kernel_memory_bytes", q->kernel_memory);
	ks_doc_texts(doc, "unseen", s->unseen.items, s->unseen.len);
	ks_doc_close(doc);
	for (i = 0; i < s->unseen.len; i++) {
		ks_doc_say(doc, "Not seen here: ");
		ks_doc_say_escaped(doc, s->unseen.items[i]);
		ks_doc_say(doc, "\n");
	}
}

struct ks_doc *ks_live_doc(const struct ks_live_snapshot *s, enum ks_live_by by,
			   const struct ks_live_within *within, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-live-1");
	struct ks_live_rows rows;

	if (!doc)
		return NULL;
	if (ks_live_rows(s, by, within, &rows)) {
		doc->failed = true;
		return doc;
	}
	put_head(doc, s, by);
	put_memory(doc, &s->memory);
	put_part(doc, s, &rows);
	put_rows(doc, &rows, by, top);
	ks_live_doc_quality(doc, s);
	ks_live_rows_free(&rows);
	return doc;
}
