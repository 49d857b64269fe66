// SPDX-License-Identifier: LGPL-2.1-only
/* Numbers objects: slabs are in the order of addresses already, large kmalloc() goes in between. */
#include "heap/numbers.h"

#include <errno.h>
#include <stdlib.h>

/* === Internals ============================================================================ */

/* How many slots are used before each word of 64. */
static u32 *rank_slots(const struct ks_slots *slots)
{
	size_t words = slots->count / 64 + 1, i;
	u32 *rank = calloc(words + 1, sizeof(*rank));

	for (i = 0; rank && i < words; i++)
		rank[i + 1] = rank[i] + (u32)__builtin_popcountll(slots->used[i]);
	return rank;
}

static int number(struct ks_numbers *n, const struct ks_census *c)
{
	const struct ks_pages *pages = c->pages;
	size_t slabs = pages->slabs.len, large = 0, i;
	u64 next;

	for (i = 0; i < slabs; i++) {
		for (; large < pages->large.len &&
		       pages->large.items[large].pfn < pages->slabs.items[i].pfn;
		     large++) {
			next = (u64)n->rank[n->slots->first[i] / 64] + large;
			next += (u32)__builtin_popcountll(n->slots->used[n->slots->first[i] / 64] &
							  ((1ull << n->slots->first[i] % 64) - 1));
			n->base[slabs + large] = (u32)next;
		}
		n->base[i] = (u32)large;
	}
	next = n->rank[n->slots->count / 64 + 1];
	for (; large < pages->large.len; large++)
		n->base[slabs + large] = (u32)(next + large);
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
		n->base = calloc(c->pages->slabs.len + c->pages->large.len + 1, sizeof(*n->base));
		n->rank = rank_slots(slots);
		err = n->base && n->rank ? number(n, c) : -ENOMEM;
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
	free(n->base);
	free(n->rank);
	free(n);
}
