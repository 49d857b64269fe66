// SPDX-License-Identifier: LGPL-2.1-only
/* Memory over time. */
#include "report/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u128.h"

/* === Data ================================================================================= */

enum { TS, LIVE, PEAK, BYTES, RATE, ALLOCS, FREES, IMPLIED, PAGE, CENSUS, LEAST, BAR, COLUMNS };

static ks_show_fn show_bar;

static const struct ks_column columns[COLUMNS] = {
	[TS] = { "ts", "time", KS_CELL_U64, KS_UNIT_TICKS, .width = 18 },
	[LIVE] = { "live_bytes", "live", KS_CELL_U64, KS_UNIT_BYTES, .width = 12, .gap = 1 },
	[PEAK] = { "peak_bytes", "peak", KS_CELL_U64, KS_UNIT_BYTES, .width = 12, .gap = 1 },
	[BYTES] = { "bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[RATE] = { NULL, "bytes/s", KS_CELL_U64, KS_UNIT_BYTES, .width = 12, .gap = 1 },
	[ALLOCS] = { "allocs", "allocs", KS_CELL_U64, KS_UNIT_COUNT, .width = 10, .gap = 1 },
	[FREES] = { "frees", "frees", KS_CELL_U64, KS_UNIT_COUNT, .width = 10, .gap = 1 },
	[IMPLIED] = { "implied_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[PAGE] = { "page_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[CENSUS] = { "census_frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[LEAST] = { "live_least", "at least", KS_CELL_U64, KS_UNIT_BYTES, .width = 12, .gap = 1 },
	[BAR] = { NULL, "live", KS_CELL_TEXT, .show = show_bar },
};

/* === Internals ============================================================================ */

static int compare(const void *pa, const void *pb)
{
	const struct ks_track *a = *(const struct ks_track *const *)pa;
	const struct ks_track *b = *(const struct ks_track *const *)pb;
	u64 peak_a = ks_track_peak(a), peak_b = ks_track_peak(b);

	if (peak_a != peak_b)
		return peak_a > peak_b ? -1 : 1;
	return strcmp(a->label, b->label);
}

/* Tracks of the other level hold nothing, not even a name, and are left out. */
static int pick_tracks(struct ks_moments *m, const struct ks_tracks *tracks, u64 top)
{
	size_t i;

	m->tracks = calloc(tracks->items.len + 1, sizeof(*m->tracks));
	if (!m->tracks)
		return -ENOMEM;
	for (i = 0; i < tracks->items.len; i++)
		if (ks_track_peak(&tracks->items.items[i]))
			m->tracks[m->tracks_len++] = &tracks->items.items[i];
	qsort(m->tracks, m->tracks_len, sizeof(*m->tracks), compare);
	m->tracks_len = ks_min(m->tracks_len, (size_t)top);
	return 0;
}

static void fill_total(struct ks_moments *m, const struct ks_timeline *timeline)
{
	const struct ks_track *total = &timeline->total;
	size_t next = 0, i;
	u64 live = 0, unsure = 0;

	for (i = 0; i < m->len; i++) {
		struct ks_moment *moment = &m->items[i];

		moment->ts = timeline->first_ts + i * timeline->width;
		moment->peak = live;
		if (next < total->cells.len && total->cells.items[next].bucket == i) {
			const struct ks_cell *cell = &total->cells.items[next++];

			live += cell->bytes - cell->ended_bytes;
			moment->peak = cell->peak_bytes;
			moment->bytes = cell->bytes;
			moment->allocs = cell->allocs;
			moment->frees = cell->frees;
			moment->implied_frees = cell->implied;
			moment->page_frees = cell->paged;
			moment->census_frees = cell->censused;
		}
		moment->live = live;
		moment->least = ks_timeline_least(timeline, (u32)i, live, &unsure);
		m->unsure |= moment->least != live;
	}
}

static void fill_track(const struct ks_moments *m, size_t number)
{
	const struct ks_track *track = m->tracks[number];
	u64 *row = &m->live[number * m->len], live = 0;
	size_t next = 0, i;

	for (i = 0; i < m->len; i++) {
		if (next < track->cells.len && track->cells.items[next].bucket == i) {
			live += track->cells.items[next].bytes -
				track->cells.items[next].ended_bytes;
			next++;
		}
		row[i] = live;
	}
}

/* Bytes a second, or in a bucket where the clock does not know what a second is. */
static u64 rate_of(const struct ks_moments *m, const struct ks_moment *moment)
{
	if (!ks_model_in_seconds(m->model))
		return moment->bytes;
	return m->width ? ks_mul_div(moment->bytes, 1000000000, m->width) : 0;
}

/* === Internals: the table ================================================================= */

static void show_bar(const struct ks_table *table, size_t row, unsigned int column,
		     struct ks_strbuf *out)
{
	static const char marks[] = "########################################";
	u64 value = ks_table_cell(table, row, LIVE)->u64, most = 0;
	size_t i, len;

	(void)column;
	for (i = 0; i < ks_table_len(table); i++)
		most = ks_max(most, ks_table_cell(table, i, LIVE)->u64);
	len = most ? (size_t)ks_mul_div(value, sizeof(marks) - 1, most) : 0;
	ks_strbuf_add(out, marks, len);
}

/* The buckets; behind their own columns, one of live bytes for each group, in CSV and Parquet. */
static struct ks_table *new_table(struct ks_doc *doc, const struct ks_moments *m)
{
	static const unsigned int in_text[] = { TS, LIVE, PEAK, RATE, ALLOCS, FREES, BAR };
	static const unsigned int unsure_in_text[] = {
		TS, LEAST, LIVE, PEAK, RATE, ALLOCS, FREES, BAR,
	};
	/* The last one stands there only where something is not sure. */
	static const unsigned int in_json[] = {
		TS, LIVE, PEAK, BYTES, ALLOCS, FREES, IMPLIED, LEAST,
	};
	const size_t in_all = ARRAY_SIZE(in_json) - 1;
	size_t len = COLUMNS + m->tracks_len, flat = 0, i;
	struct ks_column *mine = calloc(len, sizeof(*mine));
	unsigned int *in_csv = calloc(len, sizeof(*in_csv));
	struct ks_table *table = NULL;

	if (mine && in_csv) {
		memcpy(mine, columns, sizeof(columns));
		mine[TS].unit = ks_time_unit(m->model);
		mine[RATE].head = ks_model_in_seconds(m->model) ? "bytes/s" : "bytes";
		for (i = 0; i < m->tracks_len; i++)
			mine[COLUMNS + i] = (struct ks_column){
				.name = ks_doc_string(doc, m->tracks[i]->label),
				.kind = KS_CELL_U64,
				.unit = KS_UNIT_BYTES,
			};
		for (i = 0; i < len; i++)
			if (i < in_all || i >= COLUMNS)
				in_csv[flat++] = i < in_all ? in_json[i] : (unsigned int)i;
		table = ks_doc_loose_table(doc, "buckets", mine, len);
		if (m->unsure)
			ks_table_select(table, KS_FORM_TEXT, unsure_in_text,
					ARRAY_SIZE(unsure_in_text));
		else
			ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
		ks_table_select(table, KS_FORM_JSON, in_json, in_all + m->unsure);
		ks_table_select(table, KS_FORM_CSV, in_csv, flat);
		ks_table_select(table, KS_FORM_PARQUET, in_csv, flat);
	}
	doc->failed |= !table;
	free(mine);
	free(in_csv);
	return table;
}

static struct ks_table *buckets_table(struct ks_doc *doc, const struct ks_moments *m)
{
	struct ks_table *table = new_table(doc, m);
	size_t i, k;

	for (i = 0; i < m->len; i++) {
		const struct ks_moment *moment = &m->items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, TS, moment->ts);
		ks_row_u64(row, LIVE, moment->live);
		ks_row_u64(row, PEAK, moment->peak);
		ks_row_u64(row, BYTES, moment->bytes);
		ks_row_u64(row, RATE, rate_of(m, moment));
		ks_row_u64(row, ALLOCS, moment->allocs);
		ks_row_u64(row, FREES, moment->frees);
		ks_row_u64(row, IMPLIED, moment->implied_frees);
		ks_row_u64(row, PAGE, moment->page_frees);
		ks_row_u64(row, CENSUS, moment->census_frees);
		ks_row_u64(row, LEAST, moment->least);
		for (k = 0; k < m->tracks_len; k++)
			ks_row_u64(row, (unsigned int)(COLUMNS + k), m->live[k * m->len + i]);
	}
	return table;
}

static void add_groups(struct ks_doc *doc, const struct ks_moments *m)
{
	enum { LABEL, GROUP_LIVE, GROUP_COLUMNS };
	const struct ks_column group_columns[GROUP_COLUMNS] = {
		[LABEL] = { ks_tl_dim_name(m->dim), NULL, KS_CELL_TEXT },
		[GROUP_LIVE] = { "live_bytes", NULL, KS_CELL_U64S, KS_UNIT_BYTES },
	};
	struct ks_table *table = ks_doc_loose_table(doc, "groups", group_columns, GROUP_COLUMNS);
	size_t k;

	for (k = 0; k < m->tracks_len; k++) {
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, LABEL, m->tracks[k]->label);
		ks_row_u64s(row, GROUP_LIVE, &m->live[k * m->len], m->len);
	}
	ks_doc_place(doc, table, KS_IN_JSON);
}

/* === Public =============================================================================== */

int ks_moments_init(struct ks_moments *m, const struct ks_model *model,
		    const struct ks_timeline *timeline, enum ks_tl_dim dim, u64 top)
{
	size_t i;

	*m = (struct ks_moments){
		.model = model,
		.dim = dim,
		.width = timeline->width,
		.len = timeline->buckets,
	};
	m->items = calloc(m->len + 1, sizeof(*m->items));
	if (!m->items || pick_tracks(m, &timeline->by[dim], top)) {
		ks_moments_deinit(m);
		return -ENOMEM;
	}
	m->live = calloc(m->tracks_len * m->len + 1, sizeof(*m->live));
	if (!m->live) {
		ks_moments_deinit(m);
		return -ENOMEM;
	}
	fill_total(m, timeline);
	for (i = 0; i < m->tracks_len; i++)
		fill_track(m, i);
	return 0;
}

void ks_moments_deinit(struct ks_moments *m)
{
	free(m->items);
	free(m->tracks);
	free(m->live);
}

struct ks_doc *ks_doc_of_timeline(const struct ks_moments *m)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-timeline-1");

	if (!doc)
		return NULL;
	ks_doc_text(doc, "level", ks_level_name(m->model->level));
	ks_doc_text(doc, "by", ks_tl_dim_name(m->dim));
	ks_doc_text(doc, "clock", ks_clock_name(m->model->clock));
	ks_doc_u64(doc, "width", m->width);
	ks_doc_place(doc, buckets_table(doc, m), KS_IN_BOTH);
	add_groups(doc, m);
	ks_doc_say(doc, "\n");
	if (m->unsure)
		ks_doc_say(
			doc,
			"Some objects ended unseen, at any time until it showed: at least has none of them.\n");
	ks_doc_quality(doc, m->model);
	return doc;
}
