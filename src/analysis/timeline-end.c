// SPDX-License-Identifier: LGPL-2.1-only
/* The end of a timeline, at any moment: what lives then, the last bucket, and the names of all groups. */
#include <errno.h>

#include "analysis/timeline-state.h"

/* === Internals ============================================================================ */

static struct ks_cell *cell_at(struct ks_track *track, u32 bucket)
{
	size_t low = 0, high = track->cells.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->cells.items[middle].bucket < bucket)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < track->cells.len && track->cells.items[low].bucket == bucket)
		return &track->cells.items[low];
	/* Time went back between the event and its neighbours: the last cell took it. */
	return &track->cells.items[track->cells.len - 1];
}

static void keep_object(struct ks_track *track, const struct ks_tl_birth *birth, u32 bucket,
			u64 age)
{
	struct ks_cell *cell = cell_at(track, bucket);

	track->youngest = track->kept ? ks_min(track->youngest, age) : age;
	track->kept++;
	track->oldest = ks_max(track->oldest, age);
	track->age_sum += age;
	cell->kept++;
	cell->kept_bytes += birth->bytes_alloc;
}

static void keep_in_tracks(struct ks_tl_gather *g, const struct ks_tl_birth *birth, u64 end,
			   bool new_page)
{
	const struct kind *kind = &g->kinds.items[birth->kind];
	const struct owner *owner = &g->owners.items[birth->owner];
	u64 since = birth->ts - ks_min(birth->ts, g->tl->first_ts);
	u64 age = end > since ? end - since : 0;
	u32 bucket = (u32)ks_min(since / g->tl->width, (u64)g->tl->buckets - 1);
	int i;

	keep_object(&g->tl->total, birth, bucket, age);
	for (i = 0; i < KIND_DIMS; i++)
		if (kind->track[i] != KS_NONE)
			keep_object(ks_tl_track(g, ks_tl_kind_dims[i], kind->track[i]), birth,
				    bucket, age);
	for (i = 0; i < OWNER_DIMS; i++)
		keep_object(ks_tl_track(g, ks_tl_owner_dims[i], owner->track[i]), birth, bucket,
			    age);
	ks_tl_track(g, KS_TL_SIZE, kind->track[2])->pages_held += new_page;
}

/* What lives at the end goes to the cells that it was born in; sizes learn how many pages it holds. */
static int keep_living(struct ks_tl_gather *g, u64 end)
{
	struct ks_map64 pages;
	size_t i;
	int err = 0;

	if (ks_map64_init(&pages))
		return -ENOMEM;
	for (i = 0; i < g->in_slot.len + g->left.len && !err; i++) {
		const struct ks_tl_birth *birth = i < g->in_slot.len
							  ? &g->in_slot.items[i]
							  : &g->left.items[i - g->in_slot.len];
		size_t known = pages.keys.len;

		if (birth->kind == KS_NONE)
			continue;
		if (ks_map64_add(&pages, birth->ptr >> g->page_shift) == KS_NONE)
			err = -ENOMEM;
		keep_in_tracks(g, birth, end - ks_min(end, g->tl->first_ts),
			       pages.keys.len > known);
	}
	ks_map64_deinit(&pages);
	return err;
}

static void conclude(struct ks_tl_gather *g, struct ks_track *track, struct pulse *pulse)
{
	ks_tl_keep_peak(g, pulse);
	track->live_bytes = pulse->live;
	track->at_peak_bytes = pulse->at_peak;
}

/* === Public =============================================================================== */

/*
 * The end is worked out on a copy: of the timeline itself, and of the few numbers that say how far it
 * is. All else is only looked at, so that events can go on coming in.
 */
int ks_tl_gather_snapshot(struct ks_tl_gather *gather, u64 end, struct ks_places *places,
			  struct ks_places *frames, struct ks_timeline **ret_timeline,
			  struct ks_diag *diag)
{
	struct ks_tl_gather copy = *gather, *g = &copy;
	size_t i;
	int dim, err;

	copy.tl = ks_timeline_copy(gather->tl);
	if (!copy.tl || ks_tl_next_bucket(g, ks_max(end, g->tl->first_ts))) {
		ks_timeline_free(copy.tl);
		return ks_diag_nomem(diag, "adding up over time");
	}
	g->tl->peak_bytes = g->peak_bytes;
	g->tl->peak_ts = g->peak_ts;
	conclude(g, &g->tl->total, &g->total);
	for (dim = 0; dim < KS_TL_DIMS; dim++)
		for (i = 0; i < g->tl->by[dim].items.len; i++)
			conclude(g, ks_tl_track(g, (enum ks_tl_dim)dim, (u32)i),
				 &g->pulse[dim].items.items[i]);
	err = ks_tl_label(g, places, frames, diag);
	if (!err && (ks_tl_link_groups(g) || keep_living(g, end)))
		err = ks_diag_nomem(diag, "adding up over time");
	if (err)
		ks_timeline_free(copy.tl);
	else
		*ret_timeline = copy.tl;
	return err;
}
