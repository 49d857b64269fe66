/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which memory cgroup each object is charged to: the kernel notes it beside the slab, for every object. */
#ifndef KS_HEAP_CHARGES_H
#define KS_HEAP_CHARGES_H

#include "heap/caches.h"

/* Objects of one cache that one cgroup pays for. */
struct ks_charge {
	u32 cgroup, cache; /* cache KS_NONE: large kmalloc */
	u64 objects, bytes;
};

struct ks_charges {
	KS_VEC(const char *) paths; /* of cgroups, by number; not escaped */
	KS_VEC(struct ks_charge) rows;
	struct ks_arena arena;
	u64 unreadable; /* slabs whose charges could not be read */
};

int ks_charges_read(struct ks_kernel *kernel, const struct ks_pages *pages,
		    const struct ks_caches *caches, struct ks_charges **ret_charges,
		    struct ks_diag *diag);
void ks_charges_free(struct ks_charges *charges);

#endif
