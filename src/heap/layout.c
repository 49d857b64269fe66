// SPDX-License-Identifier: LGPL-2.1-only
/* Layouts of the kernel's structures from BTF: one table of wanted fields, then what differs by release. */
#include "heap/layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

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

struct types {
	const struct btf *btf;
	u32 ids[ARRAY_SIZE(names)]; /* 0 = there is none */
};

/* A member as it was found: its place in the outermost struct. */
struct found {
	u32 type; /* its BTF type */
	u32 bit, bits;
};

#define NODES offsetof(struct ks_layout, cache_nodes)

enum {
	NESTING = 8
}; /* nameless structs in nameless structs: enough for any, and an end for a loop */

/* === Internals: members =================================================================== */

static const struct btf_type *resolve(const struct btf *btf, u32 *id)
{
	const struct btf_type *type = btf__type_by_id(btf, *id);
	int i;

	for (i = 0; type && i < 32; i++) {
		if (!btf_is_mod(type) && !btf_is_typedef(type) && !btf_is_type_tag(type))
			return type;
		*id = type->type;
		type = btf__type_by_id(btf, *id);
	}
	return NULL;
}

static bool find_member(const struct btf *btf, u32 id, const char *name, u32 base, int depth,
			struct found *ret)
{
	const struct btf_type *type = resolve(btf, &id);
	const struct btf_member *member;
	const char *own;
	u32 i, bit;

	if (!type || !btf_is_composite(type) || depth > NESTING)
		return false;
	for (i = 0; i < btf_vlen(type); i++) {
		member = btf_members(type) + i;
		own = btf__name_by_offset(btf, member->name_off);
		bit = base + btf_member_bit_offset(type, i);
		if (own && !strcmp(own, name)) {
			*ret = (struct found){ member->type, bit,
					       btf_member_bitfield_size(type, i) };
			return true;
		}
		if (own && !*own && find_member(btf, member->type, name, bit, depth + 1, ret))
			return true;
	}
	return false;
}

/* The next of "one|two|three" into @word; false behind the last. */
static bool next_word(const char **list, char *word, size_t size)
{
	size_t len = strcspn(*list, "|");

	if (!len || len >= size)
		return false;
	memcpy(word, *list, len);
	word[len] = '\0';
	*list += len + ((*list)[len] == '|');
	return true;
}

static void find_types(struct types *types)
{
	u32 count = btf__type_cnt(types->btf), id;
	const struct btf_type *type;
	const char *name;
	size_t i;

	for (id = 1; id < count; id++) {
		type = btf__type_by_id(types->btf, id);
		if (!btf_is_struct(type) && !btf_is_enum(type))
			continue;
		name = btf__name_by_offset(types->btf, type->name_off);
		for (i = 0; name && *name && i < ARRAY_SIZE(names); i++)
			if (!types->ids[i] && !strcmp(name, names[i]))
				types->ids[i] = id;
	}
}

static u32 id_of(const struct types *types, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return types->ids[i];
	return 0;
}

static bool find_field(const struct types *types, const char *of, const char *members,
		       struct found *ret)
{
	char type[64], member[64];

	while (next_word(&of, type, sizeof(type))) {
		const char *list = members;
		u32 id = id_of(types, type);

		while (id && next_word(&list, member, sizeof(member)))
			if (find_member(types->btf, id, member, 0, 0, ret))
				return true;
	}
	return false;
}

static u32 size_of(const struct types *types, const char *name)
{
	u32 id = id_of(types, name);
	const struct btf_type *type = id ? btf__type_by_id(types->btf, id) : NULL;

	return type ? type->size : KS_NONE;
}

static int need(struct ks_diag *diag, const char *what)
{
	return ks_diag_set(
		diag, KS_EBADINPUT,
		"the kernel's type information has no %s: a layout that is not known here", what);
}

static int load_fields(const struct types *types, struct ks_layout *l, struct ks_diag *diag)
{
	const struct want *want;
	struct found found;
	char what[160];
	u32 *into;

	for (want = wants; want < wants + ARRAY_SIZE(wants); want++) {
		into = (u32 *)((char *)l + want->into);
		*into = KS_NONE;
		if (find_field(types, want->types, want->members, &found)) {
			*into = found.bit / 8;
		} else if (want->needed) {
			snprintf(what, sizeof(what), "%s.%s", want->types, want->members);
			return need(diag, what);
		}
	}
	return 0;
}

/* === Internals: what takes more than an offset ============================================ */

static bool find_bits(const struct types *types, const char *name, struct ks_bits *ret)
{
	struct found found;

	if (!find_field(types, "slab|page", name, &found))
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

static int load_slab(const struct types *types, struct ks_layout *l, struct ks_diag *diag)
{
	l->page_size = size_of(types, "page");
	if (l->page_size == KS_NONE || l->page_size < 32 || l->page_size > 256)
		return need(diag, "struct page of a plausible size");
	if (!find_bits(types, "inuse", &l->slab_inuse) ||
	    !find_bits(types, "objects", &l->slab_objects) ||
	    !find_bits(types, "frozen", &l->slab_frozen))
		return need(diag, "counters of a slab (SLUB is the one allocator that is known)");
	if (!find_bits(types, "stride", &l->slab_stride))
		l->slab_stride.width = 0;
	return check_page(l, diag);
}

/* An enumerator's value, of the enum of this name. */
static bool enumerator(const struct types *types, const char *of, const char *name, u32 *ret_value)
{
	u32 id = id_of(types, of);
	const struct btf_type *type = id ? btf__type_by_id(types->btf, id) : NULL;
	const char *own;
	int i;

	*ret_value = KS_NONE;
	for (i = 0; type && btf_is_enum(type) && i < btf_vlen(type); i++) {
		own = btf__name_by_offset(types->btf, btf_enum(type)[i].name_off);
		if (own && !strcmp(own, name)) {
			*ret_value = (u32)btf_enum(type)[i].val;
			return true;
		}
	}
	return false;
}

/* Before 6.10 these are macros. Up to 5.10, where a page names its cgroup, one more bit is between them. */
static void type_bits_of_old(const struct types *types, struct ks_layout *l)
{
	struct found found;
	bool charged = find_field(types, "page", "mem_cgroup", &found);

	l->typing = KS_TYPING_BITS;
	l->type_buddy = 0x80;
	l->type_offline = 0x100;
	l->type_table = charged ? 0x400 : 0x200;
	l->type_guard = charged ? 0x800 : 0x400;
	l->type_hugetlb = l->type_slab = l->type_zsmalloc = l->type_unaccepted =
		l->type_large_kmalloc = KS_NONE;
}

static int load_page_types(const struct types *types, struct ks_layout *l, struct ks_diag *diag)
{
	enumerator(types, "pageflags", "PG_slab", &l->flag_slab);
	enumerator(types, "pageflags", "PG_swapbacked", &l->flag_swapbacked);
	enumerator(types, "pageflags", "PG_lru", &l->flag_lru);
	if (!enumerator(types, "pageflags", "PG_head", &l->flag_head) ||
	    !enumerator(types, "pageflags", "PG_reserved", &l->flag_reserved))
		return need(diag, "enum pageflags with PG_head and PG_reserved");
	if (enumerator(types, "pagetype", "PGTY_slab", &l->type_slab) &&
	    enumerator(types, "pagetype", "PGTY_buddy", &l->type_buddy)) {
		l->typing = KS_TYPING_NUMBER;
		enumerator(types, "pagetype", "PGTY_offline", &l->type_offline);
		enumerator(types, "pagetype", "PGTY_table", &l->type_table);
		enumerator(types, "pagetype", "PGTY_guard", &l->type_guard);
		enumerator(types, "pagetype", "PGTY_hugetlb", &l->type_hugetlb);
		enumerator(types, "pagetype", "PGTY_zsmalloc", &l->type_zsmalloc);
		enumerator(types, "pagetype", "PGTY_unaccepted", &l->type_unaccepted);
		enumerator(types, "pagetype", "PGTY_large_kmalloc", &l->type_large_kmalloc);
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
static u64 cache_flag(const struct types *types, const char *name, u64 before)
{
	u32 bit;

	if (enumerator(types, "_slab_flag_bits", name, &bit))
		return 1ull << (bit & 63);
	if (id_of(types, "_slab_flag_bits"))
		return 0;
	return before;
}

/* The nodes at the end of struct kmem_cache: an array, whose length also says how wide a node's number is. */
static int load_nodes(const struct types *types, struct ks_layout *l, struct ks_diag *diag)
{
	const struct btf_type *type;
	struct found found, pointer;
	u32 id;

	l->node_pointer = 0;
	l->barn_pointer = KS_NONE;
	l->node_stride = 8;
	if (!find_field(types, "kmem_cache", "per_node|node", &found))
		return need(diag, "kmem_cache.node");
	id = found.type;
	type = resolve(types->btf, &id);
	if (!type || !btf_is_array(type) || !btf_array(type)->nelems)
		return need(diag, "array of nodes in struct kmem_cache");
	l->nodes = btf_array(type)->nelems;
	id = btf_array(type)->type;
	type = resolve(types->btf, &id);
	if (type && btf_is_composite(type)) {
		if (!find_member(types->btf, id, "node", 0, 0, &pointer))
			return need(diag, "kmem_cache.per_node[].node");
		l->node_stride = type->size;
		l->node_pointer = pointer.bit / 8;
		if (find_member(types->btf, id, "barn", 0, 0, &pointer))
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

static int load_cache(const struct types *types, struct ks_layout *l, struct ks_diag *diag)
{
	struct found kobj, name;
	const struct want *want;

	l->cache_size = l->cache_nodes;
	if (l->cache_size > 4096)
		return need(diag, "struct kmem_cache of a plausible size");
	l->cache_id = KS_NONE;
	if (find_field(types, "kmem_cache", "kobj", &kobj) &&
	    find_field(types, "kobject", "name", &name))
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
static int load_waiting(const struct types *types, struct ks_layout *l, struct ks_diag *diag)
{
	l->cpu_size = size_of(types, "kmem_cache_cpu");
	l->sheaves_size = size_of(types, "slub_percpu_sheaves");
	l->sheaf_size = size_of(types, "slab_sheaf");
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

static void load_charges(const struct types *types, struct ks_layout *l)
{
	l->ext_size = size_of(types, "slabobj_ext");
	if (l->ext_size == KS_NONE || l->ext_objcg == KS_NONE) {
		/* Before 6.10: an array of pointers. With alloc tags alone: no charges. */
		if (l->ext_size != KS_NONE)
			l->slab_exts = KS_NONE;
		l->ext_size = 8;
		l->ext_objcg = 0;
	}
	if (l->objcg_memcg == KS_NONE)
		l->slab_exts = KS_NONE;
}

/* === Public =============================================================================== */

int ks_layout_load(const struct btf *btf, struct ks_layout *ret_layout, struct ks_diag *diag)
{
	struct types types = { .btf = btf };
	struct ks_layout l = { 0 };
	int err;

	if (btf__pointer_size(btf) != 8)
		return need(diag, "64-bit pointers");
	find_types(&types);
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
	load_charges(&types, &l);
	*ret_layout = l;
	return 0;
}

bool ks_btf_member(const struct btf *btf, const char *type, const char *name, u32 *ret_offset)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	struct found found;

	if (id <= 0 || !find_member(btf, (u32)id, name, 0, 0, &found))
		return false;
	*ret_offset = found.bit / 8;
	return true;
}
