/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Which objects an analysis counts. A filter selects objects by their allocation: the free of a
 * selected object counts whoever frees it. A window is as if the capture began and ended there.
 */
#ifndef KS_ANALYSIS_FILTER_H
#define KS_ANALYSIS_FILTER_H

#include "analysis/places.h"
#include "analysis/when.h"
#include "base/types.h"
#include "trace/event.h"

struct ks_filter {
	bool malloc_only, cache_only; /* both, or none: all slab allocations */
	const char *branch;	      /* directory or file of the kernel tree, or NULL */
	struct ks_when since, until;  /* since <= time < until */
	bool by_cpu, by_pid, by_size;
	u32 cpu, pid;
	u64 size;		  /* bytes allocated */
	const char *comm, *cache; /* names in full, or NULL */
	const char *cgroup;	  /* or one that it is in: ks_task_cgroup_is_in() */
	const char *site;	  /* a function, or function+0xoffset, or NULL */
};

static inline bool ks_filter_is_empty(const struct ks_filter *filter)
{
	return filter->malloc_only == filter->cache_only && !filter->branch && !filter->since.set &&
	       !filter->until.set && !filter->by_cpu && !filter->by_pid && !filter->by_size &&
	       !filter->comm && !filter->cgroup && !filter->cache && !filter->site;
}

/* How much of a capture lies in the window. */
u64 ks_filter_span(const struct ks_filter *filter, const struct ks_wall *wall, u64 first_ts,
		   u64 last_ts);

/* Whether it asks for the task, and not for the shape of the event alone. */
static inline bool ks_filter_is_task(const struct ks_filter *filter)
{
	return filter->by_cpu || filter->by_pid || filter->comm || filter->cgroup;
}

/* A filter at work on one source. */
struct ks_selector {
	struct ks_filter filter;
	const struct ks_names *names;
	struct ks_places *places; /* made with the filter's branch */
	u64 since, until;	  /* the window, in trace time */
};

void ks_selector_init(struct ks_selector *selector, const struct ks_filter *filter,
		      const struct ks_names *names, struct ks_places *places);

/* Sets the window, once the time of the first event is known. */
void ks_selector_start(struct ks_selector *selector, u64 first_ts);

static inline bool ks_selector_in_window(const struct ks_selector *selector, u64 ts)
{
	return ts >= selector->since && ts < selector->until;
}

/*
 * Whether an allocation passes, but for the window: 1, 0, or an error, if the kernel tree can't be read.
 * The parts that ask for the shape of the event and for the task can be asked apart; that of names is the
 * rest of the shape.
 */
int ks_selector_passes_names(struct ks_selector *selector, const struct ks_event *ev,
			     struct ks_diag *diag);

static inline int ks_selector_passes_shape(struct ks_selector *selector, const struct ks_event *ev,
					   struct ks_diag *diag)
{
	const struct ks_filter *filter = &selector->filter;

	if (filter->malloc_only != filter->cache_only &&
	    ev->kind != (filter->malloc_only ? KS_KMALLOC : KS_CACHE_ALLOC))
		return 0;
	if (filter->by_size && ev->bytes_alloc != filter->size)
		return 0;
	if (!filter->cache && !filter->branch && !filter->site)
		return 1;
	return ks_selector_passes_names(selector, ev, diag);
}

bool ks_selector_passes_task(const struct ks_selector *selector, const struct ks_event *ev);

static inline int ks_selector_passes(struct ks_selector *selector, const struct ks_event *ev,
				     struct ks_diag *diag)
{
	return ks_selector_passes_task(selector, ev) ? ks_selector_passes_shape(selector, ev, diag)
						     : 0;
}

#endif
