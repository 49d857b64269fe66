/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/kmap: an order of the members of a struct that needs fewer cache lines, by what a map says of them. */
#ifndef KS_KMAP_REORDER_H
#define KS_KMAP_REORDER_H

#include "kmap/fields.h"

/* What members are: those that are seldom accessed, that are read, that are written. */
enum ks_kmap_heat { KS_KMAP_COLD, KS_KMAP_READ_MOSTLY, KS_KMAP_WRITTEN };

/* From this share of the accesses to a struct on, in percent, a member is hot. */
#define KS_KMAP_HOT_PERCENT 1

/* A member that is read this many times as often as it is written is read-mostly. */
#define KS_KMAP_READ_RATIO 10

struct ks_kmap_place {
	u32 member; /* number in the layout */
	u32 offset; /* proposed */
};

struct ks_kmap_order_of {
	KS_VEC(struct ks_kmap_place) places; /* by proposed offset */
	u8 *heat;			     /* enum ks_kmap_heat, by member */
	u64 *reads, *writes;		     /* by member */
	/* Now, and as proposed. Mixed: lines with members that are read and others that are written. */
	u64 size, holes, hot_lines, mixed_lines;
	u64 new_size, new_holes, new_hot_lines, new_mixed_lines;
};

/* The struct has a layout. 0 or -ENOMEM. */
int ks_kmap_reorder(const struct ks_kmap_struct *type, struct ks_kmap_order_of *ret_order);
void ks_kmap_order_deinit(struct ks_kmap_order_of *order);

/* The size class of kmalloc(); 0 = it is larger than all. */
u64 ks_kmap_size_class(u64 size);

#endif
