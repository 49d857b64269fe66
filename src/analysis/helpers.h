/* SPDX-License-Identifier: LGPL-2.1-only */
/* Functions that allocate for their callers: kstrdup, kvasprintf and their like. */
#ifndef KS_ANALYSIS_HELPERS_H
#define KS_ANALYSIS_HELPERS_H

#include "base/diag.h"
#include "base/intern.h"

struct ks_helpers {
	struct ks_intern names;
};

/* With the names of helpers.txt. 0 or -ENOMEM. */
int ks_helpers_init(struct ks_helpers *helpers);
void ks_helpers_deinit(struct ks_helpers *helpers);

/* Adds the names of a user's file. */
int ks_helpers_add_file(struct ks_helpers *helpers, const char *path, struct ks_diag *diag);

/* Whether the function, or the one that it is a part of, is in the list. */
bool ks_helpers_has(const struct ks_helpers *helpers, const char *func, size_t len);

#endif
