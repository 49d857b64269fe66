/* SPDX-License-Identifier: LGPL-2.1-only */
/* The steps by which the sums of a group change. */
#ifndef KS_ANALYSIS_STAT_H
#define KS_ANALYSIS_STAT_H

#include "trace/stat.h"

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
