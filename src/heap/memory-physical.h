/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Kernel memory of x86-64 or arm64 by physical address: of a dump, or of a machine that is emulated. Which page an address is in,
 * the kernel's own page tables say, and where these and its symbols are, the note that it has left for this (vmcoreinfo).
 */
#ifndef KS_HEAP_MEMORY_PHYSICAL_H
#define KS_HEAP_MEMORY_PHYSICAL_H

#include "heap/memory.h"

struct ks_physical;

struct ks_physical_ops {
	const char *name; /* of the back end */

	/* Whole, or -EFAULT. */
	int (*read)(struct ks_physical *physical, u64 addr, void *buf, size_t len);

	/*
	 * Where it is not known which address memory has: assumes the next layout, from 1 on. 0: as it lies, to search it.
	 * False: there is none. NULL: it is known.
	 */
	bool (*guess)(struct ks_physical *physical, u32 n);

	/* Another handle, for another thread; NULL = out of memory. */
	struct ks_physical *(*dup)(struct ks_physical *physical);

	/* The kernel's note, to be freed, or NULL: then it is searched in the first pages. */
	char *(*note)(struct ks_physical *physical);

	/* Accepts NULL. */
	void (*free)(struct ks_physical *physical);
};

/* At the front of what a back end knows. */
struct ks_physical {
	const struct ks_physical_ops *ops;
	u64 first, pages; /* that may have the note */
	u64 end; /* RAM does not end above it, by the layout that is assumed; 0 = that is not known */
	bool exact; /* nor below it */
};

/* Takes @physical over, also when it fails. @path: what messages call it. */
int ks_memory_open_physical(const char *path, struct ks_physical *physical,
			    struct ks_memory **ret_memory, struct ks_diag *diag);

#endif
