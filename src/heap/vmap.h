/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which of the kernel's pages are mapped outside of the direct map: vmalloc, stacks, modules, per-CPU memory. */
#ifndef KS_HEAP_VMAP_H
#define KS_HEAP_VMAP_H

#include "heap/pages.h"

/*
 * Walks the kernel's page tables and moves pages from KS_USE_KERNEL to KS_USE_VMALLOC. Without a page table
 * to begin with nothing changes.
 */
int ks_vmap_read(struct ks_kernel *kernel, struct ks_pages *pages, struct ks_diag *diag);

#endif
