// SPDX-License-Identifier: GPL-2.0-only
/*
 * The name of a slab cache and the size of its slots. The tracepoints give a pointer to the
 * cache, but the layout of its structure is private to mm/. So the offset of the name is found by
 * looking for a known pointer in a cache that is made for this purpose.
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "compat.h"
#include "events.h"
#include "record.h"

/* === Data ================================================================================= */

/* Offset of the name in struct kmem_cache; negative if it was not found. */
static int name_offset = -1;

/* === Internals ============================================================================ */

/* The kernel never merges a cache that has a constructor with another cache. */
static void sample_constructor(void *object)
{
}

static const char *name_of(struct kmem_cache *cache)
{
	return name_offset < 0 ? NULL : *(const char **)((char *)cache + name_offset);
}

/*
 * The kernel keeps the pointer to a name that is part of its own image, as hex_asc is. So the name
 * is where that pointer is.
 */
static int find_name(const struct kmem_cache *cache)
{
	const char *const *words = (const char *const *)cache;
	unsigned int i, nr = ksize(cache) / sizeof(*words);

	for (i = 0; i < nr; i++) {
		if (words[i] == hex_asc)
			return i * sizeof(*words);
	}
	return -1;
}

/* === Public =============================================================================== */

/* If the name is not found, caches have no names and all else works. */
void mz_cache_init(void)
{
	struct kmem_cache *cache;

	cache = kmem_cache_create(hex_asc, 64, 0, 0, sample_constructor);
	if (!cache)
		return;
	name_offset = find_name(cache);
	kmem_cache_destroy(cache);
}

/**
 * mz_cache_identity() - a number that differs between caches, also between two at one address
 * @cache: a cache that something was allocated from just now, so it is not being destroyed
 *
 * kmem_cache_destroy() raises no event, and the next cache may get the memory of the last one: the
 * structure, and the string with its name. So neither pointer says which cache it is; what is in
 * there does.
 */
u64 mz_cache_identity(struct kmem_cache *cache)
{
	const char *name = name_of(cache);
	u64 hash = (unsigned long)cache * GOLDEN_RATIO_64 + kmem_cache_size(cache);
	unsigned int i;

	/* FNV-1a, over as much of the name as mz_cache_describe() copies. */
	for (i = 0; name && i < MEMORIZER_CACHE_LEN - 1 && name[i]; i++)
		hash = (hash ^ (u8)name[i]) * 0x100000001b3ULL;
	return hash;
}

/* What a cache decides for all its objects, of which @object is one. */
void mz_cache_describe(struct kmem_cache *cache, const void *object, struct mz_site *site)
{
	const char *name = name_of(cache);

	if (name)
		strscpy_pad(site->cache, name, sizeof(site->cache));
	site->bytes_req = kmem_cache_size(cache);
	site->bytes_alloc = max_t(size_t, ksize(object), site->bytes_req);
}
