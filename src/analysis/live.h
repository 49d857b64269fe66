/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The live-object table: which objects exist, found by address. Objects sit in numbered slots that
 * are used again; the number of slots is the most objects that ever lived at once. An object costs
 * 24 bytes and its share of the index, 6 to 8 where there are millions. When it was born, and by whom,
 * is kept by the views that want to know.
 */
#ifndef KS_ANALYSIS_LIVE_H
#define KS_ANALYSIS_LIVE_H

#include "base/hash.h"
#include "base/vec.h"

enum { KS_OBJ_DEAD = 0xf };

struct ks_obj {
	u64 ptr;
	u32 site; /* of the allocation; in a dead slot, the next dead slot */
	u32 bytes_req, bytes_alloc;
	u8 kind;      /* of the allocation, or KS_OBJ_DEAD */
	bool counted; /* it passed the filter */
};

_Static_assert(sizeof(struct ks_obj) == 24, "the memory promise of the README");

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
	u32 filled;	/* buckets that are not empty: objects and tombstones */
	u32 max_filled; /* the index is made anew before there are more */
	u32 tombstone;	/* a bucket whose object was removed: all slot bits set */
	u64 seed;
};

int ks_live_init(struct ks_live *live);
void ks_live_deinit(struct ks_live *live);

/* Makes room in the index. After -ENOMEM the table can only be freed. */
int ks_live_rebuild(struct ks_live *live);

/*
 * The rest is inline, as it runs once an event. All take the address's hash, so that it is worked out
 * once, ahead of use.
 */
static inline u64 ks_live_hash(const struct ks_live *live, u64 ptr)
{
	return ks_hash_u64(ptr, live->seed);
}

enum { KS_LIVE_EMPTY = 0 };

static inline u32 ks_live_home(const struct ks_live *live, u64 hash)
{
	return ks_hash_range(hash, live->buckets);
}

static inline u32 ks_live_next(const struct ks_live *live, u32 bucket)
{
	return ++bucket == live->buckets ? 0 : bucket;
}

/* Brings the bucket of an address into the cache; */
static inline const u32 *ks_live_prefetch(const struct ks_live *live, u64 hash)
{
	const u32 *home = &live->index[ks_live_home(live, hash)];

	__builtin_prefetch(home);
	return home;
}

/* and later the object that it likely names. As a number: an empty bucket names none. */
static inline void ks_live_prefetch_obj(const struct ks_live *live, const u32 *home)
{
	u32 word = *home & live->tombstone;
	uintptr_t end = (uintptr_t)live->objs.items + word * sizeof(struct ks_obj);

	__builtin_prefetch((const void *)(end - sizeof(struct ks_obj)), 1);
	__builtin_prefetch((const void *)(end - 1), 1);
}

/* The word of a bucket. The bits above the slot are those of the hash that choose no bucket. */
static inline u32 ks_live_word(const struct ks_live *live, u32 slot, u64 hash)
{
	return ((u32)hash & ~live->tombstone) | (slot + 1);
}

/*
 * The slot of the object at @ptr, found in *ret_bucket, or KS_NONE: then *ret_bucket is where a new object
 * at @ptr belongs.
 */
ks_inline u32 ks_live_find(const struct ks_live *live, u64 ptr, u64 hash, u32 *ret_bucket)
{
	u32 at = ks_live_home(live, hash), low = live->tombstone, grave = KS_NONE, word;

	for (; (word = live->index[at]) != KS_LIVE_EMPTY; at = ks_live_next(live, at)) {
		u32 slot = (word & low) - 1;

		if (unlikely(word == low)) {
			grave = ks_min(grave, at); /* any will do that is on the way */
		} else if (((word ^ (u32)hash) & ~low) == 0 &&
			   likely(live->objs.items[slot].ptr == ptr)) {
			*ret_bucket = at;
			return slot;
		}
	}
	*ret_bucket = likely(grave == KS_NONE) ? at : grave;
	return KS_NONE;
}

/*
 * A slot for a new object at @ptr, where there is none; the caller fills all but ptr. @bucket is from
 * ks_live_find(), with no change since. KS_NONE when there is no memory.
 */
ks_inline u32 ks_live_insert(struct ks_live *live, u64 ptr, u64 hash, u32 bucket)
{
	u32 slot = live->first_dead;
	struct ks_obj *obj;

	if (unlikely(live->filled >= live->max_filled)) {
		if (ks_live_rebuild(live))
			return KS_NONE;
		ks_live_find(live, ptr, hash, &bucket);
	}
	live->filled += live->index[bucket] == KS_LIVE_EMPTY;
	if (likely(slot != KS_NONE)) {
		obj = &live->objs.items[slot];
		live->first_dead = obj->site;
	} else {
		obj = ks_vec_push(&live->objs);
		if (!obj)
			return KS_NONE;
		slot = (u32)live->objs.len - 1;
	}
	live->index[bucket] = ks_live_word(live, slot, hash);
	live->count++;
	obj->ptr = ptr;
	obj->kind = 0; /* alive */
	return slot;
}

/* Ends the object in the slot. @bucket is from ks_live_find(), with no insertion since. */
ks_inline void ks_live_remove(struct ks_live *live, u32 slot, u32 bucket)
{
	struct ks_obj *obj = &live->objs.items[slot];

	/* In front of an empty bucket nobody probes on: no tombstone is needed, nor those before. */
	if (live->index[ks_live_next(live, bucket)] == KS_LIVE_EMPTY) {
		do {
			live->index[bucket] = KS_LIVE_EMPTY;
			live->filled--;
			bucket = bucket ? bucket - 1 : live->buckets - 1;
		} while (live->index[bucket] == live->tombstone);
	} else {
		live->index[bucket] = live->tombstone;
	}
	obj->kind = KS_OBJ_DEAD;
	obj->site = live->first_dead;
	live->first_dead = slot;
	live->count--;
}

#endif
