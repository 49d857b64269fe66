/* SPDX-License-Identifier: LGPL-2.1-only */
/* Sums by group number, and the steps by which they change. */
#ifndef KS_ANALYSIS_TALLY_H
#define KS_ANALYSIS_TALLY_H

#include "analysis/model.h"
#include "base/vec.h"
#include "trace/stat.h"

/*
 * While events come in, of the total only the live bytes and their peak are kept: the rest is the sum
 * of the groups, and is worked out at the end.
 */
struct ks_tally {
	KS_VEC(struct ks_stat) groups; /* by group number */
	struct ks_stat total;
};

/* Makes room for groups up to this number. 0 or -ENOMEM. */
int ks_tally_grow(struct ks_tally *tally, u32 group);
void ks_tally_deinit(struct ks_tally *tally);

/* All groups added up. */
struct ks_stat ks_tally_total(const struct ks_tally *tally);

/* Adds the sums of what some source has added up already. Peaks of a whole are not known from parts. */
void ks_tally_add(struct ks_tally *tally, u32 group, const struct ks_stat *stat);

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

static inline void ks_stat_end(struct ks_stat *stat, u64 req, u64 bytes, u64 ts, enum ks_end how)
{
	ks_stat_seen(stat, ts);
	if (likely(how == KS_END_FREED)) {
		stat->frees++;
	} else {
		stat->implied_frees += how == KS_END_IMPLIED;
		stat->page_frees += how == KS_END_PAGE;
		stat->census_frees += how == KS_END_CENSUS;
		stat->unseen_bytes += bytes;
	}
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

static inline void ks_tally_alloc(struct ks_tally *tally, u32 group, u64 req, u64 bytes, u64 ts)
{
	ks_stat_alloc(&tally->groups.items[group], req, bytes, ts);
	tally->total.live_bytes += bytes;
	if (tally->total.live_bytes > tally->total.peak_bytes) {
		tally->total.peak_bytes = tally->total.live_bytes;
		tally->total.peak_ts = ts;
	}
}

static inline void ks_tally_end(struct ks_tally *tally, u32 group, u64 req, u64 bytes, u64 ts,
				enum ks_end how)
{
	ks_stat_end(&tally->groups.items[group], req, bytes, ts, how);
	tally->total.live_bytes -= bytes;
}

#endif
