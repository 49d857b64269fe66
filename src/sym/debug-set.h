/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Files with debug information, each opened when it is asked for: object files of single source files, as "lab build
 * --sites" or a build with debug information makes them, modules, and a vmlinux for all the rest.
 */
#ifndef KS_SYM_DEBUG_SET_H
#define KS_SYM_DEBUG_SET_H

#include "sym/debug-types.h"

struct ks_debug_set;

/* Directories, modules (*.ko) and kernels, which are searched in this order. */
int ks_debug_set_new(const char *const *paths, size_t nr, struct ks_debug_set **ret_set,
		     struct ks_diag *diag);
void ks_debug_set_free(struct ks_debug_set *set);

/*
 * What has the code of a module, or of a source file of the kernel ("fs/pipe.c", NULL = not known). *ret_types is NULL
 * where no file does. It belongs to the set.
 */
int ks_debug_set_find(struct ks_debug_set *set, const char *module, const char *source,
		      struct ks_debug_types **ret_types, struct ks_diag *diag);

#endif
