// SPDX-License-Identifier: LGPL-2.1-only
/* A map from 64-bit keys to dense numbers. */
#include "base/map64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int grow_index(struct ks_map64 *map)
{
	size_t buckets = ((size_t)map->mask + 1) * 2, i;
	u32 *index;

	if (buckets > 1u << 31)
		return -ENOMEM;
	index = calloc(buckets, sizeof(*index));
	if (!index)
		return -ENOMEM;
	free(map->index);
	map->index = index;
	map->mask = (u32)buckets - 1;
	for (i = 0; i < map->keys.len; i++)
		*ks_map64_bucket(map, map->keys.items[i]) = (u32)i + 1;
	return 0;
}

int ks_map64_init(struct ks_map64 *map)
{
	memset(map, 0, sizeof(*map));
	map->seed = ks_hash_seed();
	map->mask = 63;
	map->index = calloc(map->mask + 1, sizeof(*map->index));
	return map->index ? 0 : -ENOMEM;
}

void ks_map64_deinit(struct ks_map64 *map)
{
	ks_vec_free(&map->keys);
	free(map->index);
	map->index = NULL;
}

u32 ks_map64_add(struct ks_map64 *map, u64 key)
{
	u32 *bucket = ks_map64_bucket(map, key);
	u64 *slot;

	if (*bucket)
		return *bucket - 1;
	if ((map->keys.len + 1) * 2 > map->mask) {
		if (grow_index(map))
			return KS_NONE;
		bucket = ks_map64_bucket(map, key);
	}
	slot = ks_vec_push(&map->keys);
	if (!slot)
		return KS_NONE;
	*slot = key;
	*bucket = (u32)map->keys.len;
	return *bucket - 1;
}

void ks_map64_clear(struct ks_map64 *map)
{
	memset(map->index, 0, ((size_t)map->mask + 1) * sizeof(*map->index));
	map->keys.len = 0;
}
