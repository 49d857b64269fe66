/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that the patched kernel calls; the calls of the compiler are in callbacks.c. */
#ifndef MEMORIZER_HOOKS_H
#define MEMORIZER_HOOKS_H

#include <linux/types.h>

struct kmem_cache;

#ifdef CONFIG_MEMORIZER_ACCESS
void memorizer_vmalloc(const void *addr, unsigned long size, const void *caller, gfp_t gfp,
		       int node);
void memorizer_vfree(const void *addr, unsigned long caller);

/* The functions of SLUB that hooks.c has wrappers of: see Makefile.access. */
int memorizer_slub_alloc_bulk(struct kmem_cache *cache, gfp_t gfp, size_t nr, void **objects);
void memorizer_slub_free_bulk(struct kmem_cache *cache, size_t nr, void **objects);
#else
static inline void memorizer_vmalloc(const void *addr, unsigned long size, const void *caller,
				     gfp_t gfp, int node)
{
}

static inline void memorizer_vfree(const void *addr, unsigned long caller)
{
}
#endif

#endif /* MEMORIZER_HOOKS_H */
