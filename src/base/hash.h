/* SPDX-License-Identifier: LGPL-2.1-only */
/* Hash functions for tables in memory. Not for files: their checksums are those of their formats. */
#ifndef KS_BASE_HASH_H
#define KS_BASE_HASH_H

#include <string.h>

#include "base/u128.h"

/* Folds the 128-bit product, so that every input bit reaches every output bit. */
static inline u64 ks_mix(u64 a, u64 b)
{
	struct ks_u128 r = ks_u128_mul(a, b);

	return r.lo ^ r.hi;
}

/*
 * Each table draws a seed of its own, so that no input can be made whose keys all collide. Nothing
 * that is printed or stored depends on a hash, so output stays the same from run to run.
 */
u64 ks_hash_seed(void);

static inline u64 ks_hash_u64(u64 x, u64 seed)
{
	return ks_mix(x ^ seed, 0xd6e8feb86659fd93ull);
}

/* Words of 8 bytes, the last one overlapping: no byte loop, no read past the end. */
static inline u64 ks_hash_bytes(const void *data, size_t len, u64 seed)
{
	const unsigned char *p = data;
	u64 h = seed ^ (len * 0x9e3779b97f4a7c15ull), w = 0;

	if (len < 8) {
		if (len)
			memcpy(&w, p, len);
		return ks_mix(h ^ w, 0xd6e8feb86659fd93ull);
	}
	for (; len > 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = ks_mix(h ^ w, 0xd6e8feb86659fd93ull);
	}
	memcpy(&w, p + len - 8, 8);
	return ks_mix(h ^ w, 0xd6e8feb86659fd93ull);
}

/* Whether two keys are equal; for short keys, where a call of memcmp() costs more than its work. */
static inline bool ks_same_bytes(const void *a, const void *b, size_t len)
{
	const unsigned char *p = a, *q = b;
	u64 x = 0, y = 0;

	if (len < 4)
		return !len ||
		       (p[0] == q[0] && p[len / 2] == q[len / 2] && p[len - 1] == q[len - 1]);
	if (len < 8) {
		memcpy(&x, p, 4);
		memcpy(&y, q, 4);
		if (x != y)
			return false;
		memcpy(&x, p + len - 4, 4);
		memcpy(&y, q + len - 4, 4);
		return x == y;
	}
	for (; len > 8; p += 8, q += 8, len -= 8) {
		memcpy(&x, p, 8);
		memcpy(&y, q, 8);
		if (x != y)
			return false;
	}
	memcpy(&x, p + len - 8, 8);
	memcpy(&y, q + len - 8, 8);
	return x == y;
}

/* Maps a hash to [0, n) without a division. Uses the high bits. */
static inline u32 ks_hash_range(u64 hash, u32 n)
{
	return (u32)(((hash >> 32) * n) >> 32);
}

#endif
