/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The objects themselves: every slab's memory, with what in it is in use. The walk uses several threads; what it
 * calls must write only to what belongs to the slab or to the thread.
 */
#ifndef KS_HEAP_OBJECTS_H
#define KS_HEAP_OBJECTS_H

#include "heap/census.h"

/* Numbers for all slots of all slabs: a slot is the slab's first number plus its index in the slab. */
struct ks_slots {
	u32 *first; /* by number of the slab, and one more for the end */
	u32 count;
	u64 *used; /* a bit for each slot: an object is there */
	u64 torn; /* slabs whose free list could not be followed: all that they count is taken for used */
};

struct ks_slab_view {
	u32 slab; /* its number */
	const struct ks_slab *info;
	const struct ks_cache *cache;
	u64 addr;	/* of its first object */
	const u8 *data; /* there */
	u32 first;	/* number of its first slot */
	unsigned int worker;
};

typedef void ks_slab_fn(void *arg, const struct ks_slab_view *view);

int ks_slots_read(struct ks_kernel *kernel, struct ks_census *census, struct ks_slots **ret_slots,
		  struct ks_diag *diag);
void ks_slots_free(struct ks_slots *slots);

static inline bool ks_slot_used(const struct ks_slots *slots, u32 slot)
{
	return slots->used[slot / 64] >> slot % 64 & 1;
}

/*
 * Calls @fn for each slab that @wanted (a bit for each slab; NULL = all) names and that could be read. How many threads
 * there are at most: KS_WORKERS_MAX.
 */
int ks_slabs_walk(struct ks_kernel *kernel, const struct ks_census *census,
		  const struct ks_slots *slots, const u64 *wanted, ks_slab_fn *fn, void *arg,
		  struct ks_diag *diag);

#endif
