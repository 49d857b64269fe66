/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Objects that no root leads to. One look is not enough: what moves from a place that was not read yet to one that was
 * is missed. So they are looked for twice, and what is at the same address with the same contents both times counts.
 */
#ifndef KS_HEAP_UNREACHABLE_H
#define KS_HEAP_UNREACHABLE_H

#include "heap/sites.h"
#include "heap/snapshot.h"
#include "table/doc.h"

struct ks_candidate {
	u64 addr;
	u32 checksum;
	u32 object; /* its number in the snapshot that it is from */
};

struct ks_candidates_list {
	KS_VEC(struct ks_candidate) items; /* by address */
	u64 objects;			   /* of the snapshot */
	bool twice;			   /* seen in two snapshots */
};

/* All objects of a snapshot with a graph that no root leads to. */
int ks_unreachable_find(const struct ks_snapshot *snapshot, struct ks_candidates_list *ret_list,
			struct ks_diag *diag);

/* Keeps those of @list that were in @before, with the same contents. */
void ks_unreachable_confirm(struct ks_candidates_list *list,
			    const struct ks_candidates_list *before);

void ks_candidates_deinit(struct ks_candidates_list *list);

struct ks_unreachable_show {
	const struct ks_heap_sites *sites; /* NULL = nothing says which code allocated them */
	bool each;			   /* a row for each object, by address, not for groups */
	u64 top;
};

/*
 * A row for each group: type, size, what they point to, and who allocated them. @snapshot: the one of the list.
 * NULL: no memory.
 */
struct ks_doc *ks_doc_of_unreachable(const struct ks_snapshot *snapshot,
				     const struct ks_candidates_list *list,
				     const struct ks_unreachable_show *show);

#endif
