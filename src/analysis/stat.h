/* SPDX-License-Identifier: LGPL-2.1-only */
/* What is counted for a call site, for any other group of allocations, and for the whole. */
#ifndef KS_ANALYSIS_STAT_H
#define KS_ANALYSIS_STAT_H

#include "base/types.h"

struct ks_stat {
	u64 allocs;		    /* that succeeded */
	u64 frees;		    /* that an event showed */
	u64 implied_frees;	    /* seen only because the address was allocated again */
	u64 failed;		    /* allocations that returned NULL */
	u64 total_bytes, total_req; /* of all allocations */
	u64 live_objs;		    /* objects that still live at the end, */
	u64 live_bytes, live_req;   /* and their bytes */
	u64 peak_bytes, peak_ts;    /* the most that lived at once, and when that was first so */
	u64 first_ts, last_ts;	    /* of its events; 0 when there are none */
};

static inline u64 ks_stat_waste(const struct ks_stat *stat)
{
	return stat->live_bytes > stat->live_req ? stat->live_bytes - stat->live_req : 0;
}

/* The steps of the engine; the model's readers have no use for them. */

static inline void ks_stat_seen(struct ks_stat *stat, u64 ts)
{
	if (unlikely(!stat->allocs && !stat->failed))
		stat->first_ts = ts;
	if (likely(ts > stat->last_ts))
		stat->last_ts = ts;
}

static inline void ks_stat_alloc(struct ks_stat *stat, u64 req, u64 bytes, u64 ts)
{
	ks_stat_seen(stat, ts);
	stat->allocs++;
	stat->total_bytes += bytes;
	stat->total_req += req;
	stat->live_objs++;
	stat->live_bytes += bytes;
	stat->live_req += req;
	if (stat->live_bytes > stat->peak_bytes) {
		stat->peak_bytes = stat->live_bytes;
		stat->peak_ts = ts;
	}
}

static inline void ks_stat_end(struct ks_stat *stat, u64 req, u64 bytes, u64 ts, bool implied)
{
	ks_stat_seen(stat, ts);
	if (implied)
		stat->implied_frees++;
	else
		stat->frees++;
	stat->live_objs--;
	stat->live_bytes -= bytes;
	stat->live_req -= req;
}

/* An allocation that cannot be paired with its free: it counts, but is never live. */
static inline void ks_stat_alloc_unpaired(struct ks_stat *stat, u64 req, u64 bytes, u64 ts)
{
	ks_stat_seen(stat, ts);
	stat->allocs++;
	stat->total_bytes += bytes;
	stat->total_req += req;
}

static inline void ks_stat_failed(struct ks_stat *stat, u64 ts)
{
	ks_stat_seen(stat, ts);
	stat->failed++;
}

#endif
