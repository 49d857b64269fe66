/* SPDX-License-Identifier: LGPL-2.1-only */
/* The views that there are, for ks_analysis_add(). Each is NULL when there is no memory. */
#ifndef KS_ANALYSIS_VIEWS_H
#define KS_ANALYSIS_VIEWS_H

#include "analysis/objects.h"

struct ks_view;

/*
 * What lives and is at least @min_age old: model->leaks. By stack trace too, where @stacks is set and
 * the source has them.
 */
struct ks_view *ks_leaks_view_new(u64 min_age, bool stacks);

/* Bytes asked for and got, and what crosses CPUs and nodes: model->frag. */
struct ks_view *ks_frag_view_new(void);

/* Memory over time: model->timeline. */
struct ks_view *ks_timeline_view_new(void);

/* The same, with buckets that are this wide from the first on; 0 = as fine as there is room for. */
struct ks_view *ks_timeline_view_new_of_width(u64 width);

/*
 * The timeline and the leaks of processes, each by itself: model->processes. @width is that of the timeline of
 * all, which has been made before: so all of them have the same buckets.
 */
enum { KS_MAX_PROCESSES = 200 };
struct ks_view *ks_processes_view_new(const char *const *comms, size_t len, u64 width);

/*
 * Hands out every object: those that end, in the order of their ends, then those that live when the
 * source has come to its end. Allocations that failed or cannot be followed are none.
 */
struct ks_view *ks_objects_view_new(ks_object_fn *fn, void *ctx);

#endif
