/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which of the kernel's pages are mapped outside of the direct map: vmalloc, stacks, modules, per-CPU memory. */
#ifndef KS_HEAP_VMAP_H
#define KS_HEAP_VMAP_H

#include "heap/vm-areas.h"

/* Pages in a row, mapped one behind the other. */
struct ks_mapping {
	u64 addr;
	u64 pfn, pages;
	bool executable;
	bool structs; /* the struct pages */
};

typedef void ks_vmap_fn(void *arg, const struct ks_mapping *mapping);

/*
 * Walks the kernel's page tables and calls @fn for each mapping outside of the direct map, in no given order. Without
 * a page table to begin with there are none.
 */
int ks_vmap_walk(struct ks_kernel *kernel, ks_vmap_fn *fn, void *arg, struct ks_diag *diag);

/*
 * Walks the kernel's page tables and moves pages from KS_USE_KERNEL to what the areas say, mostly
 * KS_USE_VMALLOC. Without a page table to begin with nothing changes.
 */
int ks_vmap_read(struct ks_kernel *kernel, const struct ks_vm_areas *areas, struct ks_pages *pages,
		 struct ks_diag *diag);

#endif
