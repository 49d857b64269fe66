/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters for show_stats: whatever is dropped has one of them. */
#ifndef MEMORIZER_STATS_H
#define MEMORIZER_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct seq_file;

enum mz_counter {
	MZ_ALLOCS,
	MZ_FREES,
	MZ_FREES_IMPLIED,
	MZ_FREES_UNKNOWN,
	MZ_FREES_NULL,
	MZ_ALLOCS_FAILED,
	MZ_DROPPED_FULL,
	MZ_DROPPED_RECURSION,
	MZ_DROPPED_NMI,
	MZ_NAMELESS_SITES,
	MZ_NAMELESS_COMMS,
	MZ_MARKS_LOST,
	MZ_STREAMED,
	MZ_CLEARED,
	MZ_SNAPSHOTS_FAILED,
	MZ_COUNTERS
};

struct mz_counters {
	u64 value[MZ_COUNTERS];
};

DECLARE_PER_CPU(struct mz_counters, mz_counters);

static inline void mz_count(enum mz_counter counter)
{
	this_cpu_inc(mz_counters.value[counter]);
}

u64 mz_counter_sum(enum mz_counter counter);
int mz_stats_show(struct seq_file *m, void *unused);

#endif /* MEMORIZER_STATS_H */
