// SPDX-License-Identifier: LGPL-2.1-only
/* The timeline: what it holds, and merging its buckets. Gathering is in timeline-gather.c. */
#include "analysis/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

/* The first class ends at 1 us; three classes are a decade. */
static const u64 life_edges[KS_TL_LIVES - 1] = {
	1000ull,       2200ull,	      4600ull,	     10000ull,	     22000ull,	     46000ull,
	100000ull,     220000ull,     460000ull,     1000000ull,     2200000ull,     4600000ull,
	10000000ull,   22000000ull,   46000000ull,   100000000ull,   220000000ull,   460000000ull,
	1000000000ull, 2200000000ull, 4600000000ull, 10000000000ull, 22000000000ull,
};

/* === Internals ============================================================================ */

static size_t halve_track(struct ks_track *track)
{
	struct ks_cell *cells = track->cells.items;
	size_t from, to = 0;

	for (from = 0; from < track->cells.len; from++) {
		u32 bucket = cells[from].bucket / 2;

		if (to && cells[to - 1].bucket == bucket) {
			ks_cell_add(&cells[to - 1], &cells[from]);
			continue;
		}
		cells[to] = cells[from];
		cells[to++].bucket = bucket;
	}
	track->cells.len = to;
	return to;
}

static void add_ends(struct ks_tl_ends *to, const struct ks_tl_ends *from)
{
	struct ks_tl_count *lives = &to->by_life[0][0];
	const struct ks_tl_count *more_lives = &from->by_life[0][0];
	u32 *cpus = &to->by_cpus[0][0];
	const u32 *more_cpus = &from->by_cpus[0][0];
	size_t i;

	for (i = 0; i < KS_TL_SIZES * KS_TL_LIVES; i++) {
		lives[i].objects += more_lives[i].objects;
		lives[i].bytes += more_lives[i].bytes;
	}
	for (i = 0; i < KS_TL_CPUS * KS_TL_CPUS; i++)
		cpus[i] += more_cpus[i];
}

static void halve_ends(struct ks_timeline *tl)
{
	u32 i;

	for (i = 0; i < tl->buckets; i++) {
		if (i & 1)
			add_ends(&tl->ends[i / 2], &tl->ends[i]);
		else if (i)
			tl->ends[i / 2] = tl->ends[i];
	}
	i = (tl->buckets + 1) / 2;
	memset(&tl->ends[i], 0, (tl->buckets - i) * sizeof(*tl->ends));
}

static void halve_unseen(u64 *bytes, u32 buckets)
{
	u32 i;

	for (i = 0; i < buckets; i++) {
		u64 value = bytes[i];

		bytes[i] = 0;
		bytes[i / 2] += value;
	}
}

static int copy_track(struct ks_track *to, const struct ks_track *from)
{
	size_t len = from->cells.len;

	memset(to, 0, sizeof(*to));
	if (!len)
		return 0;
	if (ks_vec_reserve(&to->cells, len))
		return -ENOMEM;
	memcpy(to->cells.items, from->cells.items, len * sizeof(*to->cells.items));
	to->cells.len = len;
	return 0;
}

static int copy_tracks(struct ks_tracks *to, const struct ks_tracks *from)
{
	size_t i;

	for (i = 0; i < from->items.len; i++) {
		struct ks_track *track = ks_vec_push(&to->items);

		if (!track || copy_track(track, &from->items.items[i]))
			return -ENOMEM;
	}
	return 0;
}

static void deinit_track(struct ks_track *track)
{
	ks_vec_free(&track->cells);
}

/* === Public =============================================================================== */

const char *ks_tl_dim_name(enum ks_tl_dim dim)
{
	static const char *const names[KS_TL_PID + 1] = {
		[KS_TL_SITE] = "site", [KS_TL_CACHE] = "cache", [KS_TL_SIZE] = "size",
		[KS_TL_COMM] = "comm", [KS_TL_CPU] = "cpu",	[KS_TL_STACK] = "stack",
		[KS_TL_PID] = "pid",
	};

	return names[dim];
}

void ks_cell_add(struct ks_cell *to, const struct ks_cell *from)
{
	to->allocs += from->allocs;
	to->unpaired += from->unpaired;
	to->frees += from->frees;
	to->implied += from->implied;
	to->paged += from->paged;
	to->censused += from->censused;
	to->temporary += from->temporary;
	to->cross_cpu += from->cross_cpu;
	to->kept += from->kept;
	to->bytes += from->bytes;
	to->req += from->req;
	to->ended_bytes += from->ended_bytes;
	to->ended_req += from->ended_req;
	to->temporary_bytes += from->temporary_bytes;
	to->kept_bytes += from->kept_bytes;
	to->life_sum += from->life_sum;
	to->peak_bytes = ks_max(to->peak_bytes, from->peak_bytes);
}

unsigned int ks_tl_size_class(u64 bytes)
{
	unsigned int class = 0;

	while (class < KS_TL_SIZES - 1 && bytes > ks_tl_size_edge(class))
		class ++;
	return class;
}

u64 ks_tl_size_edge(unsigned int size_class)
{
	return size_class < KS_TL_SIZES - 1 ? 8ull << size_class : UINT64_MAX;
}

unsigned int ks_tl_life_class(u64 ns)
{
	unsigned int class = 0;

	while (class < KS_TL_LIVES - 1 && ns >= life_edges[class])
		class ++;
	return class;
}

u64 ks_tl_life_edge(unsigned int life_class)
{
	return life_class < KS_TL_LIVES - 1 ? life_edges[life_class] : UINT64_MAX;
}

u64 ks_timeline_least(const struct ks_timeline *tl, u32 bucket, u64 live, u64 *unsure)
{
	*unsure += tl->unseen_begun[bucket];
	*unsure -= tl->unseen_ended[bucket];
	return live - ks_min(live, *unsure);
}

size_t ks_timeline_halve(struct ks_timeline *tl)
{
	size_t cells = halve_track(&tl->total), i;
	int dim;

	for (dim = 0; dim < KS_TL_DIMS; dim++)
		for (i = 0; i < tl->by[dim].items.len; i++)
			cells += halve_track(&tl->by[dim].items.items[i]);
	halve_ends(tl);
	halve_unseen(tl->unseen_begun, tl->buckets);
	halve_unseen(tl->unseen_ended, tl->buckets);
	tl->buckets = (tl->buckets + 1) / 2;
	tl->width *= 2;
	return cells;
}

struct ks_timeline *ks_timeline_copy(const struct ks_timeline *from)
{
	struct ks_timeline *tl = calloc(1, sizeof(*tl));
	int dim, err;

	if (!tl)
		return NULL;
	ks_arena_init(&tl->arena);
	tl->first_ts = from->first_ts;
	tl->width = from->width;
	tl->buckets = from->buckets;
	tl->has_time = from->has_time;
	tl->ends = calloc(KS_TL_MAX_BUCKETS, sizeof(*tl->ends));
	err = !tl->ends || copy_track(&tl->total, &from->total) ||
	      ks_vec_reserve(&tl->pids, from->pids.len);
	for (dim = 0; dim < KS_TL_DIMS && !err; dim++)
		err = copy_tracks(&tl->by[dim], &from->by[dim]);
	if (err) {
		ks_timeline_free(tl);
		return NULL;
	}
	memcpy(tl->ends, from->ends, from->buckets * sizeof(*tl->ends));
	memcpy(tl->unseen_begun, from->unseen_begun, sizeof(tl->unseen_begun));
	memcpy(tl->unseen_ended, from->unseen_ended, sizeof(tl->unseen_ended));
	if (from->pids.len)
		memcpy(tl->pids.items, from->pids.items, from->pids.len * sizeof(*tl->pids.items));
	tl->pids.len = from->pids.len;
	return tl;
}

u64 ks_track_peak(const struct ks_track *track)
{
	u64 peak = 0;
	size_t i;

	for (i = 0; i < track->cells.len; i++)
		peak = ks_max(peak, track->cells.items[i].peak_bytes);
	return peak;
}

void ks_timeline_free(struct ks_timeline *tl)
{
	size_t i;
	int dim;

	if (!tl)
		return;
	deinit_track(&tl->total);
	for (dim = 0; dim < KS_TL_DIMS; dim++) {
		for (i = 0; i < tl->by[dim].items.len; i++)
			deinit_track(&tl->by[dim].items.items[i]);
		ks_vec_free(&tl->by[dim].items);
	}
	ks_vec_free(&tl->links);
	ks_vec_free(&tl->pids);
	free(tl->ends);
	ks_arena_deinit(&tl->arena);
	free(tl);
}
