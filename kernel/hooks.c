// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the patched kernel calls by itself: for areas of vmalloc() that come and go, and for slab
 * objects in bulk.
 */
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/mm.h>
#include <linux/numa.h>
#include <linux/slab.h>

/* In the kernel tree: the functions of SLUB. */
#include "../../slab.h"

#include "bulk.h"
#include "events.h"
#include "hooks.h"
#include "memorizer.h"

/* === Public =============================================================================== */

void memorizer_vmalloc(const void *addr, unsigned long size, const void *caller, gfp_t gfp,
		       int node)
{
	if (!mz_events_attached())
		return;
	mz_alloc(&(struct mz_alloc){
		.kind = MEMORIZER_VMALLOC,
		.ip = (unsigned long)caller,
		.addr = (unsigned long)addr,
		.bytes_req = size,
		.bytes_alloc = PAGE_ALIGN(size),
		.gfp = gfp,
		.node = node,
	});
}

void memorizer_vfree(const void *addr, unsigned long caller)
{
	if (mz_events_attached())
		mz_free(MEMORIZER_VMALLOC, caller, (unsigned long)addr, 0);
}

/* It makes all or none, and says how many, or since 7.2 whether. */
typeof(MZ_ALLOC_BULK(NULL, 0, 0, NULL)) MZ_ALLOC_BULK(struct kmem_cache *cache, gfp_t gfp,
						      size_t nr, void **objects)
{
	typeof(MZ_ALLOC_BULK(NULL, 0, 0, NULL)) made =
		memorizer_slub_alloc_bulk(cache, gfp, nr, objects);
	size_t i;

	for (i = 0; i < nr && made && mz_events_attached(); i++) {
		mz_alloc(&(struct mz_alloc){
			.kind = MEMORIZER_CACHE,
			.ip = _RET_IP_,
			.addr = (unsigned long)objects[i],
			.cache = cache,
			.gfp = gfp,
			.node = NUMA_NO_NODE,
		});
	}
	return made;
}
EXPORT_SYMBOL(MZ_ALLOC_BULK);

/* Without a cache, objects of kmalloc(), among them the batches of kfree_rcu(). */
void kmem_cache_free_bulk(struct kmem_cache *cache, size_t nr, void **objects)
{
	enum memorizer_kind kind = cache ? MEMORIZER_CACHE : MEMORIZER_KMALLOC;
	size_t i;

	for (i = 0; i < nr && mz_events_attached(); i++)
		mz_free(kind, _RET_IP_, (unsigned long)objects[i], 0);
	memorizer_slub_free_bulk(cache, nr, objects);
}
EXPORT_SYMBOL(kmem_cache_free_bulk);

#ifdef MEMORIZER_SHEAVES

/*
 * True: the object is in a sheaf, which is handed out again after a grace period, and nothing more
 * is heard of it. False: it goes to a batch, and so to kmem_cache_free_bulk().
 */
bool __kfree_rcu_sheaf(struct kmem_cache *cache, void *object, unsigned int flags)
{
	bool taken = memorizer_slub_kfree_rcu(cache, object, flags);

	if (taken && mz_events_attached())
		mz_free(MEMORIZER_KMALLOC, _RET_IP_, (unsigned long)object, 0);
	return taken;
}

#endif /* MEMORIZER_SHEAVES */
