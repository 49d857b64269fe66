/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The time of day of a capture: moments that were read from its clock and from the wall clock at once. Between two of them
 * times are interpolated, so a wall clock that was set or slewed meanwhile is off by at most that.
 */
#ifndef KS_TRACE_WALL_H
#define KS_TRACE_WALL_H

#include "base/types.h"

enum { KS_WALL_POINTS = 2 };

struct ks_wall_point {
	u64 ts; /* by the clock of the capture, in ns */
	u64 ns; /* since 1970 */
};

struct ks_wall {
	struct ks_wall_point points[KS_WALL_POINTS]; /* in order of time */
	u32 len;				     /* 0 = the time of day is not known */
};

/* Adds a moment. Of more than fit, and of those that are not later than the first, the last stays. */
void ks_wall_add(struct ks_wall *wall, u64 ts, u64 ns);

/* 0 where it is not known, or before 1970. */
u64 ks_wall_of(const struct ks_wall *wall, u64 ts);

/* The time of the capture at a time of day: 0 where that is before its clock began. Only where len is not 0. */
u64 ks_wall_to_ts(const struct ks_wall *wall, u64 ns);

#endif
