// SPDX-License-Identifier: LGPL-2.1-only
/* An open-addressing map from u64 to u32, at most half full. */
#include "base/u64map.h"

#include <errno.h>
#include <stdlib.h>

/* === Internals ============================================================================ */

static struct ks_u64map_slot *find_slot(const struct ks_u64map *map, u64 key)
{
	u32 at = (u32)(ks_hash_u64(key, map->seed) >> 32) & map->mask;

	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & map->mask;
	return &map->slots[at];
}

static int grow(struct ks_u64map *map)
{
	struct ks_u64map_slot *old = map->slots;
	size_t old_len = (size_t)map->mask + 1, i;

	if (old_len > UINT32_MAX / 4)
		return -ENOMEM;
	map->slots = calloc(old_len * 2, sizeof(*map->slots));
	if (!map->slots) {
		map->slots = old;
		return -ENOMEM;
	}
	map->mask = (u32)(old_len * 2 - 1);
	for (i = 0; i < old_len; i++)
		if (old[i].used)
			*find_slot(map, old[i].key) = old[i];
	free(old);
	return 0;
}

/* === Public =============================================================================== */

int ks_u64map_init(struct ks_u64map *map)
{
	*map = (struct ks_u64map){ .mask = 63, .seed = ks_hash_seed() };
	map->slots = calloc(map->mask + 1, sizeof(*map->slots));
	return map->slots ? 0 : -ENOMEM;
}

void ks_u64map_deinit(struct ks_u64map *map)
{
	free(map->slots);
	*map = (struct ks_u64map){ 0 };
}

int ks_u64map_set(struct ks_u64map *map, u64 key, u32 value)
{
	struct ks_u64map_slot *slot = find_slot(map, key);

	if (!slot->used) {
		if ((map->len + 1) * 2 > map->mask) {
			if (grow(map))
				return -ENOMEM;
			slot = find_slot(map, key);
		}
		*slot = (struct ks_u64map_slot){ .key = key, .used = 1 };
		map->len++;
	}
	slot->value = value;
	return 0;
}
