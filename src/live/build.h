/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/live: how a snapshot is made. */
#ifndef KS_LIVE_BUILD_H
#define KS_LIVE_BUILD_H

#include "base/diag.h"
#include "live/snapshot.h"

/* The same @seed for all snapshots that are compared. NULL: no memory. */
struct ks_live_snapshot *ks_live_snapshot_new(u64 seed);

/*
 * The cell of these names, new or old: NULL in @names is not told. It stays until the next cell. NULL: no memory.
 */
struct ks_live_cell *ks_live_cell(struct ks_live_snapshot *s, enum ks_live_part part,
				  const char *const names[KS_LIVE_BYS]);

/* As above with a stack of addresses, which is called @names[KS_LIVE_BY_STACK]. */
struct ks_live_cell *ks_live_cell_stack(struct ks_live_snapshot *s, enum ks_live_part part,
					const char *const names[KS_LIVE_BYS], const u64 *frames,
					u32 len);

/* Says what this level can't see here; copies the text. 0 or -ENOMEM. */
int ks_live_unseen(struct ks_live_snapshot *s, const char *text);

/* The part as it was in an older snapshot. 0 or -ENOMEM. */
int ks_live_carry(struct ks_live_snapshot *s, const struct ks_live_snapshot *old,
		  enum ks_live_part part);

/*
 * Gives the cells their baselines and marks. @old may be NULL. What has gone since stays as a cell of no objects while
 * its change matters.
 */
int ks_live_compare(struct ks_live_snapshot *s, const struct ks_live_snapshot *old, bool rebase,
		    u64 rate_ns);

#endif
