// SPDX-License-Identifier: LGPL-2.1-only
/* Which objects an analysis counts. */
#include "analysis/filter.h"

#include <string.h>

/* === Internals ============================================================================ */

static bool is_named(const struct ks_intern *names, u32 id, const char *name)
{
	return id != KS_NONE && !strcmp(ks_intern_get(names, id).s, name);
}

static bool is_in_cgroup(const struct ks_task_cgroups *tasks, u32 tid, const char *name)
{
	u32 cgroup = ks_task_cgroup_of(tasks, tid);

	return cgroup != KS_NONE && ks_task_cgroup_is_in(tasks, cgroup, name);
}

/* The function, or "function+0xoffset", with or without the module that follows. */
static bool is_site(const struct ks_place *place, const char *site)
{
	size_t len = strlen(site);

	return !strcmp(place->func, site) ||
	       (!strncmp(place->label, site, len) &&
		(!place->label[len] || !strncmp(place->label + len, " [", 2)));
}

/* === Public =============================================================================== */

u64 ks_filter_span(const struct ks_filter *filter, const struct ks_wall *wall, u64 first_ts,
		   u64 last_ts)
{
	struct ks_when from = filter->since, to = filter->until;
	u64 since, until;

	if (ks_when_resolve(&from, wall, NULL) || ks_when_resolve(&to, wall, NULL))
		return 0;
	since = ks_max(ks_when_in_trace(&from, first_ts, first_ts), first_ts);
	until = ks_min(ks_when_in_trace(&to, first_ts, last_ts), last_ts);
	return until > since ? until - since : 0;
}

void ks_selector_init(struct ks_selector *selector, const struct ks_filter *filter,
		      const struct ks_names *names, struct ks_places *places)
{
	*selector = (struct ks_selector){
		.filter = *filter,
		.names = names,
		.places = places,
		.until = UINT64_MAX,
	};
}

void ks_selector_start(struct ks_selector *selector, u64 first_ts)
{
	selector->since = ks_when_in_trace(&selector->filter.since, first_ts, 0);
	selector->until = ks_when_in_trace(&selector->filter.until, first_ts, UINT64_MAX);
}

int ks_selector_passes_names(struct ks_selector *selector, const struct ks_event *ev,
			     struct ks_diag *diag)
{
	const struct ks_filter *filter = &selector->filter;
	const struct ks_place *place;
	int err;

	if (filter->cache && !is_named(&selector->names->caches, ev->cache, filter->cache))
		return 0;
	if (!filter->branch && !filter->site)
		return 1;
	err = ks_places_get(selector->places, ev->site, &place, diag);
	if (err)
		return err;
	if (filter->site && !is_site(place, filter->site))
		return 0;
	return !filter->branch || place->in_branch;
}

bool ks_selector_passes_task(const struct ks_selector *selector, const struct ks_event *ev)
{
	const struct ks_filter *filter = &selector->filter;

	return (!filter->by_cpu || ev->cpu == filter->cpu) &&
	       (!filter->by_pid || ev->pid == filter->pid) &&
	       (!filter->comm || is_named(&selector->names->comms, ev->comm, filter->comm)) &&
	       (!filter->cgroup || is_in_cgroup(selector->names->tasks, ev->pid, filter->cgroup));
}
