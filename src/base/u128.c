// SPDX-License-Identifier: LGPL-2.1-only
/* Numbers of 128 bits. */
#include "base/u128.h"

/* Bit by bit: few numbers are divided, and only on machines whose compiler cannot do it. */
u64 ks_u128_div_portable(struct ks_u128 a, u64 by)
{
	u64 rest = a.hi, quotient = 0;
	int bit;

	if (a.hi >= by)
		return UINT64_MAX;
	for (bit = 63; bit >= 0; bit--) {
		bool top = rest >> 63;

		rest = rest << 1 | (a.lo >> bit & 1);
		if (top || rest >= by) {
			rest -= by;
			quotient |= 1ull << bit;
		}
	}
	return quotient;
}
