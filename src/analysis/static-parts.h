/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the static analysis: what its files share. */
#ifndef KS_ANALYSIS_STATIC_PARTS_H
#define KS_ANALYSIS_STATIC_PARTS_H

#include "analysis/static-object.h"
#include "analysis/static.h"

/* A copy that lives as long as the model; NULL when there is no memory. */
const char *ks_static_keep(struct ks_static_model *model, const char *s);

void ks_footprint_add(struct ks_footprint *sum, const struct ks_footprint *f);

/* Sums by name and class of section. */
struct ks_section_sums {
	struct ks_intern names;
	KS_VEC(struct ks_static_section) sums; /* name * KS_SECS + class */
};

int ks_section_sums_init(struct ks_section_sums *sums);
void ks_section_sums_deinit(struct ks_section_sums *sums);
int ks_section_sums_add(struct ks_section_sums *sums, const struct ks_measured *m);

/* Hands them to the model, largest first. */
int ks_section_sums_move(struct ks_section_sums *sums, struct ks_static_model *model);

/* Symbols, largest first; files are in order of path from the beginning. */
void ks_static_sort(struct ks_static_model *model);

/* vmlinux on its own: its symbols, put to the files that they came from. */
int ks_static_measure_image(struct ks_static_model *model, const char *path,
			    const struct ks_static_options *options, struct ks_diag *diag);

/* Adds what vmlinux itself says to the sums of its objects. */
int ks_static_reconcile(struct ks_static_model *model, const char *path, struct ks_diag *diag);

#endif
