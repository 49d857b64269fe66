/* SPDX-License-Identifier: LGPL-2.1-only */
/* The objects of a snapshot added up by type, cache, and how the type is known. */
#ifndef KS_HEAP_TYPE_SUMS_H
#define KS_HEAP_TYPE_SUMS_H

#include "heap/snapshot.h"

struct ks_type_sum {
	u64 objects, bytes;
	u32 type;
	u32 example; /* the first of the objects */
	u16 cache;
	u8 known_by;
};

struct ks_type_sums {
	KS_VEC(struct ks_type_sum) items; /* the most bytes first */
};

/* 0 or -ENOMEM; deinit accepts what either left. */
int ks_type_sums_init(struct ks_type_sums *sums, const struct ks_snapshot *snapshot);
void ks_type_sums_deinit(struct ks_type_sums *sums);

#endif
