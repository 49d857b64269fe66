/* SPDX-License-Identifier: LGPL-2.1-only */
/* Sheaves and barns (since 6.18): arrays of free objects, by CPU and by node. */
#ifndef KS_HEAP_SHEAVES_H
#define KS_HEAP_SHEAVES_H

#include "heap/waiting.h"

/* Adds what waits in sheaves and barns, unsorted. Nothing on kernels that have none. */
int ks_sheaves_read(struct ks_kernel *kernel, const struct ks_pages *pages,
		    const struct ks_caches *caches, struct ks_waiting *waiting,
		    struct ks_diag *diag);

#endif
