/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Numbers of 128 bits, for products of two 64-bit numbers and sums of such products. Where the compiler has
 * the type itself it does the work; 32-bit machines use the portable functions, which tests compare with it.
 */
#ifndef KS_BASE_U128_H
#define KS_BASE_U128_H

#include "base/types.h"

struct ks_u128 {
	u64 hi, lo;
};

static inline struct ks_u128 ks_u128_of(u64 value)
{
	return (struct ks_u128){ 0, value };
}

/* By halves of 32 bits, as on paper. */
static inline struct ks_u128 ks_u128_mul_portable(u64 a, u64 b)
{
	u64 a_lo = (u32)a, a_hi = a >> 32, b_lo = (u32)b, b_hi = b >> 32;
	u64 low = a_lo * b_lo, cross = a_hi * b_lo + (low >> 32);
	u64 middle = a_lo * b_hi + (u32)cross;

	return (struct ks_u128){ a_hi * b_hi + (cross >> 32) + (middle >> 32),
				 middle << 32 | (u32)low };
}

static inline struct ks_u128 ks_u128_mul(u64 a, u64 b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)a * b;

	return (struct ks_u128){ (u64)(product >> 64), (u64)product };
#else
	return ks_u128_mul_portable(a, b);
#endif
}

/* The sum, or the largest number where that is too small for it. */
static inline struct ks_u128 ks_u128_add(struct ks_u128 a, struct ks_u128 b)
{
	struct ks_u128 sum;
	bool carry = __builtin_add_overflow(a.lo, b.lo, &sum.lo);
	bool over = __builtin_add_overflow(a.hi, b.hi, &sum.hi);

	over |= __builtin_add_overflow(sum.hi, (u64)carry, &sum.hi);
	return over ? (struct ks_u128){ UINT64_MAX, UINT64_MAX } : sum;
}

/* The difference, or 0 where @b is more than @a. */
static inline struct ks_u128 ks_u128_sub(struct ks_u128 a, struct ks_u128 b)
{
	if (a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo))
		return ks_u128_of(0);
	return (struct ks_u128){ a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo };
}

/* The low 64 bits of a >> shift; @shift is less than 128. */
static inline u64 ks_u128_shift_right(struct ks_u128 a, unsigned int shift)
{
	if (!shift)
		return a.lo;
	if (shift >= 64)
		return a.hi >> (shift - 64);
	return a.hi << (64 - shift) | a.lo >> shift;
}

/* a / by, rounded down; UINT64_MAX where that needs more than 64 bits. @by is not 0. */
u64 ks_u128_div_portable(struct ks_u128 a, u64 by);

static inline u64 ks_u128_div(struct ks_u128 a, u64 by)
{
	if (a.hi >= by)
		return UINT64_MAX;
#ifdef __SIZEOF_INT128__
	return (u64)(((unsigned __int128)a.hi << 64 | a.lo) / by);
#else
	return ks_u128_div_portable(a, by);
#endif
}

static inline double ks_u128_double(struct ks_u128 a)
{
	return (double)a.hi * 0x1p64 + (double)a.lo;
}

/* a * b / by, rounded down; UINT64_MAX where that needs more than 64 bits. @by is not 0. */
static inline u64 ks_mul_div(u64 a, u64 b, u64 by)
{
	return ks_u128_div(ks_u128_mul(a, b), by);
}

#endif
