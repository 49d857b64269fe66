// SPDX-License-Identifier: GPL-2.0-only
/* Builds the made-up kernel. Offsets are chosen here, once, and BTF says them. */
#include "heap/model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

/* === Data: offsets ======================================================================== */

enum {
	PAGE_STRUCT = 64,
	/* struct page */
	P_FLAGS = 0,
	P_HEAD = 8,
	P_MAPPING = 24,
	P_PRIVATE = 40,
	P_TYPE = 48,
	P_REFCOUNT = 52,
	P_MEMCG = 56,
	/* struct slab */
	S_CACHE = 8,
	S_NEXT = 16,
	S_FREELIST = 32,
	S_COUNTERS = 40,
	S_EXTS = 56,
	/* struct kmem_cache */
	C_CPU_SLAB = 0,
	C_SHEAVES = 8,
	C_FLAGS = 16,
	C_SIZE = 24,
	C_OBJECT_SIZE = 28,
	C_OFFSET = 32,
	C_REFCOUNT = 36,
	C_CTOR = 40,
	C_PAD = 48,
	C_NAME = 56,
	C_LIST = 64,
	C_KOBJ = 80,
	C_RANDOM = 88,
	C_NODES = 104, /* behind a word that nobody wants */
	C_BYTES = 256,
	/* struct kmem_cache_cpu; the per-CPU sheaves are 32 bytes behind it */
	U_FREELIST = 0,
	U_SLAB = 8,
	U_PARTIAL = 16,
	U_BYTES = 32,
	/* struct slub_percpu_sheaves */
	H_MAIN = 8,
	H_SPARE = 16,
	H_RCU = 24,
	H_BYTES = 32,
	/* struct slab_sheaf */
	F_LIST = 0,
	F_CACHE = 16,
	F_SIZE = 24,
	F_OBJECTS = 32,
	/* struct kmem_cache_node, struct node_barn */
	N_BARN = 8,
	N_BYTES = 64,
	B_FULL = 8,
	/* charges */
	O_MEMCG = 8,
	M_CSS = 16,
	CSS_CGROUP = 0,
	G_KN = 24,
	K_PARENT = 8,
	K_NAME = 16,
	/* struct codetag */
	T_LINE = 4,
	T_MODULE = 8,
	T_FUNCTION = 16,
	T_FILE = 24,
	/* flags of pages */
	FLAG_HEAD = 6,
	FLAG_SLAB = 9,
	FLAG_RESERVED = 13,
	FLAG_SWAPBACKED = 17,
	/* types of pages */
	PGTY_BUDDY = 0xf0,
	PGTY_SLAB = 0xf5,
};

#define RANDOM 0x5deece66d1234567ull

/* === Internals: types ===================================================================== */

struct builder {
	struct btf *btf;
	int word, half, pointer; /* u64, u32, void * */
};

static void begin(struct builder *b, const char *name, u32 size)
{
	assert(btf__add_struct(b->btf, name, size) > 0);
}

static void add(struct builder *b, const char *name, int type, u32 byte)
{
	assert(!btf__add_field(b->btf, name, type, byte * 8, 0));
}

static void bits(struct builder *b, const char *name, u32 bit, u32 width)
{
	assert(!btf__add_field(b->btf, name, b->half, bit, width));
}

static int array_of(struct builder *b, int type, u32 count)
{
	int id = btf__add_array(b->btf, b->half, type, count);

	assert(id > 0);
	return id;
}

/* As the kernel has them, in a nameless part. Gives its type. */
static int slab_part(struct builder *b, enum model_kind kind)
{
	begin(b, "", 32);
	add(b, "next", b->pointer, S_NEXT - 16);
	add(b, "freelist", b->pointer, S_FREELIST - 16);
	bits(b, "inuse", (S_COUNTERS - 16) * 8, 16);
	bits(b, "objects", (S_COUNTERS - 16) * 8 + 16, 15);
	bits(b, "frozen", (S_COUNTERS - 16) * 8 + 31, 1);
	if (kind == MODEL_7_2)
		add(b, "stride", b->half, S_COUNTERS - 16 + 4);
	return (int)btf__type_cnt(b->btf) - 1;
}

static void add_pages(struct builder *b, enum model_kind kind)
{
	int part = slab_part(b, kind);

	begin(b, "page", PAGE_STRUCT);
	add(b, "flags", b->word, P_FLAGS);
	add(b, kind == MODEL_7_2 ? "compound_info" : "compound_head", b->word, P_HEAD);
	add(b, "mapping", b->pointer, P_MAPPING);
	add(b, "private", b->word, P_PRIVATE);
	add(b, "page_type", b->half, P_TYPE);
	add(b, "_refcount", b->half, P_REFCOUNT);
	if (kind == MODEL_5_10) {
		/* There is no struct slab. */
		add(b, "mem_cgroup", b->pointer, P_MEMCG);
		add(b, "slab_cache", b->pointer, S_CACHE);
		add(b, "", part, 16);
		add(b, "obj_cgroups", b->pointer, S_EXTS);
	} else {
		add(b, "memcg_data", b->word, P_MEMCG);
		begin(b, "slab", PAGE_STRUCT);
		add(b, "slab_cache", b->pointer, S_CACHE);
		add(b, "", part, 16);
		add(b, kind <= MODEL_6_1 ? "memcg_data" : "obj_exts", b->word, S_EXTS);
	}

	btf__add_enum(b->btf, "pageflags", 4);
	btf__add_enum_value(b->btf, "PG_head", FLAG_HEAD);
	btf__add_enum_value(b->btf, "PG_reserved", FLAG_RESERVED);
	btf__add_enum_value(b->btf, "PG_swapbacked", FLAG_SWAPBACKED);
	if (kind <= MODEL_6_1) {
		btf__add_enum_value(b->btf, "PG_slab", FLAG_SLAB);
		return;
	}
	btf__add_enum(b->btf, "pagetype", 4);
	btf__add_enum_value(b->btf, "PGTY_buddy", PGTY_BUDDY);
	btf__add_enum_value(b->btf, "PGTY_table", 0xf2);
	btf__add_enum_value(b->btf, "PGTY_slab", PGTY_SLAB);
	btf__add_enum_value(b->btf, "PGTY_large_kmalloc", 0xf8);
}

static void add_caches(struct builder *b, enum model_kind kind)
{
	int nodes;

	begin(b, "kobject", 16);
	add(b, "name", b->pointer, 0);
	if (kind == MODEL_7_2) {
		begin(b, "kmem_cache_per_node_ptrs", 16);
		add(b, "barn", b->pointer, 0);
		add(b, "node", b->pointer, 8);
		nodes = array_of(b, (int)btf__type_cnt(b->btf) - 1, 4);
	} else {
		nodes = array_of(b, b->pointer, 4);
	}
	begin(b, "kmem_cache", C_BYTES);
	if (kind != MODEL_7_2)
		add(b, "cpu_slab", b->pointer, C_CPU_SLAB);
	if (kind > MODEL_6_1)
		add(b, "cpu_sheaves", b->pointer, C_SHEAVES);
	add(b, "flags", b->half, C_FLAGS);
	add(b, "size", b->half, C_SIZE);
	add(b, "object_size", b->half, C_OBJECT_SIZE);
	add(b, "offset", b->half, C_OFFSET);
	add(b, "refcount", b->half, C_REFCOUNT);
	add(b, "ctor", b->pointer, C_CTOR);
	add(b, "red_left_pad", b->half, C_PAD);
	add(b, "name", b->pointer, C_NAME);
	add(b, "list", b->word, C_LIST);
	add(b, "kobj", btf__find_by_name(b->btf, "kobject"), C_KOBJ);
	add(b, "random", b->word, C_RANDOM);
	add(b, kind == MODEL_7_2 ? "per_node" : "node", nodes, C_NODES);
}

static void add_waiting(struct builder *b, enum model_kind kind)
{
	int objects;

	if (kind != MODEL_7_2) {
		begin(b, "kmem_cache_cpu", U_BYTES);
		add(b, "freelist", b->pointer, U_FREELIST);
		add(b, kind == MODEL_5_10 ? "page" : "slab", b->pointer, U_SLAB);
		add(b, "partial", b->pointer, U_PARTIAL);
	}
	if (kind <= MODEL_6_1)
		return;
	objects = array_of(b, b->pointer, 0);
	begin(b, "slub_percpu_sheaves", H_BYTES);
	add(b, "main", b->pointer, H_MAIN);
	add(b, "spare", b->pointer, H_SPARE);
	add(b, "rcu_free", b->pointer, H_RCU);
	begin(b, "slab_sheaf", F_OBJECTS);
	add(b, "barn_list", b->word, F_LIST);
	add(b, "cache", b->pointer, F_CACHE);
	add(b, "size", b->half, F_SIZE);
	add(b, "objects", objects, F_OBJECTS);
	begin(b, "node_barn", 64);
	add(b, "sheaves_full", b->word, B_FULL);
	begin(b, "kmem_cache_node", N_BYTES);
	if (kind <= MODEL_6_18)
		add(b, "barn", b->pointer, N_BARN);
}

/*
 * alpha points to a beta, to an array of pointers, to text, and from a union to a gamma; a beta points to a
 * delta. Sizes: of alpha that of the cache's objects, of the others such that they fit kmalloc-64 or kmalloc-32.
 */
static void add_objects(struct builder *b)
{
	int text, gamma, beta, delta, to_beta, to_gamma, to_text, list, part;

	text = btf__add_int(b->btf, "char", 1, BTF_INT_CHAR);
	delta = btf__add_ptr(b->btf, (int)btf__type_cnt(b->btf) + 1); /* to what comes next */
	begin(b, "delta", 24);
	add(b, "number", b->word, 0);
	add(b, "link", delta, 8);
	begin(b, "gamma", 56);
	gamma = (int)btf__type_cnt(b->btf) - 1;
	add(b, "number", b->word, 0);
	begin(b, "beta", 48);
	beta = (int)btf__type_cnt(b->btf) - 1;
	add(b, "next", delta, 8);
	to_beta = btf__add_ptr(b->btf, beta);
	to_gamma = btf__add_ptr(b->btf, gamma);
	to_text = btf__add_ptr(b->btf, text);
	list = btf__add_ptr(b->btf, to_gamma);
	btf__add_union(b->btf, "", 8);
	part = (int)btf__type_cnt(b->btf) - 1;
	add(b, "gamma", to_gamma, 0);
	add(b, "other", b->word, 0);
	/* What private_data points to depends on f_op. */
	begin(b, "file", 60);
	add(b, "f_op", b->pointer, 8);
	add(b, "private_data", b->pointer, 16);
	begin(b, "file_operations", 64);
	add(b, "release", b->pointer, MODEL_RELEASE);
	begin(b, "eventfd_ctx", 40);
	add(b, "id", b->word, 32);
	begin(b, "alpha", 252);
	add(b, "beta", to_beta, 8);
	add(b, "list", list, 16);
	add(b, "text", to_text, 24);
	add(b, "", part, 32);
}

/* With alloc tags behind the charges. */
static u32 note_size(enum model_kind kind)
{
	return kind == MODEL_7_2 ? 16 : 8;
}

static void add_charges(struct builder *b, enum model_kind kind)
{
	if (kind > MODEL_6_1) {
		begin(b, "slabobj_ext", note_size(kind));
		add(b, "objcg", b->pointer, 0);
		if (kind == MODEL_7_2)
			add(b, "ref", b->pointer, 8);
	}
	begin(b, "codetag", 32);
	add(b, "lineno", b->half, T_LINE);
	add(b, "modname", b->pointer, T_MODULE);
	add(b, "function", b->pointer, T_FUNCTION);
	add(b, "filename", b->pointer, T_FILE);
	begin(b, "obj_cgroup", 64);
	add(b, "memcg", b->pointer, O_MEMCG);
	begin(b, "mem_cgroup", 128);
	add(b, "css", b->word, M_CSS);
	begin(b, "cgroup_subsys_state", 64);
	add(b, "cgroup", b->pointer, CSS_CGROUP);
	begin(b, "cgroup", 64);
	add(b, "kn", b->pointer, G_KN);
	begin(b, "kernfs_node", 64);
	add(b, kind <= MODEL_6_1 ? "parent" : "__parent", b->pointer, K_PARENT);
	add(b, "name", b->pointer, K_NAME);
}

/* === Internals: memory ==================================================================== */

static void set64(const struct model *m, u64 addr, u64 value)
{
	memcpy(model_at(m, addr), &value, 8);
}

static void set32(const struct model *m, u64 addr, u32 value)
{
	memcpy(model_at(m, addr), &value, 4);
}

static u64 get64(const struct model *m, u64 addr)
{
	u64 value;

	memcpy(&value, model_at(m, addr), 8);
	return value;
}

static u64 struct_of(u64 pfn)
{
	return MODEL_VMEMMAP + pfn * PAGE_STRUCT;
}

static u64 addr_of(u64 pfn)
{
	return MODEL_PAGE_OFFSET + (pfn << 12);
}

static void set_type(const struct model *m, u64 pfn, u32 number)
{
	if (m->kind > MODEL_6_1)
		set32(m, struct_of(pfn) + P_TYPE, number << 24);
	else if (number == PGTY_BUDDY)
		set32(m, struct_of(pfn) + P_TYPE, ~0x80u);
	else if (number == 0xf2)
		set32(m, struct_of(pfn) + P_TYPE, ~0x200u);
}

/* A page for the model's own structures: in use, and nothing says by whom. */
static u64 take_page(struct model *m)
{
	u64 pfn = m->next_page++;

	assert(pfn < MODEL_USED);
	memset(model_at(m, struct_of(pfn)), 0, PAGE_STRUCT);
	set32(m, struct_of(pfn) + P_TYPE, 0xffffffff);
	set32(m, struct_of(pfn) + P_REFCOUNT, 1);
	return pfn;
}

/* A name in the image; the rest of the image is for lists. */
static u64 put_name(struct model *m, const char *name)
{
	u64 addr = MODEL_IMAGE + 1024 + m->next_name;

	m->next_name += (u32)strlen(name) + 1;
	assert(m->next_name < 2560);
	strcpy(model_at(m, addr), name);
	return addr;
}

static u64 encode(const struct model *m, u64 object, u64 at)
{
	return object ^ RANDOM ^ __builtin_bswap64(at);
}

/* Chains objects [first, count) of a slab, and gives the first. */
static u64 chain(const struct model *m, u64 slab, u32 size, u32 first, u32 count)
{
	u32 i;

	for (i = first; i < count; i++) {
		u64 at = model_object(m, slab, size, i) + size / 2;

		set64(m, at, encode(m, i + 1 < count ? model_object(m, slab, size, i + 1) : 0, at));
	}
	return first < count ? model_object(m, slab, size, first) : 0;
}

/* === Public =============================================================================== */

struct btf *model_btf(enum model_kind kind)
{
	struct builder b = { .btf = btf__new_empty() };

	assert(b.btf);
	btf__set_pointer_size(b.btf, 8);
	b.word = btf__add_int(b.btf, "unsigned long", 8, 0);
	b.half = btf__add_int(b.btf, "unsigned int", 4, 0);
	b.pointer = btf__add_ptr(b.btf, 0);
	add_pages(&b, kind);
	add_caches(&b, kind);
	add_waiting(&b, kind);
	add_charges(&b, kind);
	add_objects(&b);
	return b.btf;
}

void model_init(struct model *m, enum model_kind kind)
{
	*m = (struct model){ .kind = kind, .next_page = 1 };
	m->ram = calloc(MODEL_USED, 4096);
	m->structs = calloc(MODEL_PAGES, PAGE_STRUCT);
	m->image = calloc(1, 4096);
	m->percpu = calloc(MODEL_CPUS, 4096);
	assert(m->ram && m->structs && m->image && m->percpu);
	set64(m, struct_of(0) + P_FLAGS, 1 << FLAG_RESERVED);
	set32(m, struct_of(0) + P_REFCOUNT, 1);
	for (u64 pfn = 1; pfn < 1024; pfn++)
		model_free_block(m, pfn, 0);
	model_free_block(m, 1024, 10);
	/* The list of caches, empty. */
	set64(m, MODEL_IMAGE, MODEL_IMAGE);
	m->last_cache = MODEL_IMAGE;
}

void model_deinit(struct model *m)
{
	free(m->ram);
	free(m->structs);
	free(m->image);
	free(m->percpu);
}

void *model_at(const struct model *m, u64 addr)
{
	if (addr >= MODEL_IMAGE && addr - MODEL_IMAGE < 4096)
		return m->image + (addr - MODEL_IMAGE);
	if (addr >= MODEL_VMEMMAP && addr - MODEL_VMEMMAP < MODEL_PAGES * PAGE_STRUCT)
		return m->structs + (addr - MODEL_VMEMMAP);
	if (addr >= MODEL_PERCPU && addr - MODEL_PERCPU < MODEL_CPUS * 4096)
		return m->percpu + (addr - MODEL_PERCPU);
	assert(addr >= MODEL_PAGE_OFFSET && addr - MODEL_PAGE_OFFSET < MODEL_USED * 4096ull);
	return m->ram + (addr - MODEL_PAGE_OFFSET);
}

void model_free_block(struct model *m, u64 pfn, u32 order)
{
	set_type(m, pfn, PGTY_BUDDY);
	set64(m, struct_of(pfn) + P_PRIVATE, order);
	for (u64 i = 1; i < 1ull << order; i++)
		set32(m, struct_of(pfn + i) + P_TYPE, 0xffffffff);
}

u64 model_page(struct model *m, u32 type, u64 mapping, u32 refcount)
{
	u64 pfn = take_page(m);

	if (type)
		set_type(m, pfn, type);
	set64(m, struct_of(pfn) + P_MAPPING, mapping);
	set32(m, struct_of(pfn) + P_REFCOUNT, refcount);
	return pfn;
}

u64 model_cache(struct model *m, const char *name, u32 size, u64 flags)
{
	u64 cache = addr_of(take_page(m)), node = addr_of(take_page(m)), barn = node + 1024;

	set64(m, cache + C_CPU_SLAB, m->next_percpu);
	set64(m, cache + C_SHEAVES, m->next_percpu + U_BYTES);
	m->next_percpu += U_BYTES + H_BYTES;
	if (!get64(m, cache + C_CPU_SLAB))
		m->next_percpu += U_BYTES + H_BYTES; /* a per-CPU pointer of 0 is none */
	set64(m, cache + C_CPU_SLAB, m->next_percpu - U_BYTES - H_BYTES);
	set64(m, cache + C_SHEAVES, m->next_percpu - H_BYTES);
	assert(m->next_percpu <= 4096);
	set32(m, cache + C_FLAGS, (u32)flags);
	set32(m, cache + C_SIZE, size);
	set32(m, cache + C_OBJECT_SIZE, strncmp(name, "kmalloc-", 8) ? size - 4 : size);
	set32(m, cache + C_OFFSET, size / 2);
	set32(m, cache + C_REFCOUNT, 1);
	set64(m, cache + C_NAME, put_name(m, name));
	set64(m, cache + C_KOBJ, put_name(m, ":0000064"));
	set64(m, cache + C_RANDOM, RANDOM);
	if (m->kind == MODEL_7_2) {
		set64(m, cache + C_NODES, barn);
		set64(m, cache + C_NODES + 8, node);
	} else {
		set64(m, cache + C_NODES, node);
		set64(m, node + N_BARN, barn);
	}
	set64(m, barn + B_FULL, barn + B_FULL);
	set64(m, cache + C_LIST, MODEL_IMAGE);
	set64(m, m->last_cache, cache + C_LIST);
	m->last_cache = cache + C_LIST;
	return cache;
}

u64 model_slab(struct model *m, u64 cache, u32 size, u32 inuse)
{
	u64 pfn = take_page(m), slab = struct_of(pfn);
	u32 objects = 4096 / size;

	if (m->kind <= MODEL_6_1)
		set64(m, slab + P_FLAGS, 1 << FLAG_SLAB);
	else
		set_type(m, pfn, PGTY_SLAB);
	set64(m, slab + S_CACHE, cache);
	set64(m, slab + S_COUNTERS, inuse | objects << 16);
	set64(m, slab + S_FREELIST, chain(m, slab, size, inuse, objects));
	return slab;
}

u64 model_object(const struct model *m, u64 slab, u32 size, u32 index)
{
	return addr_of((slab - MODEL_VMEMMAP) / PAGE_STRUCT) + (u64)index * size;
}

void model_to_cpu(struct model *m, u64 cache, u64 slab, u32 size, u32 inuse, u32 cpu)
{
	u64 at = MODEL_PERCPU + cpu * 4096ull + get64(m, cache + C_CPU_SLAB);
	u32 objects = 4096 / size;

	set64(m, at + U_SLAB, slab);
	set64(m, at + U_FREELIST, chain(m, slab, size, inuse, objects));
	set64(m, slab + S_COUNTERS, objects | objects << 16 | 1ull << 31);
	set64(m, slab + S_FREELIST, 0);
}

void model_set_aside(struct model *m, u64 cache, u64 slab, u32 cpu)
{
	u64 at = MODEL_PERCPU + cpu * 4096ull + get64(m, cache + C_CPU_SLAB);

	set64(m, slab + S_NEXT, get64(m, at + U_PARTIAL));
	set64(m, at + U_PARTIAL, slab);
	if (m->kind <= MODEL_6_1)
		set64(m, slab + S_COUNTERS, get64(m, slab + S_COUNTERS) | 1ull << 31);
}

u64 model_sheaf_at(struct model *m, u64 sheaf, u64 cache, const u64 *objects, u32 count)
{
	u32 i;

	set64(m, sheaf + F_CACHE, cache);
	set32(m, sheaf + F_SIZE, count);
	for (i = 0; i < count; i++)
		set64(m, sheaf + F_OBJECTS + i * 8, objects[i]);
	return sheaf + F_OBJECTS + count * 8;
}

static u64 make_sheaf(struct model *m, u64 cache, const u64 *objects, u32 count)
{
	u64 sheaf = addr_of(take_page(m));

	model_sheaf_at(m, sheaf, cache, objects, count);
	return sheaf;
}

void model_to_sheaf(struct model *m, u64 cache, u32 cpu, const u64 *objects, u32 count)
{
	u64 at = MODEL_PERCPU + cpu * 4096ull + get64(m, cache + C_SHEAVES);

	set64(m, at + H_MAIN, make_sheaf(m, cache, objects, count));
}

void model_to_rcu_sheaf(struct model *m, u64 cache, u32 cpu, const u64 *objects, u32 count)
{
	u64 at = MODEL_PERCPU + cpu * 4096ull + get64(m, cache + C_SHEAVES);

	set64(m, at + H_RCU, make_sheaf(m, cache, objects, count));
}

void model_to_barn(struct model *m, u64 cache, const u64 *objects, u32 count)
{
	u64 barn = get64(m, cache + C_NODES), sheaf = make_sheaf(m, cache, objects, count);

	if (m->kind != MODEL_7_2)
		barn = get64(m, barn + N_BARN);
	set64(m, sheaf + F_LIST, get64(m, barn + B_FULL));
	set64(m, barn + B_FULL, sheaf + F_LIST);
}

u64 model_cgroup(struct model *m, const char *name)
{
	u64 payer = addr_of(take_page(m)), memcg = payer + 256, cgroup = payer + 512,
	    kn = payer + 1024, root = payer + 2048;

	set64(m, payer + O_MEMCG, memcg);
	set64(m, memcg + M_CSS + CSS_CGROUP, cgroup);
	set64(m, cgroup + G_KN, kn);
	set64(m, kn + K_PARENT, root);
	set64(m, kn + K_NAME, put_name(m, name));
	set64(m, root + K_NAME, put_name(m, ""));
	return payer;
}

/* Where the notes of a slab are. */
static u64 notes_of(struct model *m, u64 slab)
{
	u64 notes = get64(m, slab + S_EXTS) & ~7ull;

	if (!notes)
		notes = addr_of(take_page(m));
	set64(m, slab + S_EXTS, notes | 1);
	return notes;
}

void model_charge(struct model *m, u64 slab, u64 payer, u32 count)
{
	u64 notes = notes_of(m, slab);
	u32 i;

	for (i = 0; i < count; i++)
		set64(m, notes + i * note_size(m->kind), payer);
}

u64 model_tag(struct model *m, const char *file, u32 line, const char *function, const char *module)
{
	u64 tag = MODEL_IMAGE + 1024 + 3072 - 32 * ++m->tags;

	set32(m, tag + T_LINE, line);
	set64(m, tag + T_MODULE, *module ? put_name(m, module) : 0);
	set64(m, tag + T_FUNCTION, put_name(m, function));
	set64(m, tag + T_FILE, put_name(m, file));
	return tag;
}

void model_allocated(struct model *m, u64 slab, u32 index, u64 tag)
{
	assert(m->kind == MODEL_7_2);
	set64(m, notes_of(m, slab) + index * note_size(m->kind) + 8, tag);
}

void *model_pack(const struct model *m, size_t *ret_len)
{
	const struct {
		u64 addr;
		const u8 *data;
		u64 len;
	} parts[] = {
		{ MODEL_PAGE_OFFSET, m->ram, m->next_page * 4096ull },
		{ MODEL_VMEMMAP, m->structs, MODEL_PAGES * PAGE_STRUCT },
		{ MODEL_IMAGE, m->image, 4096 },
		{ MODEL_PERCPU, m->percpu, MODEL_CPUS * 4096 },
	};
	u64 head[6 + MODEL_CPUS] = { MODEL_PAGE_OFFSET, MODEL_VMEMMAP, MODEL_IMAGE,	   0, 0,
				     MODEL_PAGES,	MODEL_PERCPU,  MODEL_PERCPU + 4096 };
	u32 counts[2] = { MODEL_CPUS, ARRAY_SIZE(parts) };
	size_t len = 16 + sizeof(head) + 16 * ARRAY_SIZE(parts), i;
	u8 *out, *at;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		len += (size_t)parts[i].len;
	at = out = malloc(len);
	assert(out);
	at = mempcpy(at, "KSIMAGE1", 8);
	at = mempcpy(at, counts, sizeof(counts));
	at = mempcpy(at, head, sizeof(head));
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		at = mempcpy(at, &parts[i].addr, 8);
		at = mempcpy(at, &parts[i].len, 8);
	}
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		at = mempcpy(at, parts[i].data, (size_t)parts[i].len);
	assert(at == out + len);
	*ret_len = len;
	return out;
}
