/* SPDX-License-Identifier: LGPL-2.1-only */
/* A kernel whose memory can be read: the memory, its layouts, and where the big tables are. */
#ifndef KS_HEAP_KERNEL_H
#define KS_HEAP_KERNEL_H

#include "base/parallel.h"
#include "heap/layout.h"
#include "heap/memory.h"

struct btf;

struct ks_kernel {
	struct ks_memory *memory;
	struct btf *btf;
	struct ks_layout layout;
	u64 page_offset;			 /* where physical memory is mapped */
	u64 vmemmap;				 /* the struct page of page 0 */
	struct ks_span image, modules;		 /* see struct ks_memory_facts */
	u64 slab_caches;			 /* head of the list of caches; 0 = not known */
	u64 page_table;				 /* top level; 0 = not known */
	struct ks_memory *lanes[KS_WORKERS_MAX]; /* a handle for each thread; the first is memory */
	bool live;	    /* the kernel that runs here: /proc and /sys are its own */
	bool foreign_types; /* they are from a file that somebody gave */
	bool modules_added; /* btf has the types of modules, too */
	u64 odd_modules;    /* whose types make no sense */
};

/*
 * Takes the memory over, also when it fails. @btf_path NULL: the types that come with the memory, or those of the
 * running kernel. KS_EBADINPUT: a kernel that is not known here, by name.
 */
int ks_kernel_open(struct ks_memory *memory, const char *btf_path, struct ks_kernel **ret_kernel,
		   struct ks_diag *diag);

/* As above with types that are in memory; takes them over as well. */
int ks_kernel_open_btf(struct ks_memory *memory, struct btf *btf, bool live,
		       struct ks_kernel **ret_kernel, struct ks_diag *diag);

void ks_kernel_free(struct ks_kernel *kernel);

static inline u64 ks_kernel_page(const struct ks_kernel *k, u64 pfn)
{
	return k->vmemmap + pfn * k->layout.page_size;
}

static inline u64 ks_kernel_addr(const struct ks_kernel *k, u64 pfn)
{
	return k->page_offset + (pfn << 12);
}

/* Whether the address is in the kernel's code or data, or in a module's: where functions and variables are. */
static inline bool ks_kernel_in_image(const struct ks_kernel *k, u64 addr)
{
	return ks_span_has(&k->image, addr) || ks_span_has(&k->modules, addr);
}

/* Makes handles for this many threads, where there are none yet. */
int ks_kernel_lanes(struct ks_kernel *kernel, unsigned int count, struct ks_diag *diag);

/* One past the last page of memory. */
u64 ks_kernel_end(const struct ks_kernel *kernel);

/*
 * Whether this object lies in a slab, by the bases as they are; then its cache. It is how guesses of bases are
 * tried out.
 */
int ks_kernel_cache_of(struct ks_kernel *kernel, u64 object, u64 *ret_cache);

/*
 * The same with the slab's struct page, into KS_STRUCT_PAGE_MAX bytes, and where its memory begins. -ENOENT: the address
 * is not in a slab.
 */
int ks_kernel_slab_of(struct ks_kernel *kernel, u64 object, u8 *ret_page, u64 *ret_first);

/* Private: finds the bases that the memory's back end does not know (bases.c). */
int ks_kernel_find_bases(struct ks_kernel *kernel, struct ks_diag *diag);

#endif
