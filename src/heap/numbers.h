/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Numbers for the objects of a snapshot: those in slabs and large kmalloc() together, in the order of their addresses.
 * What is free has none. From any address inside of an object it is a few loads to its number.
 */
#ifndef KS_HEAP_NUMBERS_H
#define KS_HEAP_NUMBERS_H

#include "heap/slot-index.h"

struct ks_numbers {
	const struct ks_slots *slots;
	struct ks_slot_index *index; /* large kmalloc() has the numbers of slabs behind all slabs */
	u32 *base; /* by slab: large kmalloc() before it; of large kmalloc() itself the number */
	u32 *rank; /* by 64 slots: used ones before them */
	u32 count;
};

int ks_numbers_new(const struct ks_kernel *kernel, const struct ks_census *census,
		   const struct ks_slots *slots, struct ks_numbers **ret_numbers);
void ks_numbers_free(struct ks_numbers *numbers);

/* Bits that are set. Inline: where the machine's own instruction may not be used, the compiler calls a function. */
static inline u32 ks_count_bits(u64 word)
{
	word -= word >> 1 & 0x5555555555555555ull;
	word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (u32)(word * 0x0101010101010101ull >> 56);
}

/* The number of the object in a slot that is used. */
static inline u32 ks_number_of_slot(const struct ks_numbers *n, u32 slab, u32 slot)
{
	u64 before = n->slots->used[slot / 64] & ((1ull << slot % 64) - 1);

	return n->base[slab] + n->rank[slot / 64] + ks_count_bits(before);
}

/* The object that @addr lies in, and how far; KS_NONE where none is. */
static inline u32 ks_number_at(const struct ks_numbers *n, u64 addr, u32 *ret_inside)
{
	u32 slab, slot = ks_slot_inside(n->index, addr, &slab, ret_inside);

	if (slot == KS_NONE)
		return KS_NONE;
	if (slot >= n->slots->count)
		return n->base[slab];
	return ks_slot_used(n->slots, slot) ? ks_number_of_slot(n, slab, slot) : KS_NONE;
}

#endif
