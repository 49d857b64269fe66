/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Where the fields of the kernel's own structures are, by its type information (BTF). What a kernel does
 * not have is KS_NONE; a kernel that lacks what nobody can do without is refused by name.
 */
#ifndef KS_HEAP_LAYOUT_H
#define KS_HEAP_LAYOUT_H

#include "base/diag.h"

struct btf;

/* A bit field: of @width bits, @shift bits above bit 0 of the 64-bit word at @at. */
struct ks_bits {
	u32 at;
	u8 shift, width;
};

/* How struct page says what a page is used for. */
enum ks_page_typing {
	KS_TYPING_NUMBER, /* a number in the top byte of page_type (since 6.12) */
	KS_TYPING_BITS,	  /* bits of page_type that are cleared, and PG_slab (before 6.10) */
};

struct ks_layout {
	/* struct page, and struct slab, which is the same memory; offsets in bytes */
	u32 page_size; /* of the struct */
	u32 page_flags, page_mapping, page_private, page_type, page_refcount, page_head, page_memcg,
		page_pp_magic;
	u32 slab_cache, slab_freelist, slab_next, slab_exts;
	struct ks_bits slab_inuse, slab_objects, slab_frozen, slab_stride;
	u32 node_shift; /* the node of a page is its flags shifted down by this; 64 = one node */

	enum ks_page_typing typing;
	u32 type_buddy, type_offline, type_table, type_guard, type_hugetlb, type_slab,
		type_zsmalloc, type_unaccepted, type_large_kmalloc;
	u32 flag_slab, flag_head, flag_reserved, flag_swapbacked, flag_lru; /* bit numbers */

	/* struct kmem_cache */
	u32 cache_size; /* of the struct, without the nodes at its end */
	u32 cache_cpu_slab, cache_cpu_sheaves, cache_flags, cache_object_size, cache_stride,
		cache_offset, cache_refcount, cache_ctor, cache_red_left_pad, cache_name,
		cache_list, cache_id, cache_random, cache_sheaf_capacity, cache_inuse;
	u32 cache_nodes, nodes, node_stride, node_pointer, barn_pointer;
	/* flags of a cache */
	u64 slab_reclaimable, slab_by_rcu, slab_dma, slab_account, slab_store_user;
	u32 track_addr; /* of what is noted of an allocation */

	/* where free objects wait that their slab counts as used */
	u32 cpu_size, cpu_freelist, cpu_slab, cpu_partial;
	u32 sheaves_size, sheaves_main, sheaves_spare, sheaves_rcu;
	u32 sheaf_size, sheaf_list, sheaf_cache, sheaf_count, sheaf_objects;
	u32 node_barn, barn_full;

	/* notes by object: charges and alloc tags, either of which may be KS_NONE */
	u32 ext_size, ext_objcg, ext_tag;
	u32 tag_line, tag_module, tag_function, tag_file;
	u32 objcg_memcg, memcg_css, css_cgroup, cgroup_kn, kn_parent, kn_name;

	/* page tables */
	u32 task_mm, mm_pgd;

	u64 lowest; /* no pointer of the kernel is below it; bases.c finds it */
};

/* No struct page is larger. */
enum { KS_STRUCT_PAGE_MAX = 256 };

/* KS_EBADINPUT: BTF lacks something. */
int ks_layout_load(const struct btf *btf, struct ks_layout *ret_layout, struct ks_diag *diag);

static inline u64 ks_bits_get(const struct ks_bits *bits, const void *base)
{
	u64 word;

	__builtin_memcpy(&word, (const u8 *)base + bits->at, sizeof(word));
	return word >> bits->shift & ((1ull << bits->width) - 1);
}

static inline u64 ks_u64_at(const void *base, u32 offset)
{
	u64 v;

	__builtin_memcpy(&v, (const u8 *)base + offset, sizeof(v));
	return v;
}

static inline u32 ks_u32_at(const void *base, u32 offset)
{
	u32 v;

	__builtin_memcpy(&v, (const u8 *)base + offset, sizeof(v));
	return v;
}

#endif
