/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Private to the timeline: adding up what happens to objects, whoever reads the events.
 *
 * Objects that were allocated alike are of one kind, and the tasks that allocate are owners. In each
 * bucket sums are kept by kind and by owner alone, and spread over the tracks of all groupings when the
 * bucket is over; only what a peak needs is kept by track all the time.
 */
#ifndef KS_ANALYSIS_TIMELINE_GATHER_H
#define KS_ANALYSIS_TIMELINE_GATHER_H

#include "analysis/grouping.h"
#include "analysis/timeline.h"

struct ks_tl_gather;

/* @width is that of the first buckets. */
int ks_tl_gather_new(const struct ks_names *names, u64 first_ts, u64 width, u32 page_shift,
		     struct ks_tl_gather **ret_gather);
void ks_tl_gather_free(struct ks_tl_gather *gather);

/* The numbers of a kind and of an owner; KS_NONE for lack of memory. */
u32 ks_tl_gather_kind(struct ks_tl_gather *gather, const struct ks_event *ev);
u32 ks_tl_gather_owner(struct ks_tl_gather *gather, const struct ks_event *ev);

struct ks_tl_birth {
	u64 ts, ptr;
	u32 kind, owner;
	u32 bytes_req, bytes_alloc;
	u16 cpu;
};

/* An allocation; @slot KS_NONE: of an object that cannot be followed. 0 or -ENOMEM. */
int ks_tl_gather_begin(struct ks_tl_gather *gather, const struct ks_tl_birth *birth, u32 slot);

/* Brings what is known of a slot into the cache ahead of its use. */
void ks_tl_gather_prefetch(const struct ks_tl_gather *gather, u32 slot);

/* The end of the object in the slot. */
int ks_tl_gather_end(struct ks_tl_gather *gather, u32 slot, u64 ts, u16 cpu, enum ks_end how);

/* The timeline as of now. @end is the end of the capture or the window. */
int ks_tl_gather_snapshot(struct ks_tl_gather *gather, u64 end, struct ks_places *places,
			  struct ks_places *frames, struct ks_timeline **ret_timeline,
			  struct ks_diag *diag);

#endif
