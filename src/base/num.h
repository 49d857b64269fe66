/* SPDX-License-Identifier: LGPL-2.1-only */
/* Strict numbers from text, and sums that stop at the top instead of wrapping. */
#ifndef KS_BASE_NUM_H
#define KS_BASE_NUM_H

#include "base/types.h"

/* The whole string must be a decimal number: 0, or -EINVAL / -ERANGE. */
int ks_parse_u64(const char *s, u64 *ret_value);

/* Seconds with up to nine decimals, or a number with ns, us, ms, s, m, h; into nanoseconds. */
int ks_parse_time(const char *s, u64 *ret_ns);

/* "4096", "64k", "512M", "2G", "1T": more than nothing. */
int ks_parse_size(const char *s, u64 *ret_bytes);

/*
 * The next range of a list as the kernel prints CPUs: "0-3,8". False at its end, or where it is none.
 */
bool ks_next_range(const char **list, u32 *ret_first, u32 *ret_last);

static inline u64 ks_add_sat(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
