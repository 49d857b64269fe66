// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A timeline in the data of the HTML report. Its cells are most of the data, so they are written by column, and
 * a column that is all zero as 0.
 */
#include "report/html-tracks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* === Internals: cells ===================================================================== */

enum column {
	COL_BUCKET,
	COL_ALLOCS,
	COL_UNPAIRED,
	COL_FREES,
	COL_IMPLIED,
	COL_PAGED,
	COL_CENSUSED,
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
	case COL_PAGED:
		return cell->paged;
	case COL_CENSUSED:
		return cell->censused;
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

static void put_column(struct ks_json *json, const struct ks_cell *cells, size_t len,
		       enum column which)
{
	size_t i = 0;

	while (i < len && !column(&cells[i], which))
		i++;
	if (i == len && which != COL_BUCKET) {
		ks_json_u64(json, NULL, 0);
		return;
	}
	ks_json_array(json, NULL);
	for (i = 0; i < len; i++)
		ks_json_s64(json, NULL, column(&cells[i], which));
	ks_json_end_array(json);
}

static void put_cells(struct ks_json *json, const struct ks_cell *cells, size_t len)
{
	int which;

	ks_json_array(json, "cells");
	for (which = 0; which < COLUMNS; which++)
		put_column(json, cells, len, (enum column)which);
	ks_json_end_array(json);
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

/* The object of a track, which stays open. */
static void put_track(struct ks_json *json, const char *key, const struct ks_track *track)
{
	ks_json_object(json, key);
	ks_json_string(json, "label", track->label);
	if (*track->func)
		ks_json_string(json, "func", track->func);
	if (*track->module)
		ks_json_string(json, "module", track->module);
	if (*track->path)
		ks_json_string(json, "path", track->path);
	ks_json_u64(json, "at_peak", track->at_peak_bytes);
	ks_json_u64(json, "oldest", track->oldest);
	ks_json_u64(json, "youngest", track->youngest);
	ks_json_u64(json, "age_sum", track->age_sum);
	if (track->pages_held)
		ks_json_u64(json, "pages_held", track->pages_held);
	put_cells(json, track->cells.items, track->cells.len);
}

/* The tracks that are left, added up; their common peak is not known, so the sum stands for it. */
static void put_folded(struct ks_json *json, const struct selection *sel, u32 buckets)
{
	struct ks_cell *sum = calloc(buckets, sizeof(*sum));
	u64 at_peak = 0;
	char label[40];
	size_t i, j;

	if (!sum) {
		json->out->failed = true;
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
	snprintf(label, sizeof(label), "%zu others", sel->folded);
	ks_json_break(json);
	ks_json_object(json, NULL);
	ks_json_string(json, "label", label);
	ks_json_u64(json, "folded", sel->folded);
	ks_json_u64(json, "at_peak", at_peak);
	put_cells(json, sum, buckets);
	ks_json_end_object(json);
	free(sum);
}

static int compare_links(const void *pa, const void *pb)
{
	const struct ks_tl_link *a = pa, *b = pb;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->dim != b->dim)
		return a->dim < b->dim ? -1 : 1;
	/* Who holds memory comes before who only passes by. */
	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->group < b->group ? -1 : 1;
}

/* "links": for each other grouping, the groups of the site with most live bytes: number, allocs, bytes, live ones. */
static void put_links(struct ks_json *json, const struct ks_tl_link *links, size_t len,
		      const struct selection *sel)
{
	size_t i = 0;
	int dim;

	ks_json_object(json, "links");
	for (dim = KS_TL_SITE + 1; dim <= KS_TL_PID; dim++) {
		size_t all = 0;

		if (dim == KS_TL_STACK)
			continue;
		ks_json_array(json, ks_tl_dim_name((enum ks_tl_dim)dim));
		for (; i < len && (int)links[i].dim == dim; i++) {
			if (all++ >= LINKS_SHOWN)
				continue;
			ks_json_array(json, NULL);
			ks_json_u64(json, NULL,
				    dim == KS_TL_PID ? links[i].group
						     : sel[dim].number[links[i].group]);
			ks_json_u64(json, NULL, links[i].allocs);
			ks_json_u64(json, NULL, links[i].bytes);
			ks_json_u64(json, NULL, links[i].live);
			ks_json_u64(json, NULL, links[i].live_bytes);
			ks_json_end_array(json);
		}
		ks_json_end_array(json);
	}
	ks_json_end_object(json);
}

/* The links of one site; links are sorted by site. */
static void put_site_links(struct ks_json *json, const struct ks_timeline *tl,
			   const struct selection *sel, const struct ks_tl_link *links, u32 site)
{
	size_t from = 0, to = tl->links.len, end;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (links[middle].site < site)
			from = middle + 1;
		else
			to = middle;
	}
	for (end = from; end < tl->links.len && links[end].site == site; end++)
		;
	put_links(json, links + from, end - from, sel);
}

/* The site of a stack, and its frames as numbers into "frame_names". */
static void put_frames(struct ks_json *json, const struct ks_track *track,
		       const struct selection *sel, struct ks_intern *frames)
{
	size_t i;

	ks_json_u64(json, "site", sel[KS_TL_SITE].number[track->site]);
	ks_json_array(json, "frames");
	for (i = 0; i < track->frames_len; i++) {
		u32 number = ks_intern_add(frames, track->frames[i], strlen(track->frames[i]));

		json->out->failed |= number == KS_NONE;
		ks_json_u64(json, NULL, number);
	}
	ks_json_end_array(json);
}

static void put_frame_names(struct ks_json *json, const struct ks_intern *frames)
{
	size_t i;

	ks_json_break(json);
	ks_json_array(json, "frame_names");
	for (i = 0; i < frames->strs.len; i++)
		ks_json_string(json, NULL, frames->strs.items[i].s);
	ks_json_end_array(json);
}

/* In the order of their numbers in the page. */
static void put_tracks(struct ks_json *json, const struct ks_timeline *tl,
		       const struct selection *sel, enum ks_tl_dim dim,
		       const struct ks_tl_link *links, struct ks_intern *frames)
{
	const struct selection *mine = &sel[dim];
	size_t len = mine->tracks->items.len, i;
	u32 *order = calloc(len + 1, sizeof(*order));

	if (!order) {
		json->out->failed = true;
		return;
	}
	for (i = 0; i < len; i++)
		if (mine->number[i] < mine->kept)
			order[mine->number[i]] = (u32)i;
	for (i = 0; i < mine->kept; i++) {
		const struct ks_track *track = &mine->tracks->items.items[order[i]];

		ks_json_break(json);
		put_track(json, NULL, track);
		if (dim == KS_TL_SITE)
			put_site_links(json, tl, sel, links, order[i]);
		if (dim == KS_TL_STACK)
			put_frames(json, track, sel, frames);
		ks_json_end_object(json);
	}
	if (mine->folded)
		put_folded(json, mine, tl->buckets);
	free(order);
}

/* "pids": the tasks that links are about, as numbers and first names. */
static void put_pids(struct ks_json *json, const struct ks_timeline *tl)
{
	size_t i;

	ks_json_break(json);
	ks_json_array(json, "pids");
	for (i = 0; i < tl->pids.len; i++) {
		const struct ks_tl_pid *pid = &tl->pids.items[i];

		ks_json_array(json, NULL);
		if (pid->rest)
			ks_json_string(json, NULL, "others");
		else if (pid->pid == KS_PID_UNKNOWN)
			ks_json_null(json, NULL);
		else
			ks_json_u64(json, NULL, pid->pid);
		ks_json_string(json, NULL, pid->comm);
		ks_json_end_array(json);
	}
	ks_json_end_array(json);
}

static void put_groupings(struct ks_json *json, const struct ks_timeline *tl)
{
	struct selection sel[KS_TL_DIMS] = { 0 };
	struct ks_tl_link *links = calloc(tl->links.len + 1, sizeof(*links));
	struct ks_intern frames;
	int dim, failed = !links;

	failed |= ks_intern_init(&frames) != 0;
	for (dim = 0; dim < KS_TL_DIMS; dim++)
		failed |= select_tracks(&tl->by[dim], &sel[dim]) != 0;
	if (failed) {
		json->out->failed = true;
	} else {
		if (tl->links.len)
			memcpy(links, tl->links.items, tl->links.len * sizeof(*links));
		qsort(links, tl->links.len, sizeof(*links), compare_links);
		ks_json_break(json);
		ks_json_object(json, "by");
		for (dim = 0; dim < KS_TL_DIMS; dim++) {
			if (dim)
				ks_json_break(json);
			ks_json_array(json, ks_tl_dim_name((enum ks_tl_dim)dim));
			put_tracks(json, tl, sel, (enum ks_tl_dim)dim, links, &frames);
			ks_json_end_array(json);
		}
		ks_json_end_object(json);
		put_frame_names(json, &frames);
	}
	ks_intern_deinit(&frames);
	for (dim = 0; dim < KS_TL_DIMS; dim++)
		free(sel[dim].number);
	free(links);
}

/* === Internals: ends ====================================================================== */

/* Flat lists of numbers: bucket, size class, lifetime class, objects, bytes. */
static void put_lives(struct ks_json *json, const struct ks_timeline *tl)
{
	u32 b, i, j;

	ks_json_break(json);
	ks_json_array(json, "lives");
	for (b = 0; b < tl->buckets; b++)
		for (i = 0; i < KS_TL_SIZES; i++)
			for (j = 0; j < KS_TL_LIVES; j++) {
				const struct ks_tl_count *count = &tl->ends[b].by_life[i][j];

				if (!count->objects)
					continue;
				ks_json_u64(json, NULL, b);
				ks_json_u64(json, NULL, i);
				ks_json_u64(json, NULL, j);
				ks_json_u64(json, NULL, count->objects);
				ks_json_u64(json, NULL, count->bytes);
			}
	ks_json_end_array(json);
}

/* And bucket, CPU of the allocation, CPU of the free, frees. */
static void put_cpus(struct ks_json *json, const struct ks_timeline *tl)
{
	u32 b, i, j;

	ks_json_break(json);
	ks_json_array(json, "cpus");
	for (b = 0; b < tl->buckets; b++)
		for (i = 0; i < KS_TL_CPUS; i++)
			for (j = 0; j < KS_TL_CPUS; j++) {
				u32 count = tl->ends[b].by_cpus[i][j];

				if (!count)
					continue;
				ks_json_u64(json, NULL, b);
				ks_json_u64(json, NULL, i);
				ks_json_u64(json, NULL, j);
				ks_json_u64(json, NULL, count);
			}
	ks_json_end_array(json);
}

/* "least": what certainly lived at the end of each bucket; only where that is less than what seems to have lived. */
static void put_least(struct ks_json *json, const struct ks_timeline *tl)
{
	const struct ks_track *total = &tl->total;
	u64 live = 0, unsure = 0;
	size_t next = 0;
	u32 b;

	for (b = 0; b < tl->buckets && !tl->unseen_ended[b]; b++)
		;
	if (b == tl->buckets)
		return;
	ks_json_array(json, "least");
	for (b = 0; b < tl->buckets; b++) {
		if (next < total->cells.len && total->cells.items[next].bucket == b) {
			live += total->cells.items[next].bytes -
				total->cells.items[next].ended_bytes;
			next++;
		}
		ks_json_u64(json, NULL, ks_timeline_least(tl, b, live, &unsure));
	}
	ks_json_end_array(json);
}

/* === Public =============================================================================== */

void ks_html_put_timeline(struct ks_json *json, const struct ks_timeline *tl)
{
	ks_json_break(json);
	put_track(json, "total", &tl->total);
	ks_json_end_object(json);
	put_groupings(json, tl);
	put_pids(json, tl);
	put_lives(json, tl);
	put_cpus(json, tl);
	put_least(json, tl);
}
