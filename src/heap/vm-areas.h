/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which areas of the kernel's address space are the stacks of tasks, and which are per-CPU memory. */
#ifndef KS_HEAP_VM_AREAS_H
#define KS_HEAP_VM_AREAS_H

#include "heap/caches.h"

struct ks_vm_area {
	u64 start, end;
	enum ks_page_use use;
};

struct ks_vm_areas {
	KS_VEC(struct ks_vm_area) items; /* by address */
};

/* Finds none where the kernel's structures can't be found: what is there is of vmalloc, then. */
int ks_vm_areas_read(struct ks_kernel *kernel, const struct ks_pages *pages,
		     const struct ks_caches *caches, struct ks_vm_areas *ret_areas,
		     struct ks_diag *diag);
void ks_vm_areas_free(struct ks_vm_areas *areas);

/* KS_USE_STACK, KS_USE_PERCPU, or KS_USE_VMALLOC for all other addresses. */
enum ks_page_use ks_vm_areas_use(const struct ks_vm_areas *areas, u64 addr);

#endif
