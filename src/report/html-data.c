// SPDX-License-Identifier: LGPL-2.1-only
/* The capture in the data of the HTML report: its facts, its quality, its timeline, its leaks, and its processes. */
#include "report/html.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/html-tracks.h"

/* === Internals: JSON ====================================================================== */

/* A time since the first event: times since boot may not fit the numbers of JavaScript. */
static void put_time(struct ks_json *json, const char *name, const struct ks_timeline *tl, u64 ts)
{
	ks_json_u64(json, name, ts > tl->first_ts ? ts - tl->first_ts : 0);
}

/* === Internals: leaks ===================================================================== */

/*
 * A row: site, evidence, comm, pid or null, cache, objects, bytes, oldest, mean age, allocs, frees seen and unseen, births by
 * slice, and least and most objects where not sure.
 */
static void put_leak(struct ks_json *json, const struct ks_leak *leak)
{
	size_t i;

	ks_json_array(json, NULL);
	ks_json_string(json, NULL, leak->label);
	ks_json_u64(json, NULL, leak->evidence);
	ks_json_string(json, NULL, leak->comm);
	if (leak->pid == KS_PID_UNKNOWN)
		ks_json_null(json, NULL);
	else
		ks_json_u64(json, NULL, leak->pid);
	ks_json_string(json, NULL, leak->cache);
	ks_json_u64(json, NULL, leak->objects);
	ks_json_u64(json, NULL, leak->bytes);
	ks_json_u64(json, NULL, leak->oldest);
	ks_json_u64(json, NULL, leak->age_sum / leak->objects);
	ks_json_u64(json, NULL, leak->allocs);
	ks_json_u64(json, NULL, leak->frees);
	ks_json_u64(json, NULL, leak->implied_frees + leak->page_frees + leak->census_frees);
	ks_json_array(json, NULL);
	for (i = 0; i < KS_EVIDENCE_SLICES; i++)
		ks_json_u64(json, NULL, leak->births[i]);
	ks_json_end_array(json);
	if (leak->unsure)
		ks_json_u64(json, NULL, leak->objects_least);
	if (leak->unsure && !leak->above)
		ks_json_u64(json, NULL, leak->objects_most);
	ks_json_end_array(json);
}

/* In the order of the command. */
static void put_leak_rows(struct ks_json *json, const char *name, const struct ks_leak *rows,
			  size_t len)
{
	size_t i;

	ks_json_break(json);
	ks_json_array(json, name);
	for (i = 0; i < len; i++)
		put_leak(json, &rows[i]);
	ks_json_end_array(json);
}

/* The verdicts of the command on leaks; the page makes none of its own. */
static void put_leaks(struct ks_json *json, const struct ks_leaks *leaks)
{
	if (!leaks)
		return;
	ks_json_break(json);
	ks_json_object(json, "leaks");
	put_leak_rows(json, "sites", leaks->sites.items, leaks->sites.len);
	put_leak_rows(json, "kept", leaks->kept.items, leaks->kept.len);
	put_leak_rows(json, "unseen", leaks->unseen.items, leaks->unseen.len);
	ks_json_end_object(json);
}

/* === Internals: classes =================================================================== */

static void put_edges(struct ks_json *json)
{
	u32 i;

	ks_json_break(json);
	ks_json_array(json, "size_edges");
	for (i = 0; i < KS_TL_SIZES - 1; i++)
		ks_json_u64(json, NULL, ks_tl_size_edge(i));
	ks_json_end_array(json);
	ks_json_array(json, "life_edges");
	for (i = 0; i < KS_TL_LIVES - 1; i++)
		ks_json_u64(json, NULL, ks_tl_life_edge(i));
	ks_json_end_array(json);
}

/* === Internals: the capture =============================================================== */

static void put_findings(struct ks_json *json, const struct ks_model *model,
			 const struct ks_timeline *tl)
{
	size_t i;

	ks_json_break(json);
	ks_json_array(json, "findings");
	for (i = 0; i < model->findings.len; i++) {
		const struct ks_finding *finding = &model->findings.items[i];

		ks_json_object(json, NULL);
		ks_json_string(json, "what", ks_quality_name(finding->what));
		ks_json_string(json, "alloc_site", finding->alloc_site);
		ks_json_string(json, "free_site", finding->free_site);
		ks_json_u64(json, "count", finding->count);
		put_time(json, "first", tl, finding->first_ts);
		ks_json_hex(json, "ptr", finding->ptr);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
	ks_json_u64(json, "findings_dropped", model->findings_dropped);
}

static void put_quality(struct ks_json *json, const struct ks_model *model,
			const struct ks_timeline *tl)
{
	size_t i;
	int q;

	ks_json_break(json);
	ks_json_array(json, "quality");
	for (q = 0; q < KS_QUALITIES; q++) {
		if (ks_quality_is_of_maps(q) && !model->quality[q])
			continue;
		ks_json_break(json);
		ks_json_object(json, NULL);
		ks_json_string(json, "name", ks_quality_name(q));
		ks_json_string(json, "text", ks_quality_text(q));
		ks_json_u64(json, "value", model->quality[q]);
		ks_json_bool(json, "loss", ks_quality_is_loss(q));
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
	ks_json_bool(json, "hashed", model->ptrs_hashed);
	ks_json_bool(json, "some_tasks", model->some_tasks);
	ks_json_bool(json, "pages_unplaced", model->pages_unplaced);
	if (model->kernel_slabs.counted[1])
		ks_json_u64(json, "kernel_slab_bytes", model->kernel_slabs.bytes[1]);
	if (model->bounds.open) {
		ks_json_u64(json, "live_least", model->bounds.live_bytes);
		ks_json_u64(json, "peak_least", model->bounds.peak_bytes);
		ks_json_bool(json, "live_above", model->bounds.above);
	}
	ks_json_bool(json, "filtered", model->filtered);
	put_findings(json, model, tl);
	ks_json_array(json, "unparsed");
	for (i = 0; i < model->unparsed.len; i++)
		ks_json_string(json, NULL, model->unparsed.items[i]);
	ks_json_end_array(json);
}

static void put_capture(struct ks_json *json, const struct ks_html_capture *capture)
{
	const struct ks_model *model = capture->model;
	const struct ks_timeline *tl = capture->timeline;
	const struct ks_stat *stat = ks_model_total(model);
	char first_ts[24];
	int kind;

	snprintf(first_ts, sizeof(first_ts), "%" PRIu64, model->first_ts);
	ks_json_string(json, "schema", "kmemscope-html-1");
	ks_json_string(json, "version", KS_VERSION);
	ks_json_string(json, "name", capture->name);
	ks_json_string(json, "format", model->format);
	ks_json_string(json, "kernel", model->kernel);
	ks_json_string(json, "machine", model->arch);
	ks_json_u64(json, "cpu_count", model->cpus);
	ks_json_string(json, "clock", ks_clock_name(model->clock));
	ks_json_string(json, "level", ks_level_name(model->level));
	ks_json_string(json, "first_ts", first_ts);
	put_time(json, "span", tl, model->last_ts);
	ks_json_u64(json, "events_total", model->events_total);
	ks_json_object(json, "events");
	for (kind = 0; kind < KS_LOST; kind++)
		ks_json_u64(json, ks_kind_name(kind), model->events[kind]);
	ks_json_end_object(json);
	ks_json_u64(json, "lines", model->lines);
	ks_json_u64(json, "peak_bytes", stat->peak_bytes);
	put_time(json, "peak_at", tl, stat->peak_ts);
	ks_json_u64(json, "failed", stat->failed);
	ks_json_u64(json, "temporary_below", KS_TL_TEMPORARY_NS);
	ks_json_u64(json, "width", tl->width);
	ks_json_u64(json, "buckets", tl->buckets);
}

/* === Internals: processes ================================================================= */

/* "processes": what the page shows when one of them is picked; members as those of the whole capture. */
static void put_processes(struct ks_json *json, const struct ks_process *processes, size_t len)
{
	size_t i;

	ks_json_break(json);
	ks_json_array(json, "processes");
	for (i = 0; i < len; i++) {
		const struct ks_timeline *tl = processes[i].timeline;

		ks_json_break(json);
		ks_json_object(json, NULL);
		ks_json_string(json, "label", processes[i].comm);
		ks_json_u64(json, "peak_bytes", tl->peak_bytes);
		put_time(json, "peak_at", tl, tl->peak_ts);
		ks_html_put_timeline(json, tl);
		put_leaks(json, processes[i].leaks);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
}

/* === Public =============================================================================== */

void ks_html_capture(const void *part, struct ks_json *json)
{
	const struct ks_html_capture *capture = part;
	const struct ks_timeline *tl = capture->timeline;

	put_capture(json, capture);
	put_quality(json, capture->model, tl);
	ks_html_put_timeline(json, tl);
	put_leaks(json, capture->model->leaks);
	put_edges(json);
	if (capture->processes)
		put_processes(json, capture->processes->processes.items,
			      capture->processes->processes.len);
}
