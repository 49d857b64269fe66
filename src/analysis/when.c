// SPDX-License-Identifier: LGPL-2.1-only
/* From the time of day to the time of a trace. */
#include "analysis/when.h"

#include <errno.h>
#include <time.h>

/* === Data ================================================================================= */

#define SECOND 1000000000ull

/* === Internals ============================================================================ */

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* That time of the day of @near, of the day before, or of the day after. Days of 23 and 25 hours are no exception. */
static u64 nearest(u64 of_day, u64 near)
{
	time_t at = (time_t)(near / SECOND);
	u64 best = near, seconds = of_day / SECOND;
	bool found = false;
	struct tm day;
	int shift;

	for (shift = -1; shift <= 1; shift++) {
		time_t candidate;
		u64 ns;

		if (!localtime_r(&at, &day))
			return near;
		day.tm_mday += shift;
		day.tm_hour = (int)(seconds / 3600);
		day.tm_min = (int)(seconds / 60 % 60);
		day.tm_sec = (int)(seconds % 60);
		day.tm_isdst = -1;
		candidate = mktime(&day);
		if (candidate < 0)
			continue;
		ns = (u64)candidate * SECOND + of_day % SECOND;
		if (!found || distance(ns, near) < distance(best, near))
			best = ns;
		found = true;
	}
	return best;
}

/* === Public =============================================================================== */

int ks_when_resolve(struct ks_when *when, const struct ks_wall *wall, struct ks_diag *diag)
{
	u64 ns = when->ns;

	if (!when->set || when->kind == KS_WHEN_TRACE || when->kind == KS_WHEN_RELATIVE)
		return 0;
	if (!wall->len)
		return ks_diag_set(
			diag, -EINVAL,
			"the capture does not say at what time of day it was recorded: give "
			"its own time (415.2), or the time from its first event on (+1.5)");
	if (when->kind == KS_WHEN_OF_DAY)
		ns = nearest(ns, wall->points[wall->len - 1].ns);
	when->ns = ks_wall_to_ts(wall, ns);
	when->kind = KS_WHEN_TRACE;
	return 0;
}
