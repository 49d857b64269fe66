/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Which objects roots lead to, and on which way. The way is the shortest from the kind of root that says the most:
 * from variables; else from areas and pages; else from stacks, which may have old values; else from struct pages. A way
 * through a field that is no pointer by its type is taken where there is no other.
 */
#ifndef KS_HEAP_WAYS_H
#define KS_HEAP_WAYS_H

#include "heap/snapshot.h"

/* In @from: the number behind it is that of a root. */
#define KS_FROM_ROOT 0x80000000u

struct ks_ways {
	u32 *from; /* by object: who holds it on its way; KS_NONE = no root leads to it */
	u64 reached;
};

/* Needs a snapshot with a graph. */
int ks_ways_find(const struct ks_snapshot *snapshot, struct ks_ways **ret_ways,
		 struct ks_diag *diag);
void ks_ways_free(struct ks_ways *ways);

/* The reference from a holder, as @from has it, to an object. NULL: there is none. */
const struct ks_heap_ref *ks_ways_ref(const struct ks_snapshot *snapshot, u32 from, u32 to);

/*
 * Which task each object is nearest to, going from all tasks at once and never along lists and trees, which lead from one
 * task's things to another's. KS_NONE: no task leads to it. The array is to be freed.
 */
int ks_ways_from_tasks(const struct ks_snapshot *snapshot, u32 **ret_task, struct ks_diag *diag);

#endif
