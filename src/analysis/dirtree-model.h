/* SPDX-License-Identifier: LGPL-2.1-only */
/* Adds the numbers of models up by directory, for ring charts. */
#ifndef KS_ANALYSIS_DIRTREE_MODEL_H
#define KS_ANALYSIS_DIRTREE_MODEL_H

#include "analysis/dirtree.h"
#include "analysis/model.h"
#include "analysis/static-model.h"

/* What is added up of the allocations of a site. */
enum ks_dirtree_value {
	KS_DIRTREE_LIVE,  /* bytes live at the end */
	KS_DIRTREE_WASTE, /* bytes of these that nobody asked for */
	KS_DIRTREE_TOTAL, /* bytes of all allocations */
};

/* Adds the file of every object of a footprint. 0 or -ENOMEM. */
int ks_dirtree_add_footprint(struct ks_dirtree *tree, const struct ks_static_model *footprint);

/*
 * Adds the groups of a model: by owner at their process, cache and site; by site at the source file. 0 or -ENOMEM.
 */
int ks_dirtree_add_model(struct ks_dirtree *tree, const struct ks_model *model,
			 enum ks_dirtree_value value);

#endif
