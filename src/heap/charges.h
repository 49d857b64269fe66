/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which memory cgroup each object is charged to: the kernel notes it beside the slab, for every object. */
#ifndef KS_HEAP_CHARGES_H
#define KS_HEAP_CHARGES_H

#include "base/map64.h"
#include "heap/caches.h"

struct ks_census;
struct ks_slots;

/* Objects of one cache that one cgroup pays for. */
struct ks_charge {
	u32 cgroup, cache; /* cache KS_NONE: large kmalloc */
	u64 objects, bytes;
};

struct ks_charges {
	KS_VEC(const char *) paths; /* of cgroups, by number; not escaped */
	KS_VEC(struct ks_charge) rows;
	struct ks_map64 payers; /* addresses of the kernel's obj_cgroups */
	KS_VEC(u32) cgroup_of;	/* by number of the payer */
	struct ks_arena arena;
	u64 unreadable; /* slabs whose charges could not be read */
};

/* What a slot that has no cgroup of its own is charged to: nobody, or one that has no number. */
enum { KS_CHARGED_NOBODY = 0, KS_CHARGED_OTHER = UINT16_MAX };

int ks_charges_read(struct ks_kernel *kernel, const struct ks_pages *pages,
		    const struct ks_caches *caches, struct ks_charges **ret_charges,
		    struct ks_diag *diag);
void ks_charges_free(struct ks_charges *charges);

/* The cgroup that an obj_cgroup belongs to, plus 1; or one of the two numbers above. */
u16 ks_charges_cgroup(const struct ks_charges *charges, u64 payer);

/* The same by slot, for all slots (slot-charges.c). @ret_of is the caller's, of as many numbers as there are slots. */
int ks_charges_of_slots(struct ks_kernel *kernel, const struct ks_census *census,
			const struct ks_slots *slots, u16 *ret_of, struct ks_diag *diag);

#endif
