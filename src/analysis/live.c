// SPDX-License-Identifier: LGPL-2.1-only
/* The live-object table. */
#include "analysis/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum {
	MIN_BUCKETS = 1024,
	MIN_SLOT_BITS = 12,
	MAX_SLOT_BITS = 31,
};

/*
 * How many buckets there are to an object when the index is made, and how many of ten may be filled before
 * it is made anew. The emptier, the fewer wrong guesses of the processor; large tables keep to the memory
 * promise of the README.
 */
static const struct room {
	u32 up_to; /* objects */
	u8 per_object, tenths;
} rooms[] = { { 256 << 10, 8, 3 }, { 2 << 20, 4, 5 }, { UINT32_MAX, 2, 7 } };

/* === Internals ============================================================================ */

static const struct room *room_for(u32 objects)
{
	const struct room *room = rooms;

	while (objects >= room->up_to && room < &rooms[ARRAY_SIZE(rooms) - 1])
		room++;
	return room;
}

/* Puts a slot into the first free bucket. The address is known not to be there. */
static void place(struct ks_live *live, u32 slot, u64 ptr)
{
	u64 hash = ks_live_hash(live, ptr);
	u32 at = ks_live_home(live, hash);

	while (live->index[at] != KS_LIVE_EMPTY)
		at = ks_live_next(live, at);
	live->filled++;
	live->index[at] = ks_live_word(live, slot, hash);
}

/* === Public =============================================================================== */

/*
 * A new index with room for more, made from the objects themselves: the old one is freed first, so
 * that there are never two of them.
 */
int ks_live_rebuild(struct ks_live *live)
{
	const struct room *room = room_for(live->count);
	u64 want = (u64)live->count * room->per_object + MIN_BUCKETS;
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
	index = calloc((size_t)want, sizeof(*index));
	if (!index) {
		live->index = NULL;
		live->buckets = 0;
		return -ENOMEM;
	}
	live->index = index;
	live->buckets = (u32)want;
	live->tombstone = (1u << slot_bits) - 1;
	live->filled = 0;
	live->max_filled = (u32)(want * room->tenths / 10);
	for (i = 0; i < live->objs.len; i++)
		if (live->objs.items[i].kind != KS_OBJ_DEAD)
			place(live, (u32)i, live->objs.items[i].ptr);
	return 0;
}

int ks_live_init(struct ks_live *live)
{
	memset(live, 0, sizeof(*live));
	live->first_dead = KS_NONE;
	live->seed = ks_hash_seed();
	return ks_live_rebuild(live);
}

void ks_live_deinit(struct ks_live *live)
{
	free(live->index);
	live->index = NULL;
	ks_vec_free(&live->objs);
}
