// SPDX-License-Identifier: LGPL-2.1-only
/* Builds the index from addresses to objects: a table of two levels by page, and a key for each slab. */
#include "heap/slot-index.h"

#include <errno.h>
#include <stdlib.h>

/* === Internals ============================================================================ */

static int add_pages(struct ks_slot_index *index, u64 first, u32 pages, u32 number)
{
	u64 pfn;

	for (pfn = first; pfn < first + pages && pfn < index->end; pfn++) {
		u32 **chunk = &index->chunks[pfn >> 9];

		if (!*chunk)
			*chunk = calloc(512, sizeof(**chunk));
		if (!*chunk)
			return -ENOMEM;
		(*chunk)[pfn & 511] = number + 1;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_slot_index_new(const struct ks_kernel *k, const struct ks_census *c,
		      const struct ks_slots *slots, struct ks_slot_index **ret_index)
{
	struct ks_slot_index *index = calloc(1, sizeof(*index));
	size_t count = c->pages->slabs.len, i;
	int err = 0;

	if (!index)
		return -ENOMEM;
	index->page_offset = k->page_offset;
	index->end = ks_kernel_end(k);
	index->chunks = calloc((size_t)(index->end >> 9) + 1, sizeof(*index->chunks));
	index->slabs = calloc(count + 1, sizeof(*index->slabs));
	if (!index->chunks || !index->slabs)
		err = -ENOMEM;
	for (i = 0; !err && i < count; i++) {
		const struct ks_slab *slab = &c->pages->slabs.items[i];
		const struct ks_cache *cache = &c->caches->items.items[slab->cache];

		if (!slab->objects || !cache->valid)
			continue;
		index->slabs[i] = (struct ks_slab_key){
			.addr = ks_kernel_addr(k, slab->pfn) + cache->pad,
			.size = cache->size,
			.objects = slab->objects,
			.first = slots->first[i],
			.inverse = (u32)((1ull << 32) / cache->size),
		};
		err = add_pages(index, slab->pfn, slab->pages, (u32)i);
	}
	if (err) {
		ks_slot_index_free(index);
		return err;
	}
	*ret_index = index;
	return 0;
}

int ks_slot_index_add_large(struct ks_slot_index *index, const struct ks_kernel *k,
			    const struct ks_census *c, const struct ks_slots *slots)
{
	size_t slabs = c->pages->slabs.len, count = c->pages->large.len, i;
	struct ks_slab_key *keys = realloc(index->slabs, (slabs + count + 1) * sizeof(*keys));
	int err = 0;

	if (!keys)
		return -ENOMEM;
	index->slabs = keys;
	if ((u64)slots->count + count >= KS_NONE)
		return -EOVERFLOW;
	for (i = 0; !err && i < count; i++) {
		const struct ks_large *large = &c->pages->large.items[i];
		u32 size = (u32)ks_min(large->pages * 4096ull, (u64)UINT32_MAX);

		keys[slabs + i] = (struct ks_slab_key){
			.addr = ks_kernel_addr(k, large->pfn),
			.size = size,
			.objects = 1,
			.first = slots->count + (u32)i,
			.inverse = (u32)((1ull << 32) / size),
		};
		err = add_pages(index, large->pfn, large->pages, (u32)(slabs + i));
	}
	return err;
}

void ks_slot_index_free(struct ks_slot_index *index)
{
	u64 i;

	if (!index)
		return;
	for (i = 0; index->chunks && i <= index->end >> 9; i++)
		free(index->chunks[i]);
	free(index->chunks);
	free(index->slabs);
	free(index);
}
