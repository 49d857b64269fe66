// SPDX-License-Identifier: LGPL-2.1-only
/* The live-object table. */
#include "analysis/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* === Data ================================================================================= */

enum {
	EMPTY = 0,
	MIN_BUCKETS = 1024,
	AIRY_UP_TO = 2 << 20,
	MIN_SLOT_BITS = 12,
	MAX_SLOT_BITS = 31,
};

/* A bucket whose object was removed: probing goes on, inserting may take it. All slot bits set. */
static inline u32 tombstone(const struct ks_live *live)
{
	return (1u << live->slot_bits) - 1;
}

/* === Internals ============================================================================ */

static inline u32 home_of(const struct ks_live *live, u64 hash)
{
	return ks_hash_range(hash, live->buckets);
}

static inline u32 next_bucket(const struct ks_live *live, u32 at)
{
	return ++at == live->buckets ? 0 : at;
}

/* The bits of a bucket's word above the slot, from the half of the hash that home_of() leaves. */
static inline u32 tag_of(const struct ks_live *live, u64 hash)
{
	return (u32)hash & ~tombstone(live);
}

static inline u32 slot_in(const struct ks_live *live, u32 word)
{
	return (word & tombstone(live)) - 1;
}

/* Puts a slot into the first free bucket. The address is known not to be there. */
static void place(struct ks_live *live, u32 slot, u64 ptr)
{
	u64 hash = ks_hash_u64(ptr, live->seed);
	u32 at = home_of(live, hash);

	while (live->index[at] != EMPTY && live->index[at] != tombstone(live))
		at = next_bucket(live, at);
	if (live->index[at] == EMPTY)
		live->filled++;
	live->index[at] = tag_of(live, hash) | (slot + 1);
}

/*
 * A new index with room for more, made from the objects themselves: the old one is freed first, so
 * that there are never two of them.
 */
static int rebuild(struct ks_live *live)
{
	/* Grown again at load 0.7. Small tables may be airy; large ones keep to the memory promise. */
	u64 want = (u64)live->count * (live->count < AIRY_UP_TO ? 3 : 2) + MIN_BUCKETS;
	u32 old_buckets = live->buckets, slot_bits = MIN_SLOT_BITS;
	u64 max_slots = (u64)live->objs.len + want;
	u32 *index;
	size_t i;

	if (want < old_buckets && live->count > old_buckets / 3)
		want = old_buckets; /* tombstones only: sweep them out at the same size */
	while (slot_bits < MAX_SLOT_BITS && (1ull << slot_bits) < max_slots + 2)
		slot_bits++;
	if (want > 1u << 31 || max_slots + 2 > 1ull << slot_bits)
		return -ENOMEM;
	free(live->index);
	index = calloc(want, sizeof(*index));
	if (!index) {
		live->index = NULL;
		live->buckets = 0;
		return -ENOMEM;
	}
	live->index = index;
	live->buckets = (u32)want;
	live->slot_bits = slot_bits;
	live->filled = 0;
	for (i = 0; i < live->objs.len; i++)
		if (live->objs.items[i].kind != KS_OBJ_DEAD)
			place(live, (u32)i, live->objs.items[i].ptr);
	return 0;
}

/* The bucket of the object at @ptr, or KS_NONE. */
static u32 find_bucket(const struct ks_live *live, u64 ptr)
{
	u64 hash = ks_hash_u64(ptr, live->seed);
	u32 at = home_of(live, hash), tag = tag_of(live, hash), low = tombstone(live);

	for (;; at = next_bucket(live, at)) {
		u32 word = live->index[at];

		if (word == EMPTY)
			return KS_NONE;
		if ((word & ~low) == tag && word != low &&
		    live->objs.items[slot_in(live, word)].ptr == ptr)
			return at;
	}
}

/* === Public =============================================================================== */

int ks_live_init(struct ks_live *live)
{
	memset(live, 0, sizeof(*live));
	live->first_dead = KS_NONE;
	live->seed = ks_hash_seed();
	return rebuild(live);
}

void ks_live_deinit(struct ks_live *live)
{
	free(live->index);
	live->index = NULL;
	ks_vec_free(&live->objs);
}

u32 ks_live_find(const struct ks_live *live, u64 ptr, u32 *ret_bucket)
{
	u32 at = find_bucket(live, ptr);

	if (at == KS_NONE)
		return KS_NONE;
	*ret_bucket = at;
	return slot_in(live, live->index[at]);
}

int ks_live_insert(struct ks_live *live, u64 ptr, u32 *ret_slot, bool *ret_reused)
{
	u32 at, slot = ks_live_find(live, ptr, &at);
	struct ks_obj *obj;

	if (slot != KS_NONE) {
		*ret_slot = slot;
		*ret_reused = true;
		return 0;
	}
	if ((u64)live->filled * 10 > (u64)live->buckets * 7) {
		int err = rebuild(live);

		if (err)
			return err;
	}
	if (live->first_dead != KS_NONE) {
		slot = live->first_dead;
		obj = &live->objs.items[slot];
		live->first_dead = obj->site;
	} else {
		obj = ks_vec_push(&live->objs);
		if (!obj)
			return -ENOMEM;
		slot = (u32)live->objs.len - 1;
	}
	obj->ptr = ptr;
	obj->kind = 0; /* alive, for a rebuild before the caller has filled it */
	place(live, slot, ptr);
	live->count++;
	*ret_slot = slot;
	*ret_reused = false;
	return 0;
}

void ks_live_remove(struct ks_live *live, u32 slot, u32 bucket)
{
	struct ks_obj *obj = &live->objs.items[slot];
	u32 at = bucket;

	/* In front of an empty bucket nobody probes on: no tombstone is needed, nor those before. */
	if (live->index[next_bucket(live, at)] == EMPTY) {
		do {
			live->index[at] = EMPTY;
			live->filled--;
			at = at ? at - 1 : live->buckets - 1;
		} while (live->index[at] == tombstone(live));
	} else {
		live->index[at] = tombstone(live);
	}
	obj->kind = KS_OBJ_DEAD;
	obj->site = live->first_dead;
	live->first_dead = slot;
	live->count--;
}

void ks_live_prefetch(const struct ks_live *live, u64 ptr)
{
	__builtin_prefetch(&live->index[home_of(live, ks_hash_u64(ptr, live->seed))]);
}
