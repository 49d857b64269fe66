/* SPDX-License-Identifier: LGPL-2.1-only */
/* Type information (BTF) of several files as one, and as a file. */
#ifndef KS_HEAP_BTF_MERGE_H
#define KS_HEAP_BTF_MERGE_H

#include "base/diag.h"

struct btf;

int ks_btf_write(const struct btf *btf, const char *path, struct ks_diag *diag);

/* Writes what the object files of a folder have to a file of their own. KS_EBADINPUT: one of them has none. */
int ks_btf_merge(const char *folder, const char *path, struct ks_diag *diag);

#endif
