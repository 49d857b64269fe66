/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the kernel itself had of slabs, beside what a capture knows of. */
#ifndef KS_ANALYSIS_KERNEL_SLABS_H
#define KS_ANALYSIS_KERNEL_SLABS_H

#include "analysis/model.h"
#include "trace/slab-census.h"

/* Fills model->kernel_slabs from the two counts, each of which may be NULL. 0 or -ENOMEM. */
int ks_kernel_slabs_fill(const struct ks_slab_census *const census[KS_CENSUS_WHENS],
			 struct ks_model *model);

/*
 * Adds up the caches that a group by cache has its objects from: the one of that name, an alias of it, or all of
 * kmalloc's of a size, for "kmalloc of 64 bytes". False where the kernel did not count any.
 */
bool ks_kernel_slabs_find(const struct ks_kernel_slabs *slabs, const char *label,
			  struct ks_kernel_cache *ret_sum);

/*
 * What is certain of a sum of the model's level. An object that ended unseen may have lived for less time than it
 * seems to have; one that seems to live may have ended, unless the kernel counted object by object at the end.
 */
struct ks_bounds ks_bounds_of(const struct ks_model *model, const struct ks_stat *stat);

/* Adds bounds, and to groups by cache what the kernel counted. No group has more than the kernel. */
void ks_kernel_slabs_compare(struct ks_model *model);

#endif
