/* SPDX-License-Identifier: LGPL-2.1-only */
/* A map from 64-bit keys to dense numbers, handed out in order of first appearance. */
#ifndef KS_BASE_MAP64_H
#define KS_BASE_MAP64_H

#include "base/hash.h"
#include "base/vec.h"

struct ks_map64 {
	KS_VEC(u64) keys; /* by number */
	u32 *index;	  /* number + 1 per bucket, 0 = empty */
	u32 mask;
	u64 seed;
};

int ks_map64_init(struct ks_map64 *map);
void ks_map64_deinit(struct ks_map64 *map);

/* The key's number, new or old; KS_NONE when there is no memory. */
u32 ks_map64_add(struct ks_map64 *map, u64 key);

/* Where the key is or would be. Inline, as readers ask once an event. */
static inline u32 *ks_map64_bucket(const struct ks_map64 *map, u64 key)
{
	u32 at = (u32)ks_hash_u64(key, map->seed) & map->mask;

	while (map->index[at] && map->keys.items[map->index[at] - 1] != key)
		at = (at + 1) & map->mask;
	return &map->index[at];
}

/* The number of a known key, or KS_NONE. */
static inline u32 ks_map64_find(const struct ks_map64 *map, u64 key)
{
	return *ks_map64_bucket(map, key) - 1; /* 0 - 1 is KS_NONE */
}

/* Forgets all keys and keeps the memory. */
void ks_map64_clear(struct ks_map64 *map);

#endif
