/* SPDX-License-Identifier: LGPL-2.1-only */
/* The slab caches of a kernel. */
#ifndef KS_HEAP_CACHES_H
#define KS_HEAP_CACHES_H

#include "base/arena.h"
#include "heap/pages.h"

struct ks_cache {
	u64 addr;
	const char *name; /* as the kernel has it: not escaped */
	const char *id;	  /* of its folder in /sys/kernel/slab; "" = not known */
	u64 flags, ctor, random;
	u64 cpu_slab, cpu_sheaves;    /* per-CPU pointers; 0 = it has none */
	u32 size;		      /* from one object to the next */
	u32 object_size, offset, pad; /* pad: in front of the first object */
	u32 users;		      /* caches that were merged into it, itself included */
	bool valid;		      /* what could be read makes sense */
	bool listed;		      /* in the kernel's list of caches */
};

struct ks_caches {
	KS_VEC(struct ks_cache) items; /* by number: that of pages->caches */
	struct ks_arena arena;
	u64 invalid; /* that slabs name but that make no sense */
};

/* Adds the caches that have no slab to pages->caches. */
int ks_caches_read(struct ks_kernel *kernel, struct ks_pages *pages, struct ks_caches **ret_caches,
		   struct ks_diag *diag);
void ks_caches_free(struct ks_caches *caches);

/*
 * What the free pointer of an object of this cache says: the next free object. @stored is the word at
 * @at, that is at the object's address plus cache->offset.
 */
static inline u64 ks_cache_next_free(const struct ks_layout *l, const struct ks_cache *cache,
				     u64 stored, u64 at)
{
	return l->cache_random == KS_NONE ? stored : stored ^ cache->random ^ __builtin_bswap64(at);
}

/* Reclaimable on demand, as the kernel counts it (SReclaimable). */
static inline bool ks_cache_reclaimable(const struct ks_layout *l, const struct ks_cache *cache)
{
	return cache->flags & l->slab_reclaimable;
}

#endif
