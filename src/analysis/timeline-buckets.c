// SPDX-License-Identifier: LGPL-2.1-only
/* The buckets of a timeline: a bucket that is over is spread over the groups, and the next one begins. */
#include <errno.h>

#include "analysis/timeline-state.h"

/* === Data ================================================================================= */

const enum ks_tl_dim ks_tl_kind_dims[KIND_DIMS] = { KS_TL_SITE, KS_TL_CACHE, KS_TL_SIZE,
						    KS_TL_STACK };
const enum ks_tl_dim ks_tl_owner_dims[OWNER_DIMS] = { KS_TL_COMM, KS_TL_CPU };

/* === Internals ============================================================================ */

static struct ks_cell *cell_now(struct ks_tl_gather *g, struct ks_track *track)
{
	struct ks_cell *cell;

	if (track->cells.len) {
		cell = &track->cells.items[track->cells.len - 1];
		if (cell->bucket == g->bucket)
			return cell;
	}
	cell = ks_vec_push(&track->cells);
	if (!cell)
		return NULL;
	g->cells++;
	cell->bucket = g->bucket;
	return cell;
}

static int add_to_track(struct ks_tl_gather *g, struct ks_track *track, const struct ks_cell *now)
{
	struct ks_cell *cell = cell_now(g, track);

	if (!cell)
		return -ENOMEM;
	ks_cell_add(cell, now);
	return 0;
}

static int spread_kind(struct ks_tl_gather *g, const struct kind *kind)
{
	int i, err = add_to_track(g, &g->tl->total, &kind->sums.now);

	for (i = 0; i < KIND_DIMS && !err; i++)
		if (kind->track[i] != KS_NONE)
			err = add_to_track(g, ks_tl_track(g, ks_tl_kind_dims[i], kind->track[i]),
					   &kind->sums.now);
	return err;
}

static int spread_owner(struct ks_tl_gather *g, const struct owner *owner)
{
	int i, err = 0;

	for (i = 0; i < OWNER_DIMS && !err; i++)
		err = add_to_track(g, ks_tl_track(g, ks_tl_owner_dims[i], owner->track[i]),
				   &owner->sums.now);
	return err;
}

static int keep_peak_of_bucket(struct ks_tl_gather *g, struct ks_track *track,
			       const struct pulse *pulse)
{
	struct ks_cell *cell = cell_now(g, track);

	if (!cell)
		return -ENOMEM;
	cell->peak_bytes = ks_max(cell->peak_bytes, pulse->peak);
	return 0;
}

/* The bucket is over: what was added up by kind and owner goes to the tracks. */
static int spread(struct ks_tl_gather *g)
{
	size_t i;
	int err = 0;

	for (i = 0; i < g->busy_kinds.len && !err; i++)
		err = spread_kind(g, &g->kinds.items[g->busy_kinds.items[i]]);
	for (i = 0; i < g->busy_owners.len && !err; i++)
		err = spread_owner(g, &g->owners.items[g->busy_owners.items[i]]);
	for (i = 0; i < g->touched.len && !err; i++) {
		const struct touched *at = &g->touched.items[i];

		err = keep_peak_of_bucket(g, ks_tl_track(g, at->dim, at->track),
					  &g->pulse[at->dim].items.items[at->track]);
	}
	if (!err && g->total.epoch == g->epoch)
		err = keep_peak_of_bucket(g, &g->tl->total, &g->total);
	g->busy_kinds.len = g->busy_owners.len = g->touched.len = 0;
	g->epoch++;
	return err;
}

/* === Public =============================================================================== */

int ks_tl_next_bucket(struct ks_tl_gather *g, u64 ts)
{
	struct ks_timeline *tl = g->tl;
	u64 bucket = (ts - tl->first_ts) / tl->width;

	if (spread(g))
		return -ENOMEM;
	while (bucket >= KS_TL_MAX_BUCKETS || (g->cells > KS_TL_MAX_CELLS && tl->buckets > 1)) {
		g->cells = ks_timeline_halve(tl);
		bucket /= 2;
		g->bucket /= 2;
	}
	g->bucket = (u32)ks_max((u64)g->bucket, bucket);
	g->bucket_end = tl->first_ts + ((u64)g->bucket + 1) * tl->width;
	tl->buckets = g->bucket + 1;
	return 0;
}
