// SPDX-License-Identifier: LGPL-2.1-only
/* Adds up the types of single objects by type, cache, and how they are known. */
#include <errno.h>
#include <stdlib.h>

#include "heap/typing.h"

/* === Internals ============================================================================ */

static int by_bytes(const void *a, const void *b)
{
	const struct ks_typing_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->cache != y->cache)
		return x->cache < y->cache ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return (int)x->known_by - (int)y->known_by;
}

/* === Public =============================================================================== */

int ks_typing_add_up(struct ks_typing *typing, const struct ks_census *census,
		     const struct ks_slots *slots)
{
	const struct ks_pages *pages = census->pages;
	struct ks_typing_row *row;
	struct ks_map64 keys;
	size_t slab;
	u32 slot, type, number;
	u8 how;
	int err = ks_map64_init(&keys);

	for (slab = 0; !err && slab < pages->slabs.len; slab++) {
		u32 cache = pages->slabs.items[slab].cache;

		for (slot = slots->first[slab]; slot < slots->first[slab + 1]; slot++) {
			if (!ks_slot_used(slots, slot))
				continue;
			type = typing->cache_type[cache];
			how = type ? KS_KNOWN_CACHE : typing->known_by[slot];
			type = type ? type : typing->of[slot];
			number = ks_map64_add(&keys, (u64)cache << 40 | (u64)how << 32 | type);
			if (number == KS_NONE ||
			    (number == typing->rows.len && !ks_vec_push(&typing->rows))) {
				err = -ENOMEM;
				break;
			}
			row = &typing->rows.items[number];
			*row = (struct ks_typing_row){
				type, cache, how, row->objects + 1,
				row->bytes + census->caches->items.items[cache].size
			};
		}
	}
	ks_map64_deinit(&keys);
	if (!err && typing->rows.len)
		qsort(typing->rows.items, typing->rows.len, sizeof(*typing->rows.items), by_bytes);
	return err;
}
