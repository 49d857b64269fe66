// SPDX-License-Identifier: LGPL-2.1-only
/* Arena: a list of blocks, filled from the front, freed together. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct ks_arena_block {
	struct ks_arena_block *next;
	size_t size;
	u64 data[];
};

enum { BLOCK_SIZE = 32 * 1024 };

void ks_arena_init(struct ks_arena *arena)
{
	arena->head = NULL;
	arena->used = 0;
}

void ks_arena_deinit(struct ks_arena *arena)
{
	while (arena->head) {
		struct ks_arena_block *next = arena->head->next;

		free(arena->head);
		arena->head = next;
	}
	arena->used = 0;
}

void *ks_arena_alloc(struct ks_arena *arena, size_t size)
{
	size_t room = arena->head ? arena->head->size - arena->used : 0;
	void *p;

	if (size > SIZE_MAX - 64)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	if (size > room) {
		size_t block_size = ks_max(size, (size_t)BLOCK_SIZE);
		struct ks_arena_block *block = malloc(sizeof(*block) + block_size);

		if (!block)
			return NULL;
		block->size = block_size;
		block->next = arena->head;
		arena->head = block;
		arena->used = 0;
	}
	p = (char *)arena->head->data + arena->used;
	arena->used += size;
	return memset(p, 0, size);
}

char *ks_arena_strndup(struct ks_arena *arena, const char *s, size_t len)
{
	char *copy = ks_arena_alloc(arena, len + 1);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}
