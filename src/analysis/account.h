/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Accounting: adds up what the matched events do, by group, for the objects that pass the filter.
 * It is fed with events (analysis/engine.c) or with the blocks of a DB (analysis/query.c).
 */
#ifndef KS_ANALYSIS_ACCOUNT_H
#define KS_ANALYSIS_ACCOUNT_H

#include "analysis/filter.h"
#include "analysis/model.h"
#include "analysis/origins.h"
#include "analysis/places.h"
#include "analysis/stat.h"
#include "base/map64.h"
#include "trace/event.h"

/*
 * While events come in, of the total only the live bytes and their peak are kept: the rest is the sum
 * of the groups, and is worked out at the end.
 */
struct ks_tally {
	KS_VEC(struct ks_stat) groups; /* by group number */
	struct ks_stat total;
};

struct ks_stat ks_tally_total(const struct ks_tally *tally);

struct ks_account {
	enum ks_by by;
	struct ks_filter filter;
	struct ks_places places;
	struct ks_places frames; /* of stacks */
	const struct ks_names *names;
	struct ks_map64 keys;	  /* a group's key -> its number */
	struct ks_intern strings; /* functions, modules, origins, whose keys are numbers in here */
	struct ks_alike alike;	  /* stacks */
	KS_VEC(u32)
	group_of_site;	  /* by site + 1: KS_NONE = not asked yet; functions, modules, sites */
	u64 since, until; /* the filter's window, in trace time */
	struct ks_tally tally[KS_LEVELS];
};

int ks_account_init(struct ks_account *acc, enum ks_by by, const struct ks_filter *filter,
		    const struct ks_names *names, struct ks_resolver *resolver);
void ks_account_deinit(struct ks_account *acc);

/* The window in trace time, once the time of the first event is known. */
void ks_account_set_start(struct ks_account *acc, u64 first_ts);

static inline bool ks_account_in_window(const struct ks_account *acc, u64 ts)
{
	return ts >= acc->since && ts < acc->until;
}

/* What a group is made from, beside the site. */
struct ks_group_key {
	u8 kind;
	u32 site, cache, gfp, comm, pid, stack;
	u32 cpu;
	s32 node;
	u64 bytes_alloc;
};

/*
 * Whether an allocation passes the filter, but for the window: 1, 0 or -ENOMEM. The parts that ask
 * for the shape of the event and for the task can be asked apart.
 */
int ks_account_passes_shape(struct ks_account *acc, const struct ks_group_key *key);
bool ks_account_passes_task(const struct ks_account *acc, const struct ks_group_key *key);

static inline int ks_account_passes(struct ks_account *acc, const struct ks_group_key *key)
{
	return ks_account_passes_task(acc, key) ? ks_account_passes_shape(acc, key) : 0;
}

/* The number of the group, whose stats exist from now on; KS_NONE when there is no memory. */
u32 ks_account_group(struct ks_account *acc, const struct ks_group_key *key);

/* The same where groups are sites. Inline, as it runs once an event. */
u32 ks_account_new_site(struct ks_account *acc, u32 site);

static inline u32 ks_account_site(struct ks_account *acc, u32 site)
{
	u32 at = site + 1; /* no site is the first */

	if (likely(at < acc->group_of_site.len && acc->group_of_site.items[at] != KS_NONE))
		return acc->group_of_site.items[at];
	return ks_account_new_site(acc, site);
}

/* Whether the group depends on the task, and not on the shape of the event alone. */
static inline bool ks_by_is_task(enum ks_by by)
{
	return by == KS_BY_PID || by == KS_BY_COMM || by == KS_BY_CPU;
}

static inline void ks_account_alloc(struct ks_account *acc, enum ks_level level, u32 group, u64 req,
				    u64 bytes, u64 ts)
{
	struct ks_tally *tally = &acc->tally[level];

	ks_stat_alloc(&tally->groups.items[group], req, bytes, ts);
	tally->total.live_bytes += bytes;
	if (tally->total.live_bytes > tally->total.peak_bytes) {
		tally->total.peak_bytes = tally->total.live_bytes;
		tally->total.peak_ts = ts;
	}
}

static inline void ks_account_end(struct ks_account *acc, enum ks_level level, u32 group, u64 req,
				  u64 bytes, u64 ts, bool implied)
{
	ks_stat_end(&acc->tally[level].groups.items[group], req, bytes, ts, implied);
	acc->tally[level].total.live_bytes -= bytes;
}

/* Failed and unpaired allocations. */
void ks_account_other(struct ks_account *acc, enum ks_level level, u32 group, bool failed, u64 req,
		      u64 bytes, u64 ts);

/* Reports why one of these failed: no memory, or a kernel tree that can't be read. Returns -errno. */
int ks_account_error(const struct ks_account *acc, struct ks_diag *diag);

/* The group's label, in the arena; NULL when there is no memory. Not for sites: see ks_places_get(). */
const char *ks_account_label(struct ks_account *acc, u32 group, struct ks_arena *arena);

/* Moves the groups of the level into the model. */
int ks_account_fill(struct ks_account *acc, enum ks_level level, struct ks_model *model);

#endif
