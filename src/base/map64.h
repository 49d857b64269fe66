/* SPDX-License-Identifier: LGPL-2.1-only */
/* A map from 64-bit keys to dense numbers, handed out in order of first appearance. */
#ifndef KS_BASE_MAP64_H
#define KS_BASE_MAP64_H

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

/* The number of a known key, or KS_NONE. */
u32 ks_map64_find(const struct ks_map64 *map, u64 key);

/* Forgets all keys and keeps the memory. */
void ks_map64_clear(struct ks_map64 *map);

#endif
