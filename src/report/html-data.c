// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The data of the HTML report. Cells are most of it, so they are written by column, a column that is
 * all zero as 0, and nothing is indented: that is why this does not use report/json.h.
 */
#include "report/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/intern.h"

/* === Data ================================================================================= */

enum { MAX_TRACKS = 5000, LINKS_SHOWN = 8 };

/* Which tracks of a grouping are written by themselves; the others are written as one. */
struct selection {
	const struct ks_tracks *tracks;
	u32 *number; /* by track: its number in the page */
	u32 kept;
	size_t folded;
};

/* === Internals: JSON ====================================================================== */

static void put_string(struct ks_strbuf *out, const char *s)
{
	ks_strbuf_puts(out, "\"");
	ks_escape_json(out, s, strlen(s));
	ks_strbuf_puts(out, "\"");
}

static void put_named_string(struct ks_strbuf *out, const char *name, const char *s)
{
	ks_strbuf_printf(out, ",\"%s\":", name);
	put_string(out, s);
}

static void put_u64(struct ks_strbuf *out, u64 value)
{
	char digits[20], *at = digits + sizeof(digits);

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	ks_strbuf_add(out, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_named_u64(struct ks_strbuf *out, const char *name, u64 value)
{
	ks_strbuf_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

/* A time since the first event: times since boot may not fit the numbers of JavaScript. */
static void put_named_time(struct ks_strbuf *out, const char *name, const struct ks_timeline *tl,
			   u64 ts)
{
	put_named_u64(out, name, ts > tl->first_ts ? ts - tl->first_ts : 0);
}

/* === Internals: cells ===================================================================== */

enum column {
	COL_BUCKET,
	COL_ALLOCS,
	COL_UNPAIRED,
	COL_FREES,
	COL_IMPLIED,
	COL_TEMPORARY,
	COL_CROSS,
	COL_KEPT,
	COL_BYTES,
	COL_WASTE,
	COL_ENDED,
	COL_ENDED_WASTE,
	COL_TEMPORARY_BYTES,
	COL_KEPT_BYTES,
	COL_LIFE,
	COL_PEAK,
	COLUMNS
};

/* Waste can be negative, where the kernel says that it gave less than was asked for. */
static s64 column(const struct ks_cell *cell, enum column column)
{
	switch (column) {
	case COL_BUCKET:
		return cell->bucket;
	case COL_ALLOCS:
		return cell->allocs;
	case COL_UNPAIRED:
		return cell->unpaired;
	case COL_FREES:
		return cell->frees;
	case COL_IMPLIED:
		return cell->implied;
	case COL_TEMPORARY:
		return cell->temporary;
	case COL_CROSS:
		return cell->cross_cpu;
	case COL_KEPT:
		return cell->kept;
	case COL_BYTES:
		return (s64)cell->bytes;
	case COL_WASTE:
		return (s64)(cell->bytes - cell->req);
	case COL_ENDED:
		return (s64)cell->ended_bytes;
	case COL_ENDED_WASTE:
		return (s64)(cell->ended_bytes - cell->ended_req);
	case COL_TEMPORARY_BYTES:
		return (s64)cell->temporary_bytes;
	case COL_KEPT_BYTES:
		return (s64)cell->kept_bytes;
	case COL_LIFE:
		return (s64)cell->life_sum;
	case COL_PEAK:
		return (s64)cell->peak_bytes;
	case COLUMNS:
		break;
	}
	return 0;
}

static void put_column(struct ks_strbuf *out, const struct ks_cell *cells, size_t len,
		       enum column which)
{
	size_t i = 0;

	while (i < len && !column(&cells[i], which))
		i++;
	if (i == len && which != COL_BUCKET) {
		ks_strbuf_puts(out, "0");
		return;
	}
	ks_strbuf_puts(out, "[");
	for (i = 0; i < len; i++) {
		s64 value = column(&cells[i], which);

		if (i)
			ks_strbuf_puts(out, ",");
		if (value < 0)
			ks_strbuf_puts(out, "-");
		put_u64(out, value < 0 ? -(u64)value : (u64)value);
	}
	ks_strbuf_puts(out, "]");
}

static void put_cells(struct ks_strbuf *out, const struct ks_cell *cells, size_t len)
{
	int which;

	ks_strbuf_puts(out, ",\"cells\":[");
	for (which = 0; which < COLUMNS; which++) {
		if (which)
			ks_strbuf_puts(out, ",");
		put_column(out, cells, len, (enum column)which);
	}
	ks_strbuf_puts(out, "]");
}

/* === Internals: tracks ==================================================================== */

struct ranked {
	u64 bytes;
	u32 track;
};

static int compare_ranked(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->track < b->track ? -1 : 1;
}

/* What counts for a track's place in the report: all that it allocated. */
static u64 weight(const struct ks_track *track)
{
	u64 bytes = 0;
	size_t i;

	for (i = 0; i < track->cells.len; i++)
		bytes += track->cells.items[i].bytes;
	return bytes;
}

static int select_tracks(const struct ks_tracks *tracks, struct selection *ret)
{
	size_t len = tracks->items.len, i;
	struct ranked *ranked = calloc(len + 1, sizeof(*ranked));
	struct selection sel = { .tracks = tracks };

	sel.number = calloc(len + 1, sizeof(*sel.number));
	if (!ranked || !sel.number) {
		free(ranked);
		free(sel.number);
		return -ENOMEM;
	}
	for (i = 0; i < len; i++)
		ranked[i] = (struct ranked){ weight(&tracks->items.items[i]), (u32)i };
	qsort(ranked, len, sizeof(*ranked), compare_ranked);
	sel.kept = (u32)ks_min(len, (size_t)MAX_TRACKS);
	sel.folded = len - sel.kept;
	for (i = 0; i < len; i++)
		sel.number[ranked[i].track] = (u32)ks_min(i, (size_t)sel.kept);
	free(ranked);
	*ret = sel;
	return 0;
}

static void put_track(struct ks_strbuf *out, const struct ks_track *track)
{
	ks_strbuf_puts(out, "{\"label\":");
	put_string(out, track->label);
	if (*track->func)
		put_named_string(out, "func", track->func);
	if (*track->module)
		put_named_string(out, "module", track->module);
	if (*track->path)
		put_named_string(out, "path", track->path);
	put_named_u64(out, "at_peak", track->at_peak_bytes);
	put_named_u64(out, "oldest", track->oldest);
	put_named_u64(out, "youngest", track->youngest);
	put_named_u64(out, "age_sum", track->age_sum);
	if (track->pages_held)
		put_named_u64(out, "pages_held", track->pages_held);
	put_cells(out, track->cells.items, track->cells.len);
}

/* The tracks that are left, added up; their common peak is not known, so the sum stands for it. */
static void put_folded(struct ks_strbuf *out, const struct selection *sel, u32 buckets)
{
	struct ks_cell *sum = calloc(buckets, sizeof(*sum));
	u64 at_peak = 0;
	size_t i, j;

	if (!sum) {
		out->failed = true;
		return;
	}
	for (i = 0; i < buckets; i++)
		sum[i].bucket = (u32)i;
	for (i = 0; i < sel->tracks->items.len; i++) {
		const struct ks_track *track = &sel->tracks->items.items[i];

		if (sel->number[i] < sel->kept)
			continue;
		at_peak += track->at_peak_bytes;
		for (j = 0; j < track->cells.len; j++)
			ks_cell_add(&sum[track->cells.items[j].bucket], &track->cells.items[j]);
	}
	ks_strbuf_printf(out, "{\"label\":\"%zu others\",\"folded\":%zu", sel->folded, sel->folded);
	put_named_u64(out, "at_peak", at_peak);
	put_cells(out, sum, buckets);
	free(sum);
}

static int compare_links(const void *pa, const void *pb)
{
	const struct ks_tl_link *a = pa, *b = pb;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->dim != b->dim)
		return a->dim < b->dim ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->group < b->group ? -1 : 1;
}

/* "links": for each other grouping, the groups of the site with most bytes: number, allocs, bytes. */
static void put_links(struct ks_strbuf *out, const struct ks_tl_link *links, size_t len,
		      const struct selection *sel)
{
	size_t i = 0;
	int dim;

	ks_strbuf_puts(out, ",\"links\":{");
	for (dim = KS_TL_SITE + 1; dim <= KS_TL_PID; dim++) {
		size_t shown = 0, all = 0;

		if (dim == KS_TL_STACK)
			continue;
		ks_strbuf_printf(out, "%s\"%s\":[", dim > KS_TL_SITE + 1 ? "," : "",
				 ks_tl_dim_name((enum ks_tl_dim)dim));
		for (; i < len && (int)links[i].dim == dim; i++) {
			if (all++ >= LINKS_SHOWN)
				continue;
			ks_strbuf_printf(out, "%s[%u,%llu,%llu]", shown++ ? "," : "",
					 dim == KS_TL_PID ? links[i].group
							  : sel[dim].number[links[i].group],
					 (unsigned long long)links[i].allocs,
					 (unsigned long long)links[i].bytes);
		}
		ks_strbuf_puts(out, "]");
	}
	ks_strbuf_puts(out, "}");
}

/* The site of a stack, and its frames as numbers into "frame_names". */
static void put_frames(struct ks_strbuf *out, const struct ks_track *track,
		       const struct selection *sel, struct ks_intern *frames)
{
	size_t i;

	ks_strbuf_printf(out, ",\"site\":%u,\"frames\":[", sel[KS_TL_SITE].number[track->site]);
	for (i = 0; i < track->frames_len; i++) {
		u32 number = ks_intern_add(frames, track->frames[i], strlen(track->frames[i]));

		out->failed |= number == KS_NONE;
		ks_strbuf_puts(out, i ? "," : "");
		put_u64(out, number);
	}
	ks_strbuf_puts(out, "]");
}

static void put_frame_names(struct ks_strbuf *out, const struct ks_intern *frames)
{
	size_t i;

	ks_strbuf_puts(out, ",\n\"frame_names\":[");
	for (i = 0; i < frames->strs.len; i++) {
		ks_strbuf_puts(out, i ? "," : "");
		put_string(out, frames->strs.items[i].s);
	}
	ks_strbuf_puts(out, "]");
}

/* In the order of their numbers in the page. */
static void put_tracks(struct ks_strbuf *out, const struct ks_timeline *tl,
		       const struct selection *sel, enum ks_tl_dim dim,
		       const struct ks_tl_link *links, struct ks_intern *frames)
{
	const struct selection *mine = &sel[dim];
	size_t len = mine->tracks->items.len, i;
	u32 *order = calloc(len + 1, sizeof(*order));

	if (!order) {
		out->failed = true;
		return;
	}
	for (i = 0; i < len; i++)
		if (mine->number[i] < mine->kept)
			order[mine->number[i]] = (u32)i;
	for (i = 0; i < mine->kept; i++) {
		u32 at = order[i];
		size_t from = 0, to = tl->links.len, end;

		ks_strbuf_puts(out, i ? ",\n" : "\n");
		put_track(out, &mine->tracks->items.items[at]);
		if (dim == KS_TL_SITE) {
			while (from < to) {
				size_t middle = from + (to - from) / 2;

				if (links[middle].site < at)
					from = middle + 1;
				else
					to = middle;
			}
			for (end = from; end < tl->links.len && links[end].site == at; end++)
				;
			put_links(out, links + from, end - from, sel);
		}
		if (dim == KS_TL_STACK)
			put_frames(out, &mine->tracks->items.items[at], sel, frames);
		ks_strbuf_puts(out, "}");
	}
	if (mine->folded) {
		ks_strbuf_puts(out, ",\n");
		put_folded(out, mine, tl->buckets);
		ks_strbuf_puts(out, "}");
	}
	free(order);
}

/* "pids": the tasks that links are about, as numbers and first names. */
static void put_pids(struct ks_strbuf *out, const struct ks_timeline *tl)
{
	size_t i;

	ks_strbuf_puts(out, ",\n\"pids\":[");
	for (i = 0; i < tl->pids.len; i++) {
		const struct ks_tl_pid *pid = &tl->pids.items[i];

		if (pid->rest || pid->pid == KS_PID_UNKNOWN)
			ks_strbuf_printf(out, "%s[%s", i ? "," : "",
					 pid->rest ? "\"others\"" : "null");
		else
			ks_strbuf_printf(out, "%s[%u", i ? "," : "", pid->pid);
		ks_strbuf_puts(out, ",");
		put_string(out, pid->comm);
		ks_strbuf_puts(out, "]");
	}
	ks_strbuf_puts(out, "]");
}

static void put_groupings(struct ks_strbuf *out, const struct ks_timeline *tl)
{
	struct selection sel[KS_TL_DIMS] = { 0 };
	struct ks_tl_link *links = calloc(tl->links.len + 1, sizeof(*links));
	struct ks_intern frames;
	int dim, failed = !links;

	failed |= ks_intern_init(&frames) != 0;

	for (dim = 0; dim < KS_TL_DIMS; dim++)
		failed |= select_tracks(&tl->by[dim], &sel[dim]);
	if (failed) {
		out->failed = true;
	} else {
		if (tl->links.len)
			memcpy(links, tl->links.items, tl->links.len * sizeof(*links));
		qsort(links, tl->links.len, sizeof(*links), compare_links);
		ks_strbuf_puts(out, ",\n\"by\":{");
		for (dim = 0; dim < KS_TL_DIMS; dim++) {
			ks_strbuf_printf(out, "%s\"%s\":[", dim ? ",\n" : "",
					 ks_tl_dim_name((enum ks_tl_dim)dim));
			put_tracks(out, tl, sel, (enum ks_tl_dim)dim, links, &frames);
			ks_strbuf_puts(out, "]");
		}
		ks_strbuf_puts(out, "}");
		put_frame_names(out, &frames);
	}
	ks_intern_deinit(&frames);
	for (dim = 0; dim < KS_TL_DIMS; dim++)
		free(sel[dim].number);
	free(links);
}

/* === Internals: ends ====================================================================== */

/* Flat lists of numbers: bucket, size class, lifetime class, objects, bytes; bucket, CPUs, frees. */
static void put_ends(struct ks_strbuf *out, const struct ks_timeline *tl)
{
	const char *separator = "";
	u32 b, i, j;

	ks_strbuf_puts(out, ",\n\"lives\":[");
	for (b = 0; b < tl->buckets; b++)
		for (i = 0; i < KS_TL_SIZES; i++)
			for (j = 0; j < KS_TL_LIVES; j++) {
				const struct ks_tl_count *count = &tl->ends[b].by_life[i][j];

				if (!count->objects)
					continue;
				ks_strbuf_printf(out, "%s%u,%u,%u,%llu,%llu", separator, b, i, j,
						 (unsigned long long)count->objects,
						 (unsigned long long)count->bytes);
				separator = ",";
			}
	separator = "";
	ks_strbuf_puts(out, "],\n\"cpus\":[");
	for (b = 0; b < tl->buckets; b++)
		for (i = 0; i < KS_TL_CPUS; i++)
			for (j = 0; j < KS_TL_CPUS; j++) {
				u32 count = tl->ends[b].by_cpus[i][j];

				if (!count)
					continue;
				ks_strbuf_printf(out, "%s%u,%u,%u,%u", separator, b, i, j, count);
				separator = ",";
			}
	ks_strbuf_puts(out, "],\n\"size_edges\":[");
	for (i = 0; i < KS_TL_SIZES - 1; i++)
		ks_strbuf_printf(out, "%s%llu", i ? "," : "",
				 (unsigned long long)ks_tl_size_edge(i));
	ks_strbuf_puts(out, "],\"life_edges\":[");
	for (i = 0; i < KS_TL_LIVES - 1; i++)
		ks_strbuf_printf(out, "%s%llu", i ? "," : "",
				 (unsigned long long)ks_tl_life_edge(i));
	ks_strbuf_puts(out, "]");
}

/* === Internals: the capture =============================================================== */

static void put_quality(struct ks_strbuf *out, const struct ks_model *model,
			const struct ks_timeline *tl)
{
	size_t i;
	int q;

	ks_strbuf_puts(out, ",\n\"quality\":[");
	for (q = 0; q < KS_QUALITIES; q++) {
		ks_strbuf_printf(out, "%s{\"name\":\"%s\",\"text\":", q ? ",\n" : "\n",
				 ks_quality_name(q));
		put_string(out, ks_quality_text(q));
		ks_strbuf_printf(out, ",\"value\":%llu,\"loss\":%s}",
				 (unsigned long long)model->quality[q],
				 ks_quality_is_loss(q) ? "true" : "false");
	}
	ks_strbuf_printf(out, "],\"hashed\":%s,\"some_tasks\":%s",
			 model->ptrs_hashed ? "true" : "false",
			 model->some_tasks ? "true" : "false");
	ks_strbuf_puts(out, ",\n\"findings\":[");
	for (i = 0; i < model->findings.len; i++) {
		const struct ks_finding *finding = &model->findings.items[i];

		ks_strbuf_printf(out, "%s{\"what\":\"%s\"", i ? "," : "",
				 ks_quality_name(finding->what));
		put_named_string(out, "alloc_site", finding->alloc_site);
		put_named_string(out, "free_site", finding->free_site);
		put_named_u64(out, "count", finding->count);
		put_named_time(out, "first", tl, finding->first_ts);
		ks_strbuf_printf(out, ",\"ptr\":\"0x%llx\"}", (unsigned long long)finding->ptr);
	}
	ks_strbuf_puts(out, "]");
	put_named_u64(out, "findings_dropped", model->findings_dropped);
	ks_strbuf_puts(out, ",\"unparsed\":[");
	for (i = 0; i < model->unparsed.len; i++) {
		ks_strbuf_puts(out, i ? "," : "");
		put_string(out, model->unparsed.items[i]);
	}
	ks_strbuf_puts(out, "]");
}

static void put_capture(struct ks_strbuf *out, const struct ks_model *model,
			const struct ks_timeline *tl, const char *name)
{
	const struct ks_stat *stat = ks_model_total(model);
	int kind;

	ks_strbuf_puts(out, "{\"schema\":\"kmemscope-html-1\",\"version\":\"" KS_VERSION "\"");
	put_named_string(out, "name", name);
	put_named_string(out, "format", model->format);
	put_named_string(out, "kernel", model->kernel);
	put_named_string(out, "machine", model->arch);
	put_named_u64(out, "cpu_count", model->cpus);
	put_named_string(out, "clock", ks_clock_name(model->clock));
	put_named_string(out, "level", ks_level_name(model->level));
	ks_strbuf_printf(out, ",\"first_ts\":\"%llu\"", (unsigned long long)model->first_ts);
	put_named_time(out, "span", tl, model->last_ts);
	put_named_u64(out, "events_total", model->events_total);
	ks_strbuf_puts(out, ",\"events\":{");
	for (kind = 0; kind < KS_LOST; kind++)
		ks_strbuf_printf(out, "%s\"%s\":%llu", kind ? "," : "", ks_kind_name(kind),
				 (unsigned long long)model->events[kind]);
	ks_strbuf_puts(out, "}");
	put_named_u64(out, "lines", model->lines);
	put_named_u64(out, "peak_bytes", stat->peak_bytes);
	put_named_time(out, "peak_at", tl, stat->peak_ts);
	put_named_u64(out, "failed", stat->failed);
	put_named_u64(out, "temporary_below", KS_TL_TEMPORARY_NS);
	put_named_u64(out, "width", tl->width);
	put_named_u64(out, "buckets", tl->buckets);
}

/* === Public =============================================================================== */

void ks_render_html_data(const struct ks_model *model, const struct ks_timeline *tl,
			 const struct ks_html_kmap *kmap, const struct ks_html_diff *diff,
			 const char *name, struct ks_strbuf *out)
{
	put_capture(out, model, tl, name);
	put_quality(out, model, tl);
	ks_strbuf_puts(out, ",\n\"total\":");
	put_track(out, &tl->total);
	ks_strbuf_puts(out, "}");
	put_groupings(out, tl);
	put_pids(out, tl);
	put_ends(out, tl);
	if (kmap->view) {
		ks_strbuf_puts(out, ",\n\"kmap\":");
		ks_render_html_kmap(kmap->view, kmap->name, out);
	}
	if (diff) {
		ks_strbuf_puts(out, ",\n\"diff\":");
		ks_render_html_diff(diff, out);
	}
	ks_strbuf_puts(out, "}\n");
}
