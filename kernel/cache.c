// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a slab cache is called and how large its slots are. The tracepoints hand out the cache, but
 * modules do not see its structure; where its name is in there is found out on a cache of our own.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "memorizer.h"

/* === Data ================================================================================= */

/* Offset of the name in struct kmem_cache; negative if it was not found. */
static int name_offset = -1;

/* === Internals ============================================================================ */

/* A cache with a constructor is never merged with another one, which would have another name. */
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

static u32 add_cache(struct mz_cache *entry, const struct mz_alloc *alloc)
{
	const char *name = (const char *)(unsigned long)entry->name_ptr;
	u32 id;

	if (name)
		strscpy_pad(entry->name, name, sizeof(entry->name));
	/* Any object of the cache tells; asking once for each cache is enough. */
	entry->slot_size = ksize((const void *)alloc->addr);
	if (!mz_table_add(&mz.names.caches, entry, &id))
		mz_count(MZ_NAMELESS_CACHES);
	return id;
}

/* === Public =============================================================================== */

/* Without a name all works but the names of the caches. */
void mz_cache_init(void)
{
	struct kmem_cache *cache;

	cache = kmem_cache_create(hex_asc, 64, 0, 0, sample_constructor);
	if (!cache)
		return;
	name_offset = find_name(cache);
	kmem_cache_destroy(cache);
}

/* Fills in what the cache of an allocation decides: its number and the sizes. */
void mz_cache_resolve(struct mz_alloc *alloc)
{
	struct mz_cache entry = {
		.cache = (unsigned long)alloc->cache,
		.name_ptr = (unsigned long)name_of(alloc->cache),
	};
	const struct mz_cache *known;

	alloc->bytes_req = kmem_cache_size(alloc->cache);
	alloc->bytes_alloc = alloc->bytes_req;
	if (!mz_table_find(&mz.names.caches, &entry, &alloc->cache_id)) {
		if (!alloc->addr)
			return;
		alloc->cache_id = add_cache(&entry, alloc);
	}
	known = mz_table_entry(&mz.names.caches, alloc->cache_id);
	alloc->bytes_alloc = max_t(size_t, known->slot_size, alloc->bytes_req);
}
