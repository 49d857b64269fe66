// SPDX-License-Identifier: LGPL-2.1-only
/* Sums by group number. */
#include "analysis/tally.h"

#include <errno.h>
#include <stdlib.h>

/* === Public =============================================================================== */

int ks_tally_grow(struct ks_tally *tally, u32 group)
{
	while (tally->groups.len <= group)
		if (!ks_vec_push(&tally->groups))
			return -ENOMEM;
	return 0;
}

void ks_tally_deinit(struct ks_tally *tally)
{
	ks_vec_free(&tally->groups);
}

struct ks_stat ks_tally_total(const struct ks_tally *tally)
{
	struct ks_stat sum = { .peak_bytes = tally->total.peak_bytes,
			       .peak_ts = tally->total.peak_ts,
			       .first_ts = UINT64_MAX };
	size_t i;

	for (i = 0; i < tally->groups.len; i++) {
		const struct ks_stat *stat = &tally->groups.items[i];

		if (ks_stat_is_empty(stat))
			continue;
		ks_stat_add_counts(&sum, stat);
		sum.first_ts = ks_min(sum.first_ts, stat->first_ts);
		sum.last_ts = ks_max(sum.last_ts, stat->last_ts);
	}
	if (sum.first_ts == UINT64_MAX)
		sum.first_ts = 0;
	return sum;
}

void ks_tally_add(struct ks_tally *tally, u32 group, const struct ks_stat *stat)
{
	struct ks_stat *sum = &tally->groups.items[group];
	bool fresh = ks_stat_is_empty(sum);

	sum->first_ts = fresh ? stat->first_ts : ks_min(sum->first_ts, stat->first_ts);
	sum->last_ts = ks_max(sum->last_ts, stat->last_ts);
	/* A source that does not count peaks leaves them 0; no peak is below what lives. */
	if (fresh && stat->peak_bytes >= stat->live_bytes) {
		sum->peak_bytes = stat->peak_bytes;
		sum->peak_ts = stat->peak_ts;
	} else {
		sum->peak_bytes = KS_PEAK_UNKNOWN;
		sum->peak_ts = 0;
	}
	ks_stat_add_counts(sum, stat);
	tally->total.live_bytes += stat->live_bytes;
	tally->total.peak_bytes = KS_PEAK_UNKNOWN;
}
