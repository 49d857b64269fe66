/* SPDX-License-Identifier: LGPL-2.1-only */
/* All struct pages of a kernel: what each page of memory is used for, and the slabs. */
#ifndef KS_HEAP_PAGES_H
#define KS_HEAP_PAGES_H

#include "base/map64.h"
#include "heap/kernel.h"

enum ks_page_use {
	KS_USE_FREE,	 /* in the page allocator's free lists */
	KS_USE_UNUSED,	 /* referenced by nobody: per-CPU free lists, tails of plain blocks */
	KS_USE_DEFERRED, /* free, its struct page was never written */
	KS_USE_SLAB,
	KS_USE_KMALLOC, /* one large kmalloc() */
	KS_USE_ANON,
	KS_USE_FILE,
	KS_USE_SHMEM,
	KS_USE_TABLE,
	KS_USE_VMALLOC, /* mapped into the kernel's own address space (vmap.c) */
	KS_USE_STACK,	/* of these the stacks of tasks, and per-CPU memory (vm-areas.c) */
	KS_USE_PERCPU,
	KS_USE_POOL, /* of the network's page pools */
	KS_USE_HUGETLB,
	KS_USE_ZSMALLOC,
	KS_USE_OFFLINE,
	KS_USE_GUARD,
	KS_USE_UNACCEPTED,
	KS_USE_KERNEL,	 /* in use, and nothing says by whom */
	KS_USE_RESERVED, /* never given to the page allocator: not part of MemTotal */
	KS_USE_UNREADABLE,
	KS_USES,
};

enum { KS_BLOCK_ORDER = 10 }; /* the largest free block of the page allocator */

struct ks_slab {
	u64 pfn;
	u64 freelist;
	u64 exts;  /* charges: the word of the slab, flags and all */
	u32 cache; /* number of the cache */
	u16 inuse, objects;
	u16 pages;
	u16 stride; /* of the charges; 0 = the size of their struct */
	u16 node;
	bool frozen;
};

/* Memory of one large kmalloc(), which is in no cache. */
struct ks_large {
	u64 pfn;
	u64 memcg; /* charge: the word of the page */
	u32 pages;
	u16 node;
};

struct ks_pages {
	u64 kinds[KS_USES];	      /* in pages */
	KS_VEC(struct ks_slab) slabs; /* by address */
	KS_VEC(struct ks_large) large;
	struct ks_map64 caches; /* addresses of the caches that slabs name: their numbers */
	u64 *unexplained;	/* a bit for each page of KS_USE_KERNEL */
	u64 *reserved;		/* and of KS_USE_RESERVED */
	u64 *busy; /* a bit for each block of 2^KS_BLOCK_ORDER pages that is not free as a whole */
	u64 end;   /* pages that have a bit */
	u64 torn;  /* pages whose parts contradict each other: they changed while they were read */
};

int ks_pages_read(struct ks_kernel *kernel, struct ks_pages **ret_pages, struct ks_diag *diag);
void ks_pages_free(struct ks_pages *pages);

/* What one struct page says, for who reads it again. A tail is no kind: KS_USES. */
enum ks_page_use ks_page_classify(const struct ks_layout *layout, const void *page);

/* The fields of a slab but for its number of pages, from its struct page. */
void ks_slab_parse(const struct ks_layout *layout, const void *page, struct ks_slab *ret_slab,
		   u64 *ret_cache);

/*
 * Reads the struct pages of slabs once more. What is no slab of that cache any more has no objects.
 */
int ks_slabs_refresh(struct ks_kernel *kernel, struct ks_pages *pages, struct ks_slab **slabs,
		     size_t count, struct ks_diag *diag);

/* "free", "slab", ... for rows of tables; and one line that says what it is. */
const char *ks_page_use_name(enum ks_page_use kind);
const char *ks_page_use_text(enum ks_page_use kind);

#endif
