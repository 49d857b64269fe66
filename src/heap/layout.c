// SPDX-License-Identifier: LGPL-2.1-only
/* Layouts of the kernel's structures from BTF: one table of wanted fields, then what differs by release. */
#include "heap/layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

#include "heap/btf-members.h"

/* === Data ================================================================================= */

/* Names are alternatives, the newest first: releases rename things. */
struct want {
	size_t into; /* a u32 in struct ks_layout */
	const char *types, *members;
	bool needed;
};

#define WANT(field, types, members, needed)                                   \
	{                                                                     \
		offsetof(struct ks_layout, field), (types), (members), needed \
	}

static const struct want wants[] = {
	WANT(page_flags, "page", "flags", true),
	WANT(page_mapping, "page", "mapping", true),
	WANT(page_private, "page", "private", true),
	WANT(page_type, "page", "page_type", true),
	WANT(page_refcount, "page", "_refcount", true),
	WANT(page_head, "page", "compound_info|compound_head", true),
	WANT(page_memcg, "page", "memcg_data", false),
	WANT(page_pp_magic, "page", "pp_magic", false),
	WANT(slab_cache, "slab|page", "slab_cache", true),
	WANT(slab_freelist, "slab|page", "freelist", true),
	WANT(slab_next, "slab|page", "next", false),
	WANT(slab_exts, "slab|page", "obj_exts|memcg_data|obj_cgroups", false),

	WANT(cache_cpu_slab, "kmem_cache", "cpu_slab", false),
	WANT(cache_cpu_sheaves, "kmem_cache", "cpu_sheaves", false),
	WANT(cache_flags, "kmem_cache", "flags", true),
	WANT(cache_stride, "kmem_cache", "size", true),
	WANT(cache_object_size, "kmem_cache", "object_size", true),
	WANT(cache_offset, "kmem_cache", "offset", true),
	WANT(cache_refcount, "kmem_cache", "refcount", true),
	WANT(cache_ctor, "kmem_cache", "ctor", true),
	WANT(cache_red_left_pad, "kmem_cache", "red_left_pad", true),
	WANT(cache_name, "kmem_cache", "name", true),
	WANT(cache_list, "kmem_cache", "list", true),
	WANT(cache_random, "kmem_cache", "random", false),
	WANT(cache_sheaf_capacity, "kmem_cache", "sheaf_capacity", false),
	WANT(cache_inuse, "kmem_cache", "inuse", false),
	WANT(track_addr, "track", "addr", false),
	WANT(cache_nodes, "kmem_cache", "per_node|node", true),

	WANT(cpu_freelist, "kmem_cache_cpu", "freelist", false),
	WANT(cpu_slab, "kmem_cache_cpu", "slab|page", false),
	WANT(cpu_partial, "kmem_cache_cpu", "partial", false),
	WANT(sheaves_main, "slub_percpu_sheaves", "main", false),
	WANT(sheaves_spare, "slub_percpu_sheaves", "spare", false),
	WANT(sheaves_rcu, "slub_percpu_sheaves", "rcu_free", false),
	WANT(sheaf_list, "slab_sheaf", "barn_list", false),
	WANT(sheaf_cache, "slab_sheaf", "cache", false),
	WANT(sheaf_count, "slab_sheaf", "size", false),
	WANT(sheaf_objects, "slab_sheaf", "objects", false),
	WANT(node_barn, "kmem_cache_node", "barn", false),
	WANT(barn_full, "node_barn", "sheaves_full", false),

	WANT(ext_objcg, "slabobj_ext", "objcg", false),
	WANT(ext_tag, "slabobj_ext", "ref", false),
	WANT(tag_line, "codetag", "lineno", false),
	WANT(tag_module, "codetag", "modname", false),
	WANT(tag_function, "codetag", "function", false),
	WANT(tag_file, "codetag", "filename", false),
	WANT(objcg_memcg, "obj_cgroup", "memcg", false),
	WANT(memcg_css, "mem_cgroup", "css", false),
	WANT(css_cgroup, "cgroup_subsys_state", "cgroup", false),
	WANT(cgroup_kn, "cgroup", "kn", false),
	WANT(kn_parent, "kernfs_node", "__parent|parent", false),
	WANT(kn_name, "kernfs_node", "name", false),

	WANT(task_mm, "task_struct", "mm", false),
	WANT(mm_pgd, "mm_struct", "pgd", false),
};

/* The structs and enums that are wanted: found in one pass, as BTF has no index by name. */
static const char *const names[] = {
	"page",
	"slab",
	"kmem_cache",
	"kmem_cache_cpu",
	"slub_percpu_sheaves",
	"slab_sheaf",
	"kmem_cache_node",
	"node_barn",
	"slabobj_ext",
	"codetag",
	"obj_cgroup",
	"mem_cgroup",
	"cgroup_subsys_state",
	"cgroup",
	"kernfs_node",
	"task_struct",
	"mm_struct",
	"kobject",
	"pageflags",
	"pagetype",
	"_slab_flag_bits",
	"track",
};

#define NODES offsetof(struct ks_layout, cache_nodes)

/* === Internals: fields ==================================================================== */

static int need(struct ks_diag *diag, const char *what)
{
	return ks_diag_set(
		diag, KS_EBADINPUT,
		"the kernel's type information has no %s: a layout that is not known here", what);
}

static int load_fields(const struct ks_btf_types *types, struct ks_layout *l, struct ks_diag *diag)
{
	const struct want *want;
	struct ks_btf_found found;
	char what[160];
	u32 *into;

	for (want = wants; want < wants + ARRAY_SIZE(wants); want++) {
		into = (u32 *)((char *)l + want->into);
		*into = KS_NONE;
		if (ks_btf_find_field(types, want->types, want->members, &found)) {
			*into = found.bit / 8;
		} else if (want->needed) {
			snprintf(what, sizeof(what), "%s.%s", want->types, want->members);
			return need(diag, what);
		}
	}
	return 0;
}

/* === Internals: what takes more than an offset ============================================ */

static bool find_bits(const struct ks_btf_types *types, const char *name, struct ks_bits *ret)
{
	struct ks_btf_found found;

	if (!ks_btf_find_field(types, "slab|page", name, &found))
		return false;
	*ret = (struct ks_bits){
		.at = found.bit / 64 * 8,
		.shift = (u8)(found.bit % 64),
		.width = (u8)(found.bits ? found.bits : 32),
	};
	return ret->shift + ret->width <= 64;
}

/* Who walks over pages takes words out of them unchecked. */
static int check_page(const struct ks_layout *l, struct ks_diag *diag)
{
	const u32 words[] = {
		l->page_flags,		l->page_mapping,    l->page_private,   l->page_type & ~7u,
		l->page_refcount & ~7u, l->page_head,	    l->slab_cache,     l->slab_freelist,
		l->slab_inuse.at,	l->slab_objects.at, l->slab_frozen.at, l->slab_stride.at,
	};
	const u32 optional[] = { l->page_memcg, l->page_pp_magic, l->slab_next, l->slab_exts };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i] > l->page_size - 8)
			return need(diag, "struct page that holds its own fields");
	for (i = 0; i < ARRAY_SIZE(optional); i++)
		if (optional[i] != KS_NONE && optional[i] > l->page_size - 8)
			return need(diag, "struct page that holds its own fields");
	return 0;
}

static int load_slab(const struct ks_btf_types *types, struct ks_layout *l, struct ks_diag *diag)
{
	l->page_size = ks_btf_size(types, "page");
	if (l->page_size == KS_NONE || l->page_size < 32 || l->page_size > KS_STRUCT_PAGE_MAX)
		return need(diag, "struct page of a plausible size");
	if (!find_bits(types, "inuse", &l->slab_inuse) ||
	    !find_bits(types, "objects", &l->slab_objects) ||
	    !find_bits(types, "frozen", &l->slab_frozen))
		return need(diag, "counters of a slab (SLUB is the one allocator that is known)");
	if (!find_bits(types, "stride", &l->slab_stride))
		l->slab_stride.width = 0;
	return check_page(l, diag);
}

/* Before 6.10 these are macros. Up to 5.10, where a page names its cgroup, one more bit is between them. */
static void type_bits_of_old(const struct ks_btf_types *types, struct ks_layout *l)
{
	struct ks_btf_found found;
	bool charged = ks_btf_find_field(types, "page", "mem_cgroup", &found);

	l->typing = KS_TYPING_BITS;
	l->type_buddy = 0x80;
	l->type_offline = 0x100;
	l->type_table = charged ? 0x400 : 0x200;
	l->type_guard = charged ? 0x800 : 0x400;
	l->type_hugetlb = l->type_slab = l->type_zsmalloc = l->type_unaccepted =
		l->type_large_kmalloc = KS_NONE;
}

static int load_page_types(const struct ks_btf_types *types, struct ks_layout *l,
			   struct ks_diag *diag)
{
	ks_btf_enumerator(types, "pageflags", "PG_slab", &l->flag_slab);
	ks_btf_enumerator(types, "pageflags", "PG_swapbacked", &l->flag_swapbacked);
	ks_btf_enumerator(types, "pageflags", "PG_lru", &l->flag_lru);
	if (!ks_btf_enumerator(types, "pageflags", "PG_head", &l->flag_head) ||
	    !ks_btf_enumerator(types, "pageflags", "PG_reserved", &l->flag_reserved))
		return need(diag, "enum pageflags with PG_head and PG_reserved");
	if (ks_btf_enumerator(types, "pagetype", "PGTY_slab", &l->type_slab) &&
	    ks_btf_enumerator(types, "pagetype", "PGTY_buddy", &l->type_buddy)) {
		l->typing = KS_TYPING_NUMBER;
		ks_btf_enumerator(types, "pagetype", "PGTY_offline", &l->type_offline);
		ks_btf_enumerator(types, "pagetype", "PGTY_table", &l->type_table);
		ks_btf_enumerator(types, "pagetype", "PGTY_guard", &l->type_guard);
		ks_btf_enumerator(types, "pagetype", "PGTY_hugetlb", &l->type_hugetlb);
		ks_btf_enumerator(types, "pagetype", "PGTY_zsmalloc", &l->type_zsmalloc);
		ks_btf_enumerator(types, "pagetype", "PGTY_unaccepted", &l->type_unaccepted);
		ks_btf_enumerator(types, "pagetype", "PGTY_large_kmalloc", &l->type_large_kmalloc);
		return 0;
	}
	if (l->flag_slab != KS_NONE) {
		type_bits_of_old(types, l);
		return 0;
	}
	return need(diag, "PGTY_slab in enum pagetype and no PG_slab in enum pageflags (Linux "
			  "6.10 and 6.11 have neither)");
}

/* One flag of a cache: its bit where an enum numbers them (since 6.9), else what it was before. */
static u64 cache_flag(const struct ks_btf_types *types, const char *name, u64 before)
{
	u32 bit;

	if (ks_btf_enumerator(types, "_slab_flag_bits", name, &bit))
		return 1ull << (bit & 63);
	if (ks_btf_id(types, "_slab_flag_bits"))
		return 0;
	return before;
}

/* The nodes at the end of struct kmem_cache: an array, whose length also says how wide a node's number is. */
static int load_nodes(const struct ks_btf_types *types, struct ks_layout *l, struct ks_diag *diag)
{
	const struct btf_type *type;
	struct ks_btf_found found, pointer;
	u32 id;

	l->node_pointer = 0;
	l->barn_pointer = KS_NONE;
	l->node_stride = 8;
	if (!ks_btf_find_field(types, "kmem_cache", "per_node|node", &found))
		return need(diag, "kmem_cache.node");
	id = found.type;
	type = ks_btf_resolve(types->btf, &id);
	if (!type || !btf_is_array(type) || !btf_array(type)->nelems)
		return need(diag, "array of nodes in struct kmem_cache");
	l->nodes = btf_array(type)->nelems;
	id = btf_array(type)->type;
	type = ks_btf_resolve(types->btf, &id);
	if (type && btf_is_composite(type)) {
		if (!ks_btf_find_member(types->btf, id, "node", &pointer))
			return need(diag, "kmem_cache.per_node[].node");
		l->node_stride = type->size;
		l->node_pointer = pointer.bit / 8;
		if (ks_btf_find_member(types->btf, id, "barn", &pointer))
			l->barn_pointer = pointer.bit / 8;
	}
	l->node_shift = 64;
	while (l->node_shift > 32 && 1u << (64 - l->node_shift) < l->nodes)
		l->node_shift--;
	return 0;
}

static bool in_cache(const struct ks_layout *l, u32 offset)
{
	return offset == KS_NONE || offset + 8ull <= l->cache_size;
}

static int load_cache(const struct ks_btf_types *types, struct ks_layout *l, struct ks_diag *diag)
{
	struct ks_btf_found kobj, name;
	const struct want *want;

	l->cache_size = l->cache_nodes;
	if (l->cache_size > 4096)
		return need(diag, "struct kmem_cache of a plausible size");
	l->cache_id = KS_NONE;
	if (ks_btf_find_field(types, "kmem_cache", "kobj", &kobj) &&
	    ks_btf_find_field(types, "kobject", "name", &name))
		l->cache_id = (kobj.bit + name.bit) / 8;
	for (want = wants; want < wants + ARRAY_SIZE(wants); want++)
		if (!strcmp(want->types, "kmem_cache") && want->into != NODES &&
		    !in_cache(l, *(u32 *)((char *)l + want->into)))
			return need(diag, "struct kmem_cache with the nodes at its end");
	if (!in_cache(l, l->cache_id) || !in_cache(l, l->cache_list + 8))
		return need(diag, "struct kmem_cache with the nodes at its end");
	l->slab_reclaimable = cache_flag(types, "_SLAB_RECLAIM_ACCOUNT", 0x20000);
	l->slab_by_rcu = cache_flag(types, "_SLAB_TYPESAFE_BY_RCU", 0x80000);
	l->slab_dma = cache_flag(types, "_SLAB_CACHE_DMA", 0x4000);
	l->slab_store_user = cache_flag(types, "_SLAB_STORE_USER", 0x10000);
	l->slab_account = cache_flag(types, "_SLAB_ACCOUNT", 0x4000000);
	return load_nodes(types, l, diag);
}

/* Free objects that wait outside of slabs: either there is a way that is known, or the kernel is refused. */
static int load_waiting(const struct ks_btf_types *types, struct ks_layout *l, struct ks_diag *diag)
{
	l->cpu_size = ks_btf_size(types, "kmem_cache_cpu");
	l->sheaves_size = ks_btf_size(types, "slub_percpu_sheaves");
	l->sheaf_size = ks_btf_size(types, "slab_sheaf");
	if (l->cache_cpu_slab == KS_NONE && l->cache_cpu_sheaves == KS_NONE)
		return need(diag, "kmem_cache.cpu_slab and no kmem_cache.cpu_sheaves");
	if (l->cache_cpu_slab != KS_NONE &&
	    (l->cpu_size == KS_NONE || l->cpu_freelist == KS_NONE || l->cpu_slab == KS_NONE))
		return need(diag, "struct kmem_cache_cpu with freelist and slab");
	if (l->cache_cpu_sheaves != KS_NONE &&
	    (l->sheaves_size == KS_NONE || l->sheaves_main == KS_NONE ||
	     l->sheaves_spare == KS_NONE || l->sheaf_size == KS_NONE || l->sheaf_count == KS_NONE ||
	     l->sheaf_objects == KS_NONE || l->sheaf_list == KS_NONE || l->barn_full == KS_NONE))
		return need(diag, "sheaves and barns as they are known");
	return 0;
}

static void load_notes(const struct ks_btf_types *types, struct ks_layout *l)
{
	l->ext_size = ks_btf_size(types, "slabobj_ext");
	if (l->ext_size == KS_NONE) {
		/* Before 6.10: an array of pointers. */
		l->ext_size = 8;
		l->ext_objcg = 0;
	}
	/* Kernels without either have an empty struct. */
	if (l->objcg_memcg == KS_NONE || l->slab_exts == KS_NONE || l->ext_size < 8)
		l->ext_objcg = KS_NONE;
	if (l->tag_line == KS_NONE || l->tag_module == KS_NONE || l->tag_function == KS_NONE ||
	    l->tag_file == KS_NONE || l->slab_exts == KS_NONE || l->ext_size < 8)
		l->ext_tag = KS_NONE;
	if (l->ext_objcg == KS_NONE && l->ext_tag == KS_NONE)
		l->slab_exts = KS_NONE;
}

/* === Public =============================================================================== */

int ks_layout_load(const struct btf *btf, struct ks_layout *ret_layout, struct ks_diag *diag)
{
	u32 ids[ARRAY_SIZE(names)];
	struct ks_btf_types types = { btf, names, ids, ARRAY_SIZE(names) };
	struct ks_layout l = { 0 };
	int err;

	if (btf__pointer_size(btf) != 8)
		return need(diag, "64-bit pointers");
	ks_btf_find_types(&types);
	err = load_fields(&types, &l, diag);
	if (!err)
		err = load_slab(&types, &l, diag);
	if (!err)
		err = load_page_types(&types, &l, diag);
	if (!err)
		err = load_cache(&types, &l, diag);
	if (!err)
		err = load_waiting(&types, &l, diag);
	if (err)
		return err;
	load_notes(&types, &l);
	*ret_layout = l;
	return 0;
}
