// SPDX-License-Identifier: LGPL-2.1-only
/* Adds the numbers of models up by directory. */
#include "analysis/dirtree-model.h"

/* === Internals ============================================================================ */

static u64 value_of(const struct ks_stat *stat, enum ks_dirtree_value value)
{
	switch (value) {
	case KS_DIRTREE_WASTE:
		return ks_stat_waste(stat);
	case KS_DIRTREE_TOTAL:
		return stat->total_bytes;
	default:
		return stat->live_bytes;
	}
}

static int add_by_owner(struct ks_dirtree *tree, const struct ks_group *group, u64 bytes)
{
	const char *const names[] = { group->owner, group->cache, group->label };

	return ks_dirtree_add_names(tree, names, ARRAY_SIZE(names), bytes);
}

/* === Public =============================================================================== */

int ks_dirtree_add_footprint(struct ks_dirtree *tree, const struct ks_static_model *footprint)
{
	size_t i;
	int err = 0;

	for (i = 0; i < footprint->files.len && !err; i++) {
		const struct ks_static_file *file = &footprint->files.items[i];

		err = ks_dirtree_add(tree, file->path, ks_footprint_total(&file->size));
	}
	return err;
}

int ks_dirtree_add_model(struct ks_dirtree *tree, const struct ks_model *model,
			 enum ks_dirtree_value value)
{
	size_t i;
	int err = 0;

	for (i = 0; i < ks_model_account(model)->groups.len && !err; i++) {
		const struct ks_group *group = &ks_model_account(model)->groups.items[i];
		u64 bytes = value_of(&group->stat, value);

		err = group->owner ? add_by_owner(tree, group, bytes)
				   : ks_dirtree_add(tree, group->path, bytes);
	}
	return err;
}
