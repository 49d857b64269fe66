/* SPDX-License-Identifier: LGPL-2.1-only */
/* Measures what a built kernel occupies before it allocates anything. */
#ifndef KS_ANALYSIS_STATIC_H
#define KS_ANALYSIS_STATIC_H

#include "analysis/static-model.h"
#include "base/diag.h"

struct ks_static_options {
	const char *branch; /* NULL = everything */
	bool symbols;	    /* fill in symbols too */
};

/*
 * @path is a built tree or a vmlinux. Objects that cannot be read are in the model's list of bad
 * ones and the rest is still counted; a tree without any object is an error.
 */
int ks_static_measure(const char *path, const struct ks_static_options *options,
		      struct ks_static_model **ret_model, struct ks_diag *diag);
void ks_static_free(struct ks_static_model *model);

#endif
