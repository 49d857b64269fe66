/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Which objects an analysis counts. A filter selects objects by their allocation: the free of a
 * selected object counts whoever frees it. A window is as if the capture began and ended there.
 */
#ifndef KS_ANALYSIS_FILTER_H
#define KS_ANALYSIS_FILTER_H

#include "base/types.h"

/* A point in time: as the trace prints it, or from its first event on. */
struct ks_when {
	bool set, relative;
	u64 ns;
};

struct ks_filter {
	bool malloc_only, cache_only; /* both, or none: all slab allocations */
	const char *branch;	      /* directory or file of the kernel tree, or NULL */
	struct ks_when since, until;  /* since <= time < until */
	bool by_cpu, by_pid;
	u32 cpu, pid;
	const char *comm, *cache; /* names in full, or NULL */
	const char *site;	  /* a function, or function+0xoffset, or NULL */
};

static inline bool ks_filter_is_empty(const struct ks_filter *filter)
{
	return filter->malloc_only == filter->cache_only && !filter->branch && !filter->since.set &&
	       !filter->until.set && !filter->by_cpu && !filter->by_pid && !filter->comm &&
	       !filter->cache && !filter->site;
}

/* Whether it asks for the task, and not for the shape of the event alone. */
static inline bool ks_filter_is_task(const struct ks_filter *filter)
{
	return filter->by_cpu || filter->by_pid || filter->comm;
}

#endif
