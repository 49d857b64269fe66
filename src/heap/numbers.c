// SPDX-License-Identifier: LGPL-2.1-only
/* Numbers objects: slabs are in the order of addresses already, large kmalloc() goes in between. */
#include "heap/numbers.h"

#include <errno.h>
#include <stdlib.h>

/* === Internals ============================================================================ */

/* How many slots are used before each word of 64. */
static struct ks_rank *rank_slots(const struct ks_slots *slots)
{
	size_t words = slots->count / 64 + 1, i;
	struct ks_rank *ranks = calloc(words + 1, sizeof(*ranks));

	for (i = 0; ranks && i < words; i++) {
		ranks[i].used = slots->used[i];
		ranks[i + 1].before = ranks[i].before + ks_count_bits(slots->used[i]);
	}
	return ranks;
}

static int number(struct ks_numbers *n, const struct ks_census *c)
{
	const struct ks_pages *pages = c->pages;
	struct ks_slab_key *keys = n->index->slabs;
	size_t slabs = pages->slabs.len, large = 0, i;
	u64 next;

	for (i = 0; i < slabs; i++) {
		for (; large < pages->large.len &&
		       pages->large.items[large].pfn < pages->slabs.items[i].pfn;
		     large++) {
			const struct ks_rank *rank = &n->ranks[n->slots->first[i] / 64];

			next = (u64)rank->before + large;
			next += ks_count_bits(rank->used & ((1ull << n->slots->first[i] % 64) - 1));
			keys[slabs + large].base = (u32)next;
		}
		keys[i].base = (u32)large;
	}
	next = n->ranks[n->slots->count / 64 + 1].before;
	for (; large < pages->large.len; large++)
		keys[slabs + large].base = (u32)(next + large);
	if (next + pages->large.len >= KS_NONE)
		return -EOVERFLOW;
	n->count = (u32)(next + pages->large.len);
	return 0;
}

/* === Public =============================================================================== */

int ks_numbers_new(const struct ks_kernel *k, const struct ks_census *c,
		   const struct ks_slots *slots, struct ks_numbers **ret_numbers)
{
	struct ks_numbers *n = calloc(1, sizeof(*n));
	int err = n ? 0 : -ENOMEM;

	if (!err)
		err = ks_slot_index_new(k, c, slots, &n->index);
	if (!err)
		err = ks_slot_index_add_large(n->index, k, c, slots);
	if (!err) {
		n->slots = slots;
		n->ranks = rank_slots(slots);
		err = n->ranks ? number(n, c) : -ENOMEM;
	}
	if (err) {
		ks_numbers_free(n);
		return err;
	}
	*ret_numbers = n;
	return 0;
}

void ks_numbers_free(struct ks_numbers *n)
{
	if (!n)
		return;
	ks_slot_index_free(n->index);
	free(n->ranks);
	free(n);
}

void ks_numbers_look_up(const struct ks_numbers *n, struct ks_lookup *lookups, u32 count)
{
	const struct ks_slot_index *index = n->index;
	struct ks_lookup *l, *end = lookups + count;
	u32 *chunk;
	u64 pfn;

	for (l = lookups; l < end; l++) {
		pfn = (l->word - index->page_offset) >> 12;
		chunk = pfn < index->end ? index->chunks[pfn >> 9] : NULL;
		if (chunk)
			__builtin_prefetch(&chunk[pfn & 511]);
	}
	for (l = lookups; l < end; l++) {
		pfn = (l->word - index->page_offset) >> 12;
		chunk = pfn < index->end ? index->chunks[pfn >> 9] : NULL;
		if (chunk && chunk[pfn & 511])
			__builtin_prefetch(&index->slabs[chunk[pfn & 511] - 1]);
	}
	for (l = lookups; l < end; l++) {
		l->slot = ks_slot_inside(index, l->word, &l->slab, &l->inside);
		if (l->slot < n->slots->count)
			__builtin_prefetch(&n->ranks[l->slot / 64]);
	}
	for (l = lookups; l < end; l++)
		l->to = l->slot == KS_NONE ? KS_NONE : ks_number_in_slot(n, l->slab, l->slot);
}
