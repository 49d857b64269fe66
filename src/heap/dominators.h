/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Who alone holds what: an object dominates another if every way from the roots to that one leads through it. What
 * an object retains is itself and all that it dominates: what would be free if it were gone.
 */
#ifndef KS_HEAP_DOMINATORS_H
#define KS_HEAP_DOMINATORS_H

#include "heap/snapshot.h"

/* Nodes: 0 stands for all roots together, then come roots, then objects. */
struct ks_dominators {
	u32 nodes, first_object;
	u32 *above; /* by node: its immediate dominator; KS_NONE = no root leads to it. Of node 0: 0 */
	u64 *retained; /* by node, in bytes; of what no root leads to, itself alone */
	u32 *order;    /* nodes that roots lead to, each behind its dominator */
	u32 reached;   /* how many there are */
};

/* Needs a snapshot with a graph. */
int ks_dominators_find(const struct ks_snapshot *snapshot, struct ks_dominators **ret_dominators,
		       struct ks_diag *diag);
void ks_dominators_free(struct ks_dominators *dominators);

/*
 * What a set of objects (a bit each) retains together: what would be free if all of them were gone. What one of them
 * dominates counts once.
 */
int ks_dominators_of_set(const struct ks_dominators *dominators, const u64 *set, u64 *ret_bytes);

/*
 * The lowest node that alone holds more than half of the bytes of a set, without the set's own; node 0 where none does.
 * And how many bytes of the set it holds.
 */
int ks_dominators_culprit(const struct ks_dominators *dominators,
			  const struct ks_snapshot *snapshot, const u64 *set, u32 *ret_node,
			  u64 *ret_bytes);

#endif
