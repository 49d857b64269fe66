/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The live-object table: which objects exist, found by address. Objects sit in numbered slots that
 * are used again; the number of slots is the most objects that ever lived at once. An object costs
 * 28 bytes and its share of the index, 6 to 8 where there are millions.
 */
#ifndef KS_ANALYSIS_LIVE_H
#define KS_ANALYSIS_LIVE_H

#include "base/vec.h"

enum { KS_OBJ_DEAD = 0xf, KS_OBJ_CPU_MAX = 0x7ff };

struct ks_obj {
	u64 ptr;
	u32 site; /* of the allocation; in a dead slot, the next dead slot */
	u32 bytes_req, bytes_alloc;
	u32 ts_low; /* since the first event: 48 bits of ns are 78 hours */
	u16 ts_high;
	u16 cpu : 11;	 /* KS_OBJ_CPU_MAX stands for itself, all above, and unknown */
	u16 counted : 1; /* it passed the filter */
	u16 kind : 4;	 /* of the allocation, or KS_OBJ_DEAD */
} __attribute__((packed, aligned(4)));

_Static_assert(sizeof(struct ks_obj) == 28, "the memory promise of the README");

static inline u64 ks_obj_ts(const struct ks_obj *obj)
{
	return (u64)obj->ts_high << 32 | obj->ts_low;
}

static inline void ks_obj_set_ts(struct ks_obj *obj, u64 ts)
{
	if (ts >> 48)
		ts = (1ull << 48) - 1;
	obj->ts_low = (u32)ts;
	obj->ts_high = (u16)(ts >> 32);
}

struct ks_live {
	KS_VEC(struct ks_obj) objs; /* by slot */
	u32 first_dead;		    /* list of dead slots, through their site field */
	u32 count;		    /* live objects */
	/*
	 * Open addressing. A bucket holds slot + 1 in its low bits and, in what is left above, bits
	 * of the hash, so that nearly all misses are seen without a look at the object.
	 */
	u32 *index;
	u32 buckets;
	u32 filled; /* buckets that are not empty: objects and tombstones */
	u32 slot_bits;
	u64 seed;
};

int ks_live_init(struct ks_live *live);
void ks_live_deinit(struct ks_live *live);

/* The slot of the object at @ptr, or KS_NONE; *ret_bucket is where the index has it. */
u32 ks_live_find(const struct ks_live *live, u64 ptr, u32 *ret_bucket);

/*
 * The slot for a new object at @ptr. *ret_reused says that the slot still holds an object that was
 * thought alive; else the caller fills all but ptr. After -ENOMEM the table can only be freed.
 */
int ks_live_insert(struct ks_live *live, u64 ptr, u32 *ret_slot, bool *ret_reused);

/* Ends the object in the slot. @bucket is from ks_live_find(), with no insertion since. */
void ks_live_remove(struct ks_live *live, u32 slot, u32 bucket);

/* Brings the bucket of an address into the cache ahead of its use. */
void ks_live_prefetch(const struct ks_live *live, u64 ptr);

#endif
