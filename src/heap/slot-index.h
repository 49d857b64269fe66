/* SPDX-License-Identifier: LGPL-2.1-only */
/* From an address to the object that begins there, or that it lies in: a few loads. */
#ifndef KS_HEAP_SLOT_INDEX_H
#define KS_HEAP_SLOT_INDEX_H

#include "heap/objects.h"

/* What a lookup needs of a slab: half of a cache line. */
struct ks_slab_key {
	u64 addr; /* of its first object */
	u32 size, objects, first;
	u32 inverse; /* of the size: an index is (offset * inverse) >> 32, or one less than right */
	u32 base;    /* for ks_numbers: see there */
	u32 unused;
};

struct ks_slot_index {
	u64 page_offset, end; /* in pages */
	u32 **chunks;	      /* by 512 pages: number of the slab + 1; NULL = none there */
	struct ks_slab_key *slabs;
};

int ks_slot_index_new(const struct ks_kernel *kernel, const struct ks_census *census,
		      const struct ks_slots *slots, struct ks_slot_index **ret_index);

/*
 * Large kmalloc(), too: number i of it looks like a slab behind all slabs, with one slot behind all slots. All
 * memory of it lies in one object.
 */
int ks_slot_index_add_large(struct ks_slot_index *index, const struct ks_kernel *kernel,
			    const struct ks_census *census, const struct ks_slots *slots);
void ks_slot_index_free(struct ks_slot_index *index);

/* The slot that @addr lies in, and how far; KS_NONE where it is in no slab's object. */
static inline u32 ks_slot_inside(const struct ks_slot_index *index, u64 addr, u32 *ret_slab,
				 u32 *ret_offset)
{
	u64 pfn = (addr - index->page_offset) >> 12;
	const struct ks_slab_key *key;
	u32 *chunk, slab, number;
	u64 offset;

	if (pfn >= index->end)
		return KS_NONE;
	chunk = index->chunks[pfn >> 9];
	if (!chunk || !chunk[pfn & 511])
		return KS_NONE;
	slab = chunk[pfn & 511] - 1;
	key = &index->slabs[slab];
	offset = addr - key->addr;
	/* Before the first object the difference is huge. */
	if (offset >= (u64)key->size * key->objects)
		return KS_NONE;
	number = (u32)(offset * key->inverse >> 32);
	offset -= (u64)number * key->size;
	if (offset >= key->size) {
		offset -= key->size;
		number++;
	}
	*ret_slab = slab;
	*ret_offset = (u32)offset;
	return key->first + number;
}

/* The slot that begins at @addr. */
static inline u32 ks_slot_at(const struct ks_slot_index *index, u64 addr, u32 *ret_slab)
{
	u32 offset, slot = ks_slot_inside(index, addr, ret_slab, &offset);

	return slot != KS_NONE && !offset ? slot : KS_NONE;
}

#endif
