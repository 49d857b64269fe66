// SPDX-License-Identifier: LGPL-2.1-only
/* Adds objects up by type, cache, and how the type is known. */
#include "heap/type-sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map64.h"

static int by_bytes(const void *a, const void *b)
{
	const struct ks_type_sum *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->example < y->example ? -1 : x->example > y->example;
}

int ks_type_sums_init(struct ks_type_sums *sums, const struct ks_snapshot *s)
{
	u64 key, last = UINT64_MAX;
	struct ks_map64 keys;
	struct ks_type_sum *sum;
	u32 i, number = KS_NONE;
	int err = ks_map64_init(&keys);

	*sums = (struct ks_type_sums){ 0 };
	for (i = 0; i < s->count && !err; i++) {
		key = (u64)s->cache[i] << 40 | (u64)s->known_by[i] << 32 | s->type[i];
		/* Neighbours are mostly of one kind. */
		if (key != last)
			number = ks_map64_add(&keys, key);
		last = key;
		if (number == KS_NONE ||
		    (number == sums->items.len && !ks_vec_push(&sums->items))) {
			err = -ENOMEM;
			break;
		}
		sum = &sums->items.items[number];
		if (!sum->objects++) {
			sum->type = s->type[i];
			sum->cache = s->cache[i];
			sum->known_by = s->known_by[i];
			sum->example = i;
		}
		sum->bytes += s->caches.items[s->cache[i]].size;
	}
	ks_map64_deinit(&keys);
	if (!err && sums->items.len)
		qsort(sums->items.items, sums->items.len, sizeof(*sums->items.items), by_bytes);
	return err;
}

void ks_type_sums_deinit(struct ks_type_sums *sums)
{
	ks_vec_free(&sums->items);
}
