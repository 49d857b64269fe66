/* SPDX-License-Identifier: LGPL-2.1-only */
/* The types of modules, added to those of the kernel. */
#ifndef KS_HEAP_BTF_MODULES_H
#define KS_HEAP_BTF_MODULES_H

#include "base/diag.h"
#include "base/types.h"

struct btf;
struct ks_kernel;

struct ks_btf_merge;

int ks_btf_merge_new(const struct btf *base, struct ks_btf_merge **ret_merge);
void ks_btf_merge_free(struct ks_btf_merge *merge);

/*
 * Adds the types of one module: BTF that goes on where the kernel's ends. 0; KS_EBADINPUT: it makes no sense and
 * nothing was added; -ENOMEM.
 */
int ks_btf_merge_add(struct ks_btf_merge *merge, const void *data, size_t len);

/* All types together. */
int ks_btf_merge_end(struct ks_btf_merge *merge, struct btf **ret_btf);

/* Gives the kernel's types those of its modules, once. What can't be read is left out, and counted. */
int ks_kernel_add_modules(struct ks_kernel *kernel, struct ks_diag *diag);

#endif
