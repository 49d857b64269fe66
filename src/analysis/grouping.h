/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * How allocations are told apart: a grouping takes a key from an event (its site, cache, task, ...),
 * numbers the keys as they come, and knows what to call a number. It counts nothing.
 */
#ifndef KS_ANALYSIS_GROUPING_H
#define KS_ANALYSIS_GROUPING_H

#include "analysis/model.h"
#include "analysis/origins.h"
#include "analysis/places.h"
#include "base/map64.h"
#include "trace/event.h"

struct ks_grouping {
	enum ks_by by;
	const struct ks_names *names;
	struct ks_places *places; /* of sites */
	struct ks_places *frames; /* of stacks */
	struct ks_map64 keys;	  /* a group's key -> its number */
	struct ks_intern strings; /* functions, modules, origins, whose keys are numbers in here */
	struct ks_alike alike;	  /* stacks */
	KS_VEC(u32) of_site; /* by site + 1: KS_NONE = not asked yet; functions, modules, sites */
};

/* The places may be NULL where groups are told apart by neither function nor module, nor labelled. */
int ks_grouping_init(struct ks_grouping *grouping, enum ks_by by, const struct ks_names *names,
		     struct ks_places *places, struct ks_places *frames);
void ks_grouping_deinit(struct ks_grouping *grouping);

/* How many groups there are: their numbers are below this. */
static inline u32 ks_grouping_len(const struct ks_grouping *grouping)
{
	return (u32)grouping->keys.keys.len;
}

/* The number of the group that an allocation belongs to; a new one where it is the first. */
int ks_grouping_find(struct ks_grouping *grouping, const struct ks_event *ev, u32 *ret_group,
		     struct ks_diag *diag);

/* The group of a site that was asked for before, where groups are sites, functions or modules. */
static inline u32 ks_grouping_known_site(const struct ks_grouping *grouping, u32 site)
{
	u32 at = site + 1; /* no site is the first */

	return likely(at < grouping->of_site.len) ? grouping->of_site.items[at] : KS_NONE;
}

/* Whether the group depends on the task, and not on the shape of the event. */
static inline bool ks_by_is_task(enum ks_by by)
{
	return by == KS_BY_PID || by == KS_BY_COMM || by == KS_BY_CGROUP || by == KS_BY_CPU;
}

/* Whether it depends on both. */
static inline bool ks_by_is_both(enum ks_by by)
{
	return by == KS_BY_OWNER;
}

/* The key that a group has by its site: what ks_places_get() takes. */
static inline u32 ks_grouping_site_of(const struct ks_grouping *grouping, u32 group)
{
	return (u32)grouping->keys.keys.items[group];
}

/* The group's label, in the arena; NULL when there is no memory. Not for sites and stacks. */
const char *ks_grouping_label(const struct ks_grouping *grouping, u32 group,
			      struct ks_arena *arena);

/* Fills all but the sums. */
int ks_grouping_fill(const struct ks_grouping *grouping, u32 group, struct ks_arena *arena,
		     struct ks_group *ret_group, struct ks_diag *diag);

#endif
