/* SPDX-License-Identifier: LGPL-2.1-only */
/* Memory that is only ever freed as a whole: strings and small records of long-lived tables. */
#ifndef KS_BASE_ARENA_H
#define KS_BASE_ARENA_H

#include "base/types.h"

struct ks_arena_block;

struct ks_arena {
	struct ks_arena_block *head;
	size_t used; /* bytes used in head */
};

void ks_arena_init(struct ks_arena *arena);
void ks_arena_deinit(struct ks_arena *arena);

/* Zeroed, aligned to 8. NULL when there is no memory. */
void *ks_arena_alloc(struct ks_arena *arena, size_t size);

/* A copy of the bytes with a NUL behind it. */
char *ks_arena_strndup(struct ks_arena *arena, const char *s, size_t len);

#endif
