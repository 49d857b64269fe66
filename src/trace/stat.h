/* SPDX-License-Identifier: LGPL-2.1-only */
/* What is counted for a call site, for any other group of allocations, and for the whole. */
#ifndef KS_TRACE_STAT_H
#define KS_TRACE_STAT_H

#include "base/types.h"

struct ks_stat {
	u64 allocs;		    /* that succeeded */
	u64 frees;		    /* that an event showed */
	u64 implied_frees;	    /* seen only because the address was allocated again */
	u64 page_frees;		    /* seen only because the page was given back or taken */
	u64 census_frees;	    /* seen only by the census at the end of the recording */
	u64 unseen_bytes;	    /* of the objects that ended so */
	u64 failed;		    /* allocations that returned NULL */
	u64 total_bytes, total_req; /* of all allocations */
	u64 live_objs;		    /* objects that still live at the end, */
	u64 live_bytes, live_req;   /* and their bytes */
	u64 peak_bytes,
		peak_ts; /* the most that lived at once, and when that was first so; see below */
	u64 first_ts, last_ts; /* of its events; 0 when there are none */
};

/* As peak_bytes: not known. Peaks of sums that were added up are not: each was at a time of its own. */
#define KS_PEAK_UNKNOWN UINT64_MAX

static inline bool ks_stat_has_peak(const struct ks_stat *stat)
{
	return stat->peak_bytes != KS_PEAK_UNKNOWN;
}

/* Whether there is nothing to show. A census counts live objects, and no allocations. */
static inline bool ks_stat_is_empty(const struct ks_stat *stat)
{
	return !stat->allocs && !stat->failed && !stat->live_objs;
}

/* Adds all but peaks and times, which do not add up. */
static inline void ks_stat_add_counts(struct ks_stat *sum, const struct ks_stat *stat)
{
	sum->allocs += stat->allocs;
	sum->frees += stat->frees;
	sum->implied_frees += stat->implied_frees;
	sum->page_frees += stat->page_frees;
	sum->census_frees += stat->census_frees;
	sum->unseen_bytes += stat->unseen_bytes;
	sum->failed += stat->failed;
	sum->total_bytes += stat->total_bytes;
	sum->total_req += stat->total_req;
	sum->live_objs += stat->live_objs;
	sum->live_bytes += stat->live_bytes;
	sum->live_req += stat->live_req;
}

/* Objects that ended without an event of their own. */
static inline u64 ks_stat_unseen(const struct ks_stat *stat)
{
	return stat->implied_frees + stat->page_frees + stat->census_frees;
}

static inline u64 ks_stat_waste(const struct ks_stat *stat)
{
	return stat->live_bytes > stat->live_req ? stat->live_bytes - stat->live_req : 0;
}

#endif
