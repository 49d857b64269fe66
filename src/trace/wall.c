// SPDX-License-Identifier: LGPL-2.1-only
/* From the clock of a capture to the time of day, and back. */
#include "trace/wall.h"

/* === Internals ============================================================================ */

/* @y beside @y0 as far as @x is from @x0, within what there is. */
static u64 shift(u64 x, u64 x0, u64 y0)
{
	if (x >= x0)
		return y0 > UINT64_MAX - (x - x0) ? UINT64_MAX : y0 + (x - x0);
	return y0 < x0 - x ? 0 : y0 - (x0 - x);
}

/* The line through (x0, y0) and (x1, y1), and outside of these, one to one. Clocks hardly differ: the rest is small. */
static u64 on_line(u64 x, u64 x0, u64 y0, u64 x1, u64 y1)
{
	u64 y = shift(x, x0, y0);
	double share, drift;

	if (x <= x0 || x1 <= x0)
		return y;
	if (x >= x1)
		return shift(x, x1, y1);
	share = (double)(x - x0) / (double)(x1 - x0);
	drift = (double)(s64)(y1 - y0 - (x1 - x0));
	return y + (u64)(s64)(share * drift);
}

/* === Public =============================================================================== */

void ks_wall_add(struct ks_wall *wall, u64 ts, u64 ns)
{
	if (wall->len && ts <= wall->points[0].ts)
		wall->len = 0;
	if (wall->len == KS_WALL_POINTS)
		wall->len--;
	wall->points[wall->len++] = (struct ks_wall_point){ ts, ns };
}

u64 ks_wall_of(const struct ks_wall *wall, u64 ts)
{
	const struct ks_wall_point *first = wall->points, *last = first + wall->len - 1;

	return wall->len ? on_line(ts, first->ts, first->ns, last->ts, last->ns) : 0;
}

u64 ks_wall_to_ts(const struct ks_wall *wall, u64 ns)
{
	const struct ks_wall_point *first = wall->points, *last = first + wall->len - 1;

	return wall->len ? on_line(ns, first->ns, first->ts, last->ns, last->ts) : 0;
}
