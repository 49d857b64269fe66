/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the objects of a cache are, by the name of the cache. */
#ifndef KS_HEAP_CACHE_TYPES_H
#define KS_HEAP_CACHE_TYPES_H

#include "heap/btf-types.h"
#include "heap/aliases.h"

/*
 * The type of all objects of the cache; 0 where they may be anything: kmalloc, and caches that were merged from several
 * that have different types.
 */
u32 ks_cache_type(struct ks_types *types, const struct ks_caches *caches, u32 cache);

/* For what stays unknown in a merged cache: "dquot | kioctx", all that it may be. 0: it is no merged cache. */
u32 ks_cache_either(struct ks_types *types, const struct ks_caches *caches, u32 cache,
		    const struct ks_aliases *aliases);

/* The structs among what a merged cache may have; how many. */
u32 ks_cache_candidates(struct ks_types *types, const struct ks_caches *caches, u32 cache,
			const struct ks_aliases *aliases, u32 *candidates, u32 max);

/* Whether the kernel has merged other caches into it. Caches of kmalloc() may have anything anyway. */
bool ks_cache_merged(const struct ks_cache *cache);

/* An object of kmalloc() in this cache was asked for with more bytes than this; 0 = it can't be said. */
u32 ks_cache_floor(const struct ks_cache *cache);

#endif
