// SPDX-License-Identifier: LGPL-2.1-only
/* Memory over time, as a table, JSON and CSV. */
#include "report/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static u64 peak_of(const struct ks_track *track)
{
	u64 peak = 0;
	size_t i;

	for (i = 0; i < track->cells.len; i++)
		peak = ks_max(peak, track->cells.items[i].peak_bytes);
	return peak;
}

static int compare(const void *pa, const void *pb)
{
	const struct ks_track *a = *(const struct ks_track *const *)pa;
	const struct ks_track *b = *(const struct ks_track *const *)pb;
	u64 peak_a = peak_of(a), peak_b = peak_of(b);

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
		if (peak_of(&tracks->items.items[i]))
			m->tracks[m->tracks_len++] = &tracks->items.items[i];
	qsort(m->tracks, m->tracks_len, sizeof(*m->tracks), compare);
	m->tracks_len = ks_min(m->tracks_len, (size_t)top);
	return 0;
}

static void fill_total(struct ks_moments *m, const struct ks_timeline *timeline)
{
	const struct ks_track *total = &timeline->total;
	size_t next = 0, i;
	u64 live = 0;

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
		}
		moment->live = live;
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

static bool in_seconds(const struct ks_moments *m)
{
	return m->model->clock == KS_CLOCK_SECONDS;
}

/* A second, or 0 where the clock does not know what that is. */
static u64 rate_of(const struct ks_moments *m, const struct ks_moment *moment)
{
	if (!in_seconds(m) || !m->width)
		return 0;
	return (u64)((unsigned __int128)moment->bytes * 1000000000 / m->width);
}

static void put_bar(struct ks_strbuf *out, u64 value, u64 most)
{
	static const char marks[] = "########################################";
	size_t len = most ? (size_t)((unsigned __int128)value * (sizeof(marks) - 1) / most) : 0;

	ks_strbuf_add(out, marks, len);
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

void ks_render_timeline(const struct ks_moments *m, struct ks_strbuf *out)
{
	u64 most = 0;
	size_t i;

	for (i = 0; i < m->len; i++)
		most = ks_max(most, m->items[i].live);
	ks_strbuf_printf(out, "%18s %12s %12s %12s %10s %10s  live\n", "time", "live", "peak",
			 in_seconds(m) ? "bytes/s" : "bytes", "allocs", "frees");
	for (i = 0; i < m->len; i++) {
		const struct ks_moment *moment = &m->items[i];
		struct ks_strbuf time;

		ks_strbuf_init(&time);
		ks_render_time(m->model, moment->ts, &time);
		ks_strbuf_printf(
			out, "%18s %12llu %12llu %12llu %10llu %10llu  ", ks_strbuf_str(&time),
			(unsigned long long)moment->live, (unsigned long long)moment->peak,
			(unsigned long long)(in_seconds(m) ? rate_of(m, moment) : moment->bytes),
			(unsigned long long)moment->allocs, (unsigned long long)moment->frees);
		put_bar(out, moment->live, most);
		ks_strbuf_puts(out, "\n");
		ks_strbuf_deinit(&time);
	}
}

void ks_render_timeline_json(const struct ks_moments *m, struct ks_strbuf *out)
{
	struct ks_json json;
	size_t i, k;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-timeline-1");
	ks_json_string(&json, "level", ks_level_name(m->model->level));
	ks_json_string(&json, "by", ks_tl_dim_name(m->dim));
	ks_json_string(&json, "clock", ks_clock_name(m->model->clock));
	ks_json_u64(&json, "width", m->width);
	ks_json_array(&json, "buckets");
	for (i = 0; i < m->len; i++) {
		const struct ks_moment *moment = &m->items[i];

		ks_json_object(&json, NULL);
		ks_json_u64(&json, "ts", moment->ts);
		ks_json_u64(&json, "live_bytes", moment->live);
		ks_json_u64(&json, "peak_bytes", moment->peak);
		ks_json_u64(&json, "bytes", moment->bytes);
		ks_json_u64(&json, "allocs", moment->allocs);
		ks_json_u64(&json, "frees", moment->frees);
		ks_json_u64(&json, "implied_frees", moment->implied_frees);
		ks_json_end_object(&json);
	}
	ks_json_end_array(&json);
	ks_json_array(&json, "groups");
	for (k = 0; k < m->tracks_len; k++) {
		ks_json_object(&json, NULL);
		ks_json_string(&json, ks_tl_dim_name(m->dim), m->tracks[k]->label);
		ks_json_array(&json, "live_bytes");
		for (i = 0; i < m->len; i++)
			ks_json_u64(&json, NULL, m->live[k * m->len + i]);
		ks_json_end_array(&json);
		ks_json_end_object(&json);
	}
	ks_json_end_array(&json);
	ks_render_quality_json(m->model, &json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}

void ks_render_timeline_csv(const struct ks_moments *m, struct ks_strbuf *out)
{
	size_t i, k;

	ks_strbuf_puts(out, "ts,live_bytes,peak_bytes,bytes,allocs,frees,implied_frees");
	for (k = 0; k < m->tracks_len; k++) {
		ks_strbuf_puts(out, ",");
		ks_escape_csv(out, m->tracks[k]->label, strlen(m->tracks[k]->label));
	}
	ks_strbuf_puts(out, "\n");
	for (i = 0; i < m->len; i++) {
		const struct ks_moment *moment = &m->items[i];
		u64 values[] = { moment->ts,	 moment->live,	moment->peak,	      moment->bytes,
				 moment->allocs, moment->frees, moment->implied_frees };

		for (k = 0; k < ARRAY_SIZE(values); k++)
			ks_strbuf_printf(out, "%s%llu", k ? "," : "",
					 (unsigned long long)values[k]);
		for (k = 0; k < m->tracks_len; k++)
			ks_strbuf_printf(out, ",%llu", (unsigned long long)m->live[k * m->len + i]);
		ks_strbuf_puts(out, "\n");
	}
}
