/* SPDX-License-Identifier: LGPL-2.1-only */
/* Points in time, as people give them: by the clock of the trace, from its first event on, or by the time of day. */
#ifndef KS_ANALYSIS_WHEN_H
#define KS_ANALYSIS_WHEN_H

#include "base/diag.h"
#include "base/types.h"
#include "trace/wall.h"

enum ks_when_kind {
	KS_WHEN_TRACE,	  /* as the trace prints it */
	KS_WHEN_RELATIVE, /* from its first event on */
	KS_WHEN_WALL,	  /* since 1970 */
	KS_WHEN_OF_DAY, /* since midnight, local time: the one that is nearest to the end of the recording */
};

struct ks_when {
	bool set;
	enum ks_when_kind kind;
	u64 ns;
};

/* From "415.2", "+1.5", "10:00:05", "2026-11-17 10:00", with Z or UTC behind it or in local time: 0 or -EINVAL. */
int ks_when_parse(const char *text, struct ks_when *ret_when);

/* Turns a time of day into one of the trace. -EINVAL where @wall does not know it. Others stay. */
int ks_when_resolve(struct ks_when *when, const struct ks_wall *wall, struct ks_diag *diag);

/* A point in time as the trace counts it; @unset where it is not given. It must be resolved. */
static inline u64 ks_when_in_trace(const struct ks_when *when, u64 first_ts, u64 unset)
{
	if (!when->set)
		return unset;
	return when->kind == KS_WHEN_RELATIVE ? first_ts + when->ns : when->ns;
}

#endif
