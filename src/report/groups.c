// SPDX-License-Identifier: LGPL-2.1-only
/* The groups of a model as a table. */
#include "report/groups.h"

#include <stdio.h>
#include <string.h>

/* === Data ================================================================================= */

/* The label's name is that of the grouping. */
static const struct ks_column columns[KS_GROUP_COLUMNS] = {
	[KS_GROUP_LABEL] = { "site", "site", KS_CELL_TEXT },
	[KS_GROUP_FUNCTION] = { "function", NULL, KS_CELL_TEXT, .optional = true },
	[KS_GROUP_OFFSET] = { "offset", NULL, KS_CELL_HEX, .optional = true },
	[KS_GROUP_MODULE] = { "module", NULL, KS_CELL_TEXT, .optional = true },
	[KS_GROUP_PATH] = { "path", NULL, KS_CELL_TEXT, .optional = true },
	[KS_GROUP_INLINED] = { "inlined", NULL, KS_CELL_TEXT, .optional = true },
	[KS_GROUP_HELPER] = { "helper", NULL, KS_CELL_BOOL, .optional = true },
	[KS_GROUP_ADDRESS] = { "address", NULL, KS_CELL_HEX, KS_UNIT_ADDRESS, .optional = true },
	[KS_GROUP_TOTAL_BYTES] = { "total_bytes", "total", KS_CELL_U64, KS_UNIT_BYTES, .width = 8,
				   .gap = 1 },
	[KS_GROUP_TOTAL_REQ] = { "total_requested", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[KS_GROUP_LIVE_BYTES] = { "live_bytes", "live", KS_CELL_U64, KS_UNIT_BYTES, .width = 8 },
	[KS_GROUP_LIVE_REQ] = { "live_requested", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[KS_GROUP_LIVE_OBJECTS] = { "live_objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS,
				    .width = 8, .gap = 1 },
	[KS_GROUP_PEAK_BYTES] = { "peak_bytes", "peak", KS_CELL_U64, KS_UNIT_BYTES, .width = 8,
				  .gap = 1, .optional = true },
	[KS_GROUP_ALLOCS] = { "allocs", "allocs", KS_CELL_U64, KS_UNIT_COUNT, .width = 8,
			      .gap = 1 },
	[KS_GROUP_FREES] = { "frees", "frees", KS_CELL_U64, KS_UNIT_COUNT, .width = 8, .gap = 1 },
	[KS_GROUP_IMPLIED_FREES] = { "implied_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[KS_GROUP_PAGE_FREES] = { "page_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[KS_GROUP_CENSUS_FREES] = { "census_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[KS_GROUP_LIVE_LEAST] = { "live_bytes_least", "at least", KS_CELL_U64, KS_UNIT_BYTES,
				  .width = 8, .gap = 1, .optional = true },
	[KS_GROUP_LIVE_OBJECTS_LEAST] = { "live_objects_least", NULL, KS_CELL_U64, KS_UNIT_OBJECTS,
					  .optional = true },
	[KS_GROUP_PEAK_LEAST] = { "peak_bytes_least", NULL, KS_CELL_U64, KS_UNIT_BYTES,
				  .optional = true },
	[KS_GROUP_KERNEL_OBJECTS] = { "kernel_objects", "kernel", KS_CELL_U64, KS_UNIT_OBJECTS,
				      .width = 8, .gap = 1, .optional = true },
	[KS_GROUP_KERNEL_BYTES] = { "kernel_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES,
				    .optional = true },
	[KS_GROUP_BEFORE] = { "before_objects", "before", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 8,
			      .gap = 1, .optional = true },
	[KS_GROUP_ALIASES] = { "aliases", NULL, KS_CELL_TEXT, .optional = true },
	[KS_GROUP_RECLAIMABLE] = { "reclaimable", NULL, KS_CELL_BOOL, .optional = true },
	[KS_GROUP_FAILED] = { "failed", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[KS_GROUP_PEAK_TS] = { "peak_ts", NULL, KS_CELL_U64, KS_UNIT_TICKS, .optional = true },
	[KS_GROUP_FIRST_TS] = { "first_ts", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[KS_GROUP_LAST_TS] = { "last_ts", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[KS_GROUP_WASTE] = { "waste", "waste", KS_CELL_U64, KS_UNIT_BYTES, .width = 8, .gap = 1 },
	/* How many of the objects' ends were seen as events: low means that frees are invisible. */
	[KS_GROUP_SEEN] = { "observed_free_ratio", "seen", KS_CELL_SHARE, KS_UNIT_RATIO, .width = 5,
			    .gap = 1 },
};

static const unsigned int in_text[] = {
	KS_GROUP_LIVE_BYTES, KS_GROUP_WASTE,	   KS_GROUP_LIVE_OBJECTS,
	KS_GROUP_PEAK_BYTES, KS_GROUP_TOTAL_BYTES, KS_GROUP_ALLOCS,
	KS_GROUP_FREES,	     KS_GROUP_SEEN,	   KS_GROUP_LABEL,
};

/* By cache, beside what the kernel itself has. */
static const unsigned int in_text_of_caches[] = {
	KS_GROUP_LIVE_BYTES, KS_GROUP_WASTE,	  KS_GROUP_LIVE_OBJECTS, KS_GROUP_KERNEL_OBJECTS,
	KS_GROUP_BEFORE,     KS_GROUP_PEAK_BYTES, KS_GROUP_TOTAL_BYTES,	 KS_GROUP_ALLOCS,
	KS_GROUP_FREES,	     KS_GROUP_SEEN,	  KS_GROUP_LABEL,
};

/* Module and path are of call sites alone, and stand last. */
static const unsigned int in_csv[] = {
	KS_GROUP_LABEL,	   KS_GROUP_TOTAL_BYTES,   KS_GROUP_TOTAL_REQ,	KS_GROUP_LIVE_BYTES,
	KS_GROUP_LIVE_REQ, KS_GROUP_LIVE_OBJECTS,  KS_GROUP_PEAK_BYTES, KS_GROUP_ALLOCS,
	KS_GROUP_FREES,	   KS_GROUP_IMPLIED_FREES, KS_GROUP_PAGE_FREES, KS_GROUP_CENSUS_FREES,
	KS_GROUP_FAILED,   KS_GROUP_PEAK_TS,	   KS_GROUP_FIRST_TS,	KS_GROUP_LAST_TS,
	KS_GROUP_WASTE,	   KS_GROUP_LIVE_LEAST,	   KS_GROUP_PEAK_LEAST, KS_GROUP_MODULE,
	KS_GROUP_PATH,
};

static const unsigned int in_parquet[] = {
	KS_GROUP_LABEL,	   KS_GROUP_FUNCTION,	   KS_GROUP_MODULE,	KS_GROUP_PATH,
	KS_GROUP_ADDRESS,  KS_GROUP_TOTAL_BYTES,   KS_GROUP_TOTAL_REQ,	KS_GROUP_LIVE_BYTES,
	KS_GROUP_LIVE_REQ, KS_GROUP_LIVE_OBJECTS,  KS_GROUP_PEAK_BYTES, KS_GROUP_ALLOCS,
	KS_GROUP_FREES,	   KS_GROUP_IMPLIED_FREES, KS_GROUP_PAGE_FREES, KS_GROUP_CENSUS_FREES,
	KS_GROUP_FAILED,   KS_GROUP_PEAK_TS,	   KS_GROUP_FIRST_TS,	KS_GROUP_LAST_TS,
	KS_GROUP_WASTE,
};

enum {
	UNSEEN_LEAST,
	UNSEEN_BYTES,
	UNSEEN_FREES,
	UNSEEN_START,
	UNSEEN_END,
	UNSEEN_CACHE,
	UNSEEN_COLUMNS
};

static const struct ks_column unseen_columns[UNSEEN_COLUMNS] = {
	[UNSEEN_LEAST] = { "objects_least", "at least", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 8 },
	[UNSEEN_BYTES] = { "bytes_least", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 8, .gap = 1,
			   .optional = true },
	[UNSEEN_FREES] = { "frees", "frees", KS_CELL_U64, KS_UNIT_COUNT, .width = 8, .gap = 1 },
	[UNSEEN_START] = { "kernel_objects_start", "start", KS_CELL_U64, KS_UNIT_OBJECTS,
			   .width = 8, .gap = 1, .optional = true },
	[UNSEEN_END] = { "kernel_objects", "kernel", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 8,
			 .gap = 1, .optional = true },
	[UNSEEN_CACHE] = { "cache", "allocated without an event", KS_CELL_TEXT, .gap = 1 },
};

/* === Internals ============================================================================ */

static void put_stat(struct ks_row row, const struct ks_stat *stat)
{
	ks_row_u64(row, KS_GROUP_TOTAL_BYTES, stat->total_bytes);
	ks_row_u64(row, KS_GROUP_TOTAL_REQ, stat->total_req);
	ks_row_u64(row, KS_GROUP_LIVE_BYTES, stat->live_bytes);
	ks_row_u64(row, KS_GROUP_LIVE_REQ, stat->live_req);
	ks_row_u64(row, KS_GROUP_LIVE_OBJECTS, stat->live_objs);
	ks_row_u64(row, KS_GROUP_ALLOCS, stat->allocs);
	ks_row_u64(row, KS_GROUP_FREES, stat->frees);
	ks_row_u64(row, KS_GROUP_IMPLIED_FREES, stat->implied_frees);
	ks_row_u64(row, KS_GROUP_PAGE_FREES, stat->page_frees);
	ks_row_u64(row, KS_GROUP_CENSUS_FREES, stat->census_frees);
	ks_row_u64(row, KS_GROUP_FAILED, stat->failed);
	ks_row_u64(row, KS_GROUP_FIRST_TS, stat->first_ts);
	ks_row_u64(row, KS_GROUP_LAST_TS, stat->last_ts);
	ks_row_u64(row, KS_GROUP_WASTE, ks_stat_waste(stat));
	ks_row_share(row, KS_GROUP_SEEN, stat->frees, stat->frees + ks_stat_unseen(stat));
	if (!ks_stat_has_peak(stat))
		return;
	ks_row_u64(row, KS_GROUP_PEAK_BYTES, stat->peak_bytes);
	ks_row_u64(row, KS_GROUP_PEAK_TS, stat->peak_ts);
}

static void put_site(struct ks_row row, const struct ks_group *group)
{
	ks_row_text(row, KS_GROUP_FUNCTION, group->func);
	ks_row_u64(row, KS_GROUP_OFFSET, group->offset);
	ks_row_text(row, KS_GROUP_MODULE, group->module);
	ks_row_text(row, KS_GROUP_PATH, group->path);
	if (*group->inlined)
		ks_row_text(row, KS_GROUP_INLINED, group->inlined);
	ks_row_bool(row, KS_GROUP_HELPER, group->helper);
	if (group->addr)
		ks_row_u64(row, KS_GROUP_ADDRESS, group->addr);
}

static void put_bounds(struct ks_row row, const struct ks_bounds *bounds,
		       const struct ks_stat *stat)
{
	if (!bounds->open)
		return;
	ks_row_u64(row, KS_GROUP_LIVE_LEAST, bounds->live_bytes);
	ks_row_u64(row, KS_GROUP_LIVE_OBJECTS_LEAST, bounds->live_objs);
	if (ks_stat_has_peak(stat))
		ks_row_u64(row, KS_GROUP_PEAK_LEAST, bounds->peak_bytes);
}

/* What the kernel had at the end, and what of it is not from this capture. */
static void put_kernel(struct ks_row row, const struct ks_model *model,
		       const struct ks_group *group)
{
	if (!group->kernel_counted)
		return;
	ks_row_u64(row, KS_GROUP_KERNEL_OBJECTS, group->kernel_objects);
	ks_row_u64(row, KS_GROUP_KERNEL_BYTES, group->kernel_bytes);
	ks_row_text(row, KS_GROUP_ALIASES, group->aliases);
	ks_row_bool(row, KS_GROUP_RECLAIMABLE, group->reclaimable);
	if (!model->filtered)
		ks_row_u64(row, KS_GROUP_BEFORE,
			   group->kernel_objects -
				   ks_min(group->kernel_objects, group->stat.live_objs));
}

/* "signal_cache (+5 aliases)" */
static void show_label(const struct ks_table *table, size_t row, unsigned int column,
		       struct ks_strbuf *out)
{
	unsigned int aliases = 0;
	const char *p;

	if (row == KS_TOTAL) {
		ks_strbuf_puts(out, table->total_label ? table->total_label : "");
		return;
	}
	ks_strbuf_puts(out, ks_table_cell(table, row, column)->text);
	if (ks_table_state(table, row, KS_GROUP_ALIASES) == KS_CELL_UNSET)
		return;
	p = ks_table_cell(table, row, KS_GROUP_ALIASES)->text;
	aliases += *p != 0;
	while ((p = strchr(p, ',')) && *p++)
		aliases++;
	if (aliases)
		ks_strbuf_printf(out, " (+%u %s)", aliases, aliases == 1 ? "alias" : "aliases");
}

/* Names of columns are unique: the label of a grouping may have that of a column of call sites. */
static void leave_out_sites(struct ks_table *table)
{
	unsigned int cells[KS_GROUP_COLUMNS], parquet[ARRAY_SIZE(in_parquet)], id;
	size_t i, nr_cells = 0, nr_parquet = 0;

	for (id = 0; id < KS_GROUP_COLUMNS; id++)
		if (id == KS_GROUP_LABEL || id > KS_GROUP_ADDRESS)
			cells[nr_cells++] = id;
	for (i = 0; i < ARRAY_SIZE(in_parquet); i++)
		if (in_parquet[i] == KS_GROUP_LABEL || in_parquet[i] > KS_GROUP_ADDRESS)
			parquet[nr_parquet++] = in_parquet[i];
	ks_table_select(table, KS_FORM_CELLS, cells, nr_cells);
	ks_table_select(table, KS_FORM_PARQUET, parquet, nr_parquet);
}

static struct ks_table *new_table(struct ks_doc *doc, const struct ks_model *model)
{
	struct ks_column mine[KS_GROUP_COLUMNS];
	const struct ks_sums *account = ks_model_account(model);
	bool sites = account->by == KS_BY_SITE;
	struct ks_table *table;
	int i;

	for (i = 0; i < KS_GROUP_COLUMNS; i++) {
		mine[i] = columns[i];
		if (mine[i].unit == KS_UNIT_TICKS)
			mine[i].unit = ks_time_unit(model);
	}
	mine[KS_GROUP_LABEL].name = mine[KS_GROUP_LABEL].head = ks_by_name(account->by);
	if (account->by == KS_BY_CACHE)
		mine[KS_GROUP_LABEL].show = show_label;
	table = ks_doc_loose_table(doc, "rows", mine, KS_GROUP_COLUMNS);
	if (account->by == KS_BY_CACHE && model->kernel_slabs.counted[1])
		ks_table_select(table, KS_FORM_TEXT, in_text_of_caches,
				ARRAY_SIZE(in_text_of_caches));
	else
		ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	ks_table_select(table, KS_FORM_CSV, in_csv, ARRAY_SIZE(in_csv) - (sites ? 0 : 2));
	if (sites)
		ks_table_select(table, KS_FORM_PARQUET, in_parquet, ARRAY_SIZE(in_parquet));
	else
		leave_out_sites(table);
	return table;
}

/* The class of objects that no row has, since no event tells of their allocation. */
static void place_unseen(struct ks_doc *doc, const struct ks_model *model)
{
	struct ks_table *table;
	size_t i;

	if (ks_model_account(model)->by != KS_BY_CACHE || model->level != KS_SLAB ||
	    model->filtered || !model->unseen_allocs.len)
		return;
	table = ks_doc_loose_table(doc, "allocated_unseen", unseen_columns, UNSEEN_COLUMNS);
	for (i = 0; i < model->unseen_allocs.len; i++) {
		const struct ks_unseen_allocs *unseen = &model->unseen_allocs.items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, UNSEEN_LEAST, unseen->least);
		ks_row_u64(row, UNSEEN_FREES, unseen->frees);
		if (unseen->object_size)
			ks_row_u64(row, UNSEEN_BYTES, unseen->least * unseen->object_size);
		if (unseen->counted[0])
			ks_row_u64(row, UNSEEN_START, unseen->objects[0]);
		if (unseen->counted[1])
			ks_row_u64(row, UNSEEN_END, unseen->objects[1]);
		ks_row_text(row, UNSEEN_CACHE,
			    *unseen->cache ? unseen->cache
					   : "of caches that their frees do not name");
	}
	ks_doc_place(doc, table, KS_IN_BOTH);
	ks_doc_say(doc, "\n");
}

/* === Public =============================================================================== */

struct ks_table *ks_groups_table(struct ks_doc *doc, const struct ks_model *model,
				 const struct ks_rows *rows)
{
	const struct ks_sums *account = ks_model_account(model);
	struct ks_table *table = new_table(doc, model);
	char all[32];
	size_t i;

	for (i = 0; i < rows->len; i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, KS_GROUP_LABEL, rows->items[i]->label);
		if (account->by == KS_BY_SITE)
			put_site(row, rows->items[i]);
		put_stat(row, &rows->items[i]->stat);
		put_bounds(row, &rows->items[i]->bounds, &rows->items[i]->stat);
		put_kernel(row, model, rows->items[i]);
	}
	put_stat(ks_table_total(table), ks_model_total(model));
	put_bounds(ks_table_total(table), &model->bounds, ks_model_total(model));
	snprintf(all, sizeof(all), "all (%zu)", account->groups.len);
	ks_table_label_total(table, all);
	return table;
}

struct ks_doc *ks_doc_of_groups(const struct ks_model *model, const struct ks_rows *rows,
				enum ks_order order, const char *schema)
{
	struct ks_doc *doc = ks_doc_new(schema);
	struct ks_table *table;

	if (!doc)
		return NULL;
	ks_doc_text(doc, "level", ks_level_name(model->level));
	ks_doc_text(doc, "by", ks_by_name(ks_model_account(model)->by));
	ks_doc_text(doc, "order_by", ks_order_name(order));
	ks_doc_text(doc, "clock", ks_clock_name(model->clock));
	table = ks_groups_table(doc, model, rows);
	ks_doc_open(doc, "total");
	ks_doc_total(doc, table);
	ks_doc_u64(doc, "callers", ks_model_callers(model));
	ks_doc_close(doc);
	ks_doc_place(doc, table, KS_IN_BOTH);
	ks_doc_say(doc, "\n");
	place_unseen(doc, model);
	ks_doc_quality(doc, model);
	return doc;
}
