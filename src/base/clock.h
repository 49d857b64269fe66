/* SPDX-License-Identifier: LGPL-2.1-only */
/* What time it is, in nanoseconds. */
#ifndef KS_BASE_CLOCK_H
#define KS_BASE_CLOCK_H

#include <time.h>

#include "base/types.h"

static inline u64 ks_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

#endif
