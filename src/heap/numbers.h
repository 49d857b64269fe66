/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Numbers for the objects of a snapshot: those in slabs and large kmalloc() together, in the order of their addresses.
 * What is free has none. From any address inside of an object it is a few loads to its number.
 */
#ifndef KS_HEAP_NUMBERS_H
#define KS_HEAP_NUMBERS_H

#include "heap/slot-index.h"

/* 64 slots: which of them are used, and how many are used before them. */
struct ks_rank {
	u64 used;
	u32 before;
	u32 unused;
};

struct ks_numbers {
	const struct ks_slots *slots;
	/*
	 * Large kmalloc() has the numbers of slabs behind all slabs. The base of a slab is how many of these are before
	 * it; that of large kmalloc() is its number.
	 */
	struct ks_slot_index *index;
	struct ks_rank *ranks;
	u32 count;
};

/* A word that may point to an object, and who has it where; then what it points to. */
struct ks_lookup {
	u64 word;
	u64 holder;
	u32 at;
	u32 to;		/* KS_NONE: to no object */
	u32 inside;	/* how far into it */
	u32 slab, slot; /* in between */
};

enum { KS_LOOKUPS = 32 }; /* at a time */

int ks_numbers_new(const struct ks_kernel *kernel, const struct ks_census *census,
		   const struct ks_slots *slots, struct ks_numbers **ret_numbers);
void ks_numbers_free(struct ks_numbers *numbers);

/*
 * Looks many words up at once, at most KS_LOOKUPS. Each takes three loads that depend on each other and that no cache has;
 * so those of all words are on their way at the same time.
 */
void ks_numbers_look_up(const struct ks_numbers *numbers, struct ks_lookup *lookups, u32 count);

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
	const struct ks_rank *rank = &n->ranks[slot / 64];

	return n->index->slabs[slab].base + rank->before +
	       ks_count_bits(rank->used & ((1ull << slot % 64) - 1));
}

/* The number of what is in a slot of a slab; KS_NONE: it is free. */
static inline u32 ks_number_in_slot(const struct ks_numbers *n, u32 slab, u32 slot)
{
	if (slot >= n->slots->count)
		return n->index->slabs[slab].base;
	return n->ranks[slot / 64].used >> slot % 64 & 1 ? ks_number_of_slot(n, slab, slot)
							 : KS_NONE;
}

/* The object that @addr lies in, and how far; KS_NONE where none is. */
static inline u32 ks_number_at(const struct ks_numbers *n, u64 addr, u32 *ret_inside)
{
	u32 slab, slot = ks_slot_inside(n->index, addr, &slab, ret_inside);

	return slot == KS_NONE ? KS_NONE : ks_number_in_slot(n, slab, slot);
}

#endif
