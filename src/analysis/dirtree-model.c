// SPDX-License-Identifier: LGPL-2.1-only
/* Adds the numbers of models up by directory. */
#include "analysis/dirtree-model.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"

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

/* What the capture itself says of a site: module, function, offset. */
static int add_by_function(struct ks_dirtree *tree, const struct ks_group *group, u64 bytes)
{
	const char *offset = strchr(group->label, '+');
	struct ks_strbuf path;
	int err;

	ks_strbuf_init(&path);
	if (*group->func) {
		if (*group->module)
			ks_strbuf_printf(&path, "[%s]/", group->module);
		ks_strbuf_printf(&path, "%s/", group->func);
		if (offset) /* the label repeats the module behind it */
			ks_strbuf_add(&path, offset, strcspn(offset, " "));
	}
	err = path.failed ? -ENOMEM : ks_dirtree_add(tree, ks_strbuf_str(&path), bytes);
	ks_strbuf_deinit(&path);
	return err;
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
			 enum ks_dirtree_value value, bool by_path)
{
	size_t i;
	int err = 0;

	for (i = 0; i < ks_model_account(model)->groups.len && !err; i++) {
		const struct ks_group *group = &ks_model_account(model)->groups.items[i];
		u64 bytes = value_of(&group->stat, value);

		err = by_path ? ks_dirtree_add(tree, group->path, bytes)
			      : add_by_function(tree, group, bytes);
	}
	return err;
}
