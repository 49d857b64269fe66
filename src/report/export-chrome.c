// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Counters over time in the JSON of Chrome's trace viewer, which Perfetto reads too: one point a
 * bucket of the timeline, since one an event would be more than either can show.
 */
#include "report/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/u128.h"

/* === Data ================================================================================= */

enum { TOP_SITES = 20, PID = 1 };

struct ranked {
	const struct ks_track *track;
	u64 peak;
};

/* === Internals ============================================================================ */

static int compare(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->peak != b->peak)
		return a->peak > b->peak ? -1 : 1;
	return strcmp(a->track->label, b->track->label);
}

/* Where a bucket begins, in microseconds with decimals: a JSON number that no reader rounds. */
static void put_ts(struct ks_json *json, const struct ks_timeline *timeline, u64 bucket)
{
	u64 ns = timeline->first_ts + bucket * timeline->width;
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_strbuf_printf(&text, "%llu.%03llu", (unsigned long long)(ns / 1000),
			 (unsigned long long)(ns % 1000));
	ks_json_raw(json, "ts", &text);
	ks_strbuf_deinit(&text);
}

static void put_counter(struct ks_json *json, const struct ks_timeline *timeline, u64 bucket,
			const char *name, const char *series, u64 value)
{
	ks_json_object(json, NULL);
	ks_json_string(json, "ph", "C");
	ks_json_u64(json, "pid", PID);
	put_ts(json, timeline, bucket);
	ks_json_string(json, "name", name);
	ks_json_object(json, "args");
	ks_json_u64(json, series, value);
	ks_json_end_object(json);
	ks_json_end_object(json);
}

/* What lives at the end of each bucket that changes it. */
static void put_live(struct ks_json *json, const struct ks_timeline *timeline,
		     const struct ks_track *track, const char *name)
{
	u64 live = 0;
	size_t i;

	if (track->cells.len && track->cells.items[0].bucket)
		put_counter(json, timeline, 0, name, "bytes", 0);
	for (i = 0; i < track->cells.len; i++) {
		const struct ks_cell *cell = &track->cells.items[i];

		live += cell->bytes - cell->ended_bytes;
		put_counter(json, timeline, (u64)cell->bucket + 1, name, "bytes", live);
	}
}

/* Bytes allocated in each bucket, a second; 0 where nothing was. */
static void put_rate(struct ks_json *json, const struct ks_timeline *timeline)
{
	const struct ks_track *track = &timeline->total;
	size_t next = 0;
	u32 bucket;

	for (bucket = 0; bucket < timeline->buckets; bucket++) {
		u64 bytes = 0;

		if (next < track->cells.len && track->cells.items[next].bucket == bucket)
			bytes = track->cells.items[next++].bytes;
		put_counter(json, timeline, bucket, "bytes allocated a second", "bytes",
			    ks_mul_div(bytes, 1000000000, timeline->width));
	}
}

static void put_sites(struct ks_json *json, const struct ks_timeline *timeline)
{
	const struct ks_tracks *sites = &timeline->by[KS_TL_SITE];
	struct ranked *ranked = calloc(sites->items.len + 1, sizeof(*ranked));
	struct ks_strbuf name;
	size_t len = 0, i;

	if (!ranked) {
		json->out->failed = true;
		return;
	}
	for (i = 0; i < sites->items.len; i++) {
		const struct ks_track *track = &sites->items.items[i];
		u64 peak = ks_track_peak(track);

		if (peak) /* a track of the other level holds nothing, not even a name */
			ranked[len++] = (struct ranked){ track, peak };
	}
	qsort(ranked, len, sizeof(*ranked), compare);
	for (i = 0; i < len && i < TOP_SITES; i++) {
		ks_strbuf_init(&name);
		ks_strbuf_printf(&name, "live bytes of %s", ranked[i].track->label);
		put_live(json, timeline, ranked[i].track, ks_strbuf_str(&name));
		ks_strbuf_deinit(&name);
	}
	free(ranked);
}

static void put_quality(struct ks_json *json, const struct ks_model *model)
{
	struct ks_doc *doc = ks_doc_new("");

	if (!doc) {
		json->out->failed = true;
		return;
	}
	ks_doc_quality(doc, model);
	ks_render_members_json(doc, json);
	ks_doc_free(doc);
}

/* === Public =============================================================================== */

void ks_export_chrome(const struct ks_model *model, const struct ks_timeline *timeline,
		      struct ks_strbuf *out)
{
	struct ks_json json;

	ks_json_init(&json, out, KS_JSON_INDENTED);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "displayTimeUnit", "ns");
	ks_json_object(&json, "otherData");
	ks_json_string(&json, "writer", "kmemscope " KS_VERSION);
	put_quality(&json, model);
	ks_json_end_object(&json);
	ks_json_array(&json, "traceEvents");
	ks_json_object(&json, NULL);
	ks_json_string(&json, "ph", "M");
	ks_json_u64(&json, "pid", PID);
	ks_json_string(&json, "name", "process_name");
	ks_json_object(&json, "args");
	ks_json_string(&json, "name",
		       model->level == KS_SLAB ? "kernel slab memory" : "kernel pages");
	ks_json_end_object(&json);
	ks_json_end_object(&json);
	put_live(&json, timeline, &timeline->total, "live bytes");
	put_rate(&json, timeline);
	put_sites(&json, timeline);
	ks_json_end_array(&json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}
