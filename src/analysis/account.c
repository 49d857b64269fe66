// SPDX-License-Identifier: LGPL-2.1-only
/* Accounting by group. */
#include "analysis/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Public =============================================================================== */

int ks_account_init(struct ks_account *acc, enum ks_by by, const struct ks_names *names,
		    struct ks_places *places, struct ks_places *frames)
{
	memset(acc, 0, sizeof(*acc));
	return ks_grouping_init(&acc->grouping, by, names, places, frames);
}

void ks_account_deinit(struct ks_account *acc)
{
	int level;

	for (level = 0; level < KS_LEVELS; level++) {
		ks_tally_deinit(&acc->tally[level]);
		ks_vec_free(&acc->group_in[level]);
	}
	ks_grouping_deinit(&acc->grouping);
}

void ks_account_clear(struct ks_account *acc)
{
	int level;

	for (level = 0; level < KS_LEVELS; level++) {
		struct ks_tally *tally = &acc->tally[level];

		if (tally->groups.len)
			memset(tally->groups.items, 0,
			       tally->groups.len * sizeof(*tally->groups.items));
		memset(&tally->total, 0, sizeof(tally->total));
	}
}

/* Both levels get the same group numbers, so that one number serves wherever it is met. */
int ks_account_group(struct ks_account *acc, const struct ks_event *ev, u32 *ret_group,
		     struct ks_diag *diag)
{
	int level, err = ks_grouping_find(&acc->grouping, ev, ret_group, diag);

	for (level = 0; level < KS_LEVELS && !err; level++)
		if (ks_tally_grow(&acc->tally[level], *ret_group))
			err = ks_diag_nomem(diag, "accounting events");
	return err;
}

int ks_account_set_slot(struct ks_account *acc, enum ks_level level, u32 slot, u32 group)
{
	if (acc->grouping.by == KS_BY_SITE)
		return 0;
	while (acc->group_in[level].len <= slot)
		if (!ks_vec_push(&acc->group_in[level]))
			return -ENOMEM;
	acc->group_in[level].items[slot] = group;
	return 0;
}

void ks_account_other(struct ks_account *acc, enum ks_level level, u32 group, bool failed, u64 req,
		      u64 bytes, u64 ts)
{
	struct ks_stat *stat = &acc->tally[level].groups.items[group];

	if (failed)
		ks_stat_failed(stat, ts);
	else
		ks_stat_alloc_unpaired(stat, req, bytes, ts);
}

int ks_account_fill(const struct ks_account *acc, enum ks_level level, struct ks_model *model,
		    struct ks_diag *diag)
{
	const struct ks_tally *tally = &acc->tally[level];
	struct ks_sums *sums = ks_vec_push(&model->accounts);
	u32 i;

	if (!sums)
		return ks_diag_nomem(diag, "gathering results");
	sums->by = acc->grouping.by;
	for (i = 0; i < tally->groups.len; i++) {
		struct ks_group *group;
		int err;

		if (ks_stat_is_empty(&tally->groups.items[i]))
			continue;
		group = ks_vec_push(&sums->groups);
		if (!group)
			return ks_diag_nomem(diag, "gathering results");
		err = ks_grouping_fill(&acc->grouping, i, &model->arena, group, diag);
		if (err)
			return err;
		group->stat = tally->groups.items[i];
	}
	return 0;
}
