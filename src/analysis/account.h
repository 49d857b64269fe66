/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * An account: what was allocated and freed, by one grouping. It is fed with events (analysis/engine.c),
 * with the blocks of a DB (analysis/query.c), or with rows of sums.
 */
#ifndef KS_ANALYSIS_ACCOUNT_H
#define KS_ANALYSIS_ACCOUNT_H

#include "analysis/grouping.h"
#include "analysis/tally.h"

struct ks_account {
	struct ks_grouping grouping;
	struct ks_tally tally[KS_LEVELS]; /* one numbering of groups for both levels */
	KS_VEC(u32)
	group_in[KS_LEVELS]; /* by slot: whose object it is; not where groups are sites */
};

int ks_account_init(struct ks_account *acc, enum ks_by by, const struct ks_names *names,
		    struct ks_places *places, struct ks_places *frames);
void ks_account_deinit(struct ks_account *acc);

/* Forgets all that was counted. */
void ks_account_clear(struct ks_account *acc);

/* The number of the group of an allocation, whose sums exist from now on. */
int ks_account_group(struct ks_account *acc, const struct ks_event *ev, u32 *ret_group,
		     struct ks_diag *diag);

/* Where groups are sites. Inline, as it runs once an event. */
ks_inline int ks_account_site(struct ks_account *acc, const struct ks_event *ev, u32 *ret_group,
			      struct ks_diag *diag)
{
	*ret_group = ks_grouping_known_site(&acc->grouping, ev->site);
	return likely(*ret_group != KS_NONE) ? 0 : ks_account_group(acc, ev, ret_group, diag);
}

/* Remembers whose object is in a slot. 0 or -ENOMEM. */
int ks_account_set_slot(struct ks_account *acc, enum ks_level level, u32 slot, u32 group);

/* The group of a counted object, which was allocated at @site. */
ks_inline u32 ks_account_slot(const struct ks_account *acc, enum ks_level level, u32 slot, u32 site,
			      bool by_site)
{
	if (by_site || acc->grouping.by == KS_BY_SITE)
		return acc->grouping.of_site.items[(u32)(site + 1)];
	return acc->group_in[level].items[slot];
}

/* Failed and unpaired allocations. */
void ks_account_other(struct ks_account *acc, enum ks_level level, u32 group, bool failed, u64 req,
		      u64 bytes, u64 ts);

/* Adds the account to the model. */
int ks_account_fill(const struct ks_account *acc, enum ks_level level, struct ks_model *model,
		    struct ks_diag *diag);

#endif
