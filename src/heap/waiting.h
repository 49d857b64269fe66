/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Free objects that wait outside of their slab to be handed out again, on the lists of a CPU, in its sheaves
 * or in a node's barn. Their slab counts them as used, and so does /proc/slabinfo.
 */
#ifndef KS_HEAP_WAITING_H
#define KS_HEAP_WAITING_H

#include "heap/caches.h"

enum ks_waiting_place {
	KS_WAITING_CPU,	  /* the free list of a CPU's slab */
	KS_WAITING_SHEAF, /* a CPU's sheaves */
	KS_WAITING_BARN,  /* full sheaves of a node */
	KS_WAITING_PLACES,
};

struct ks_waiting_object {
	u64 addr;
	u32 cache;
	u32 place; /* enum ks_waiting_place */
};

struct ks_waiting {
	KS_VEC(struct ks_waiting_object) objects; /* by address, each once */
	u64 torn;  /* lists that changed whenever they were followed */
	u64 stray; /* objects that lie in no slab of their cache */
};

/*
 * Reads the lists, and once more the slabs that CPUs allocate from: the counts of a slab and of the list that was
 * taken from it belong together.
 */
int ks_waiting_read(struct ks_kernel *kernel, struct ks_pages *pages,
		    const struct ks_caches *caches, struct ks_waiting **ret_waiting,
		    struct ks_diag *diag);
void ks_waiting_free(struct ks_waiting *waiting);

/*
 * Adds to @aside, by number of the cache, the free objects of slabs that are set aside for a CPU: what slabinfo
 * counts as used besides what waits (aside.c).
 */
int ks_aside_read(struct ks_kernel *kernel, const struct ks_pages *pages,
		  const struct ks_caches *caches, u64 *aside, struct ks_diag *diag);

/* The slab that this address lies in, or NULL. Slabs are in the order of their addresses. */
struct ks_slab *ks_slab_at(const struct ks_kernel *kernel, const struct ks_pages *pages, u64 addr);

/* The number of the object of the slab that begins at this address, or KS_NONE. */
u32 ks_slab_index(const struct ks_kernel *kernel, const struct ks_slab *slab,
		  const struct ks_cache *cache, u64 addr);

#endif
