/* SPDX-License-Identifier: LGPL-2.1-only */
/* Level 3: what its two parts share. */
#ifndef KS_LIVE_EXACT_H
#define KS_LIVE_EXACT_H

#include <linux/types.h>

/* What the skeleton needs. */
#include "base/types.h"
#include "bpf/live.h"

#include "bpf/live-exact.skel.h"
#include "live/tracing.h"

enum { KS_EXACT_GROUP = 64 }; /* buckets */

/* An object that seems to be gone. */
struct ks_held {
	u64 addr, what;
	u32 number; /* in the table */
};

struct ks_exact {
	struct ks_probe probe;
	struct ks_tracing tracing;
	struct live_exact_bpf *program;
	bool hooks, by_process, by_cgroup, by_stack;
	u32 cpus, groups, hz;
	u64 boot_ms, ticks;	       /* what time it was at the last look */
	u64 count_ticks;	       /* and when an exact count began */
	struct ks_bpf_bucket *objects; /* the maps themselves */
	struct ks_bpf_cell *cells;
	struct ks_bpf_sum *sums;
	const struct ks_bpf_ended *ended;
	u64 *known;
	size_t objects_len, cells_len, sums_len, ended_len, known_len;
	s64 *fewer_objects, *fewer_ticks; /* by cell: what was found to be gone */
	u64 *made;			  /* by cell: as of the last look that wanted room */
	KS_VEC(struct ks_held) held;
	u64 reconciled, reconciled_bytes;
};

/* What time it is, by the clock that objects have their birth of. */
u64 ks_exact_ticks(struct ks_exact *e);

/* Waits until all programs that run now are done. */
void ks_exact_wait(void);

/* For ks_census_level_follow(): objects that an exact count does not have are gone. */
void ks_exact_counting(void *arg);
void ks_exact_counted(void *arg, const struct ks_in_use *use);

#endif
