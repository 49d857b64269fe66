/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A made-up kernel: its types as BTF, and an image of its memory, in which everything has been put by hand.
 * Tests know from here what a census must find.
 */
#ifndef KS_TESTS_HEAP_MODEL_H
#define KS_TESTS_HEAP_MODEL_H

#include "base/types.h"

struct btf;

/* The kernels whose structures it can have. */
enum model_kind {
	MODEL_5_10, /* as the next, and slabs are struct pages */
	MODEL_6_1,  /* PG_slab in the flags, per-CPU slabs, an array of obj_cgroups */
	MODEL_6_18, /* numbered page types, per-CPU slabs and sheaves, a barn in each node */
	MODEL_7_2,  /* no per-CPU slabs, barns in the cache, alloc tags */
	MODEL_KINDS,
};

enum {
	MODEL_PAGES = 2048,
	MODEL_USED = 64, /* pages that can have contents */
	MODEL_CPUS = 2,
	MODEL_RELEASE = 24, /* in file_operations */
};

#define MODEL_PAGE_OFFSET 0xffff888000000000ull
#define MODEL_VMEMMAP	  0xffffea0000000000ull
#define MODEL_IMAGE	  0xffffffff81000000ull /* data of the kernel's image */
#define MODEL_PERCPU	  0xffffc90000000000ull

struct model {
	enum model_kind kind;
	u8 *ram;     /* MODEL_USED pages */
	u8 *structs; /* their struct pages, of 64 bytes */
	u8 *image;   /* 4 KiB */
	u8 *percpu;  /* 4 KiB a CPU */
	u32 next_page, next_name, next_percpu;
	u64 last_cache;
	u32 tags;
};

struct btf *model_btf(enum model_kind kind);

/* Memory in which all pages are free but the first, which is reserved, and with no cache. */
void model_init(struct model *m, enum model_kind kind);
void model_deinit(struct model *m);

/* The image as ks_memory_open_image() takes it; to be freed. */
void *model_pack(const struct model *m, size_t *ret_len);

/*
 * A cache, at the end of the list. The objects' free pointer is in the middle of them. They lack 4 bytes of their place,
 * but for those of kmalloc.
 */
u64 model_cache(struct model *m, const char *name, u32 size, u64 flags);

/* A slab of one page, of which the first @inuse objects are used and the others in its free list. */
u64 model_slab(struct model *m, u64 cache, u32 size, u32 inuse);

u64 model_object(const struct model *m, u64 slab, u32 size, u32 index);

/* Makes this slab the one that a CPU allocates from: what is free goes to the CPU's list. */
void model_to_cpu(struct model *m, u64 cache, u64 slab, u32 size, u32 inuse, u32 cpu);

/* Sets a slab aside for a CPU, before those that it has. Kernels before 6.8 mark it as they do the CPU's own. */
void model_set_aside(struct model *m, u64 cache, u64 slab, u32 cpu);

/* Puts objects into the main sheaf of a CPU; into its sheaf for RCU; into a full sheaf of the node's barn. */
void model_to_sheaf(struct model *m, u64 cache, u32 cpu, const u64 *objects, u32 count);
void model_to_rcu_sheaf(struct model *m, u64 cache, u32 cpu, const u64 *objects, u32 count);
void model_to_barn(struct model *m, u64 cache, const u64 *objects, u32 count);

/* Makes a sheaf of what is at this address, which nobody points to. Gives its first place that is not used. */
u64 model_sheaf_at(struct model *m, u64 sheaf, u64 cache, const u64 *objects, u32 count);

/* A cgroup below the root; gives its obj_cgroup. */
u64 model_cgroup(struct model *m, const char *name);

/* Charges objects [0, @count) of a slab. */
void model_charge(struct model *m, u64 slab, u64 payer, u32 count);

/* A call of the allocator, and an object that it has made. @module "" = the kernel itself. Only of MODEL_7_2. */
u64 model_tag(struct model *m, const char *file, u32 line, const char *function,
	      const char *module);
void model_allocated(struct model *m, u64 slab, u32 index, u64 tag);

/* Gives the page a use: its type number (see PGTY_ in model.c) or a mapping. */
u64 model_page(struct model *m, u32 type, u64 mapping, u32 refcount);

/* A free block of 2^order pages, aligned. */
void model_free_block(struct model *m, u64 pfn, u32 order);

/* The words at an address of the model, wherever it lies. */
void *model_at(const struct model *m, u64 addr);

#endif
