/* SPDX-License-Identifier: LGPL-2.1-only */
/* A map from a 64-bit key to a 32-bit value, for lookups that happen once an event. */
#ifndef KS_BASE_U64MAP_H
#define KS_BASE_U64MAP_H

#include "base/hash.h"
#include "base/types.h"

struct ks_u64map_slot {
	u64 key;
	u32 value;
	u32 used;
};

struct ks_u64map {
	struct ks_u64map_slot *slots;
	u32 mask; /* slots - 1; a power of two */
	u32 len;
	u64 seed;
};

/* Fails only for lack of memory. deinit accepts a zeroed struct. */
int ks_u64map_init(struct ks_u64map *map);
void ks_u64map_deinit(struct ks_u64map *map);

/* Sets or replaces; 0 or -ENOMEM. */
int ks_u64map_set(struct ks_u64map *map, u64 key, u32 value);

/* The value, or NULL; it stays in place until the next set. */
static inline u32 *ks_u64map_find(const struct ks_u64map *map, u64 key)
{
	u32 at = (u32)(ks_hash_u64(key, map->seed) >> 32) & map->mask;

	for (; map->slots[at].used; at = (at + 1) & map->mask)
		if (map->slots[at].key == key)
			return &map->slots[at].value;
	return NULL;
}

#endif
