/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A heap as it was at one moment: its objects, what they are, and who points at whom. It is complete in itself: made
 * from a kernel's memory (take.c) or read from a file (snapshot-file.c), the questions about it are the same.
 *
 * It has structure only: addresses, types, names of symbols and fields. Of what the objects contain it keeps a checksum,
 * which tells whether an object changed between two snapshots of one boot.
 */
#ifndef KS_HEAP_SNAPSHOT_H
#define KS_HEAP_SNAPSHOT_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"
#include "heap/census.h"
#include "heap/typing.h"

/* What objects of one size have in common: a slab cache, or large kmalloc() of one size. */
struct ks_heap_cache {
	const char *name; /* not escaped */
	u32 size;	  /* of an object's place */
	u32 object_size;  /* of the object in it */
	bool reclaimable;
	bool large; /* no cache: pages of the page allocator */
	struct ks_census_row census;
	u64 slabinfo;	     /* objects that /proc/slabinfo calls active; UINT64_MAX = not known */
	const char **merged; /* names of all caches that the kernel has merged into it */
	u32 nr_merged;
};

struct ks_heap_type {
	const char *name;
	u32 size;		 /* 0 = it has none of its own: arrays, names */
	u32 first_field, fields; /* those that references are in, by offset */
};

/*
 * A field that holds references: "f_path.dentry"; those of an array have one name, "fd_array[]". One that is no pointer
 * by its type has a question mark at the end of its name.
 */
struct ks_heap_field {
	u32 offset;
	const char *name;
};

/* What one object is called: a task's "comm/pid", a superblock's device. */
struct ks_heap_label {
	u32 object;
	const char *name; /* not escaped */
};

/*
 * A pointer in an object or in a root; those of an object to itself are left out. Offsets are in words of 8 bytes, and
 * 65535 when they are larger.
 */
struct ks_heap_ref {
	u32 to;	    /* number of the object that it points to */
	u16 at;	    /* where in the holder */
	u16 inside; /* how far into the object it points */
};

/* Where references begin that are in no object. */
enum ks_root_kind {
	KS_ROOT_DATA, /* the kernel's or a module's variables */
	KS_ROOT_PERCPU,
	KS_ROOT_STACK, /* of a task */
	KS_ROOT_VMALLOC,
	KS_ROOT_PAGES,	 /* pages of the kernel, of which nothing more is known */
	KS_ROOT_STRUCTS, /* struct pages: all of them are one root */
	KS_ROOT_KINDS,
};

struct ks_heap_root {
	enum ks_root_kind kind;
	const char *name; /* of a symbol or a task's "comm/pid"; "" = not known */
	u64 addr;
};

/* What could not be read or made no sense, by what it was. Files have them in this order: new ones come last. */
enum ks_heap_quality {
	KS_HEAP_TORN_SLABS,
	KS_HEAP_REREAD_SLABS,
	KS_HEAP_TORN_LISTS,
	KS_HEAP_STRAY_OBJECTS,
	KS_HEAP_VANISHED_OBJECTS,
	KS_HEAP_INVALID_CACHES,
	KS_HEAP_TORN_PAGES,
	KS_HEAP_UNREADABLE_CHARGES,
	KS_HEAP_UNREADABLE_PAGES,
	KS_HEAP_TORN_FREE_LISTS,
	KS_HEAP_ODD_MODULES,
	KS_HEAP_QUALITIES,
};

/* Objects have numbers, in the order of their addresses. Arrays are by number unless they say otherwise. */
struct ks_snapshot {
	/* of which kernel, when */
	const char *release, *machine, *host, *boot; /* boot: its random id; "" = not known */
	u64 taken_ns;				     /* since 1970 */
	u64 uptime_ns;				     /* 0 = not known */
	u64 duration_ns; /* how long the reading lasted: what changed meanwhile may be seen half */

	/* the census (snapshot-census.c) */
	const char *memory_by; /* how memory was read: "bpf", "kcore", ... */
	u64 kinds[KS_USES];    /* memory by kind, in pages */
	u64 total;	       /* MemTotal in bytes; 0 = not known */
	u64 quality[KS_HEAP_QUALITIES];
	bool no_functions; /* their addresses can't be had: contents were not looked at */
	KS_VEC(struct ks_census_node) nodes;
	KS_VEC(struct ks_heap_cache) caches; /* the census's numbers; then large kmalloc by size */
	KS_VEC(struct ks_heap_type) types;   /* 0 is "nothing is known" */
	KS_VEC(struct ks_heap_field) fields;
	KS_VEC(const char *) cgroups; /* paths; 0 is "charged to nobody" */

	u32 count; /* of objects */
	u64 *addr;
	u16 *cache;
	u32 *type;
	u8 *known_by;  /* enum ks_known_by */
	u16 *cgroup;   /* 65535 = all that have no number */
	u32 *checksum; /* of the contents */

	KS_VEC(struct ks_heap_label) labels; /* by object */

	/* The graph; ref_first is NULL when it was not asked for. */
	u32 *ref_first; /* one more for the end: the references of object i are refs [ref_first[i], ref_first[i + 1]) */
	KS_VEC(struct ks_heap_ref) refs; /* by holder, then by place */
	KS_VEC(struct ks_heap_root) roots;
	u32 *root_first;		      /* as ref_first, into root_refs */
	KS_VEC(struct ks_heap_ref) root_refs; /* for each root, an object once */
	u64 root_bytes[KS_ROOT_KINDS];	      /* that were searched; 0 = none were found */

	struct ks_arena arena; /* all names */
};

struct ks_snapshot_options {
	bool graph;	      /* references too */
	bool brief;	      /* types only as far as roots need them, and no names of fields */
	const char *kallsyms; /* names of functions and variables; NULL = none */
};

int ks_snapshot_take(struct ks_kernel *kernel, const struct ks_snapshot_options *options,
		     struct ks_snapshot **ret_snapshot, struct ks_diag *diag);

/*
 * Fills in what a census knows: caches, nodes, memory by kind and what made no sense; of the kernel that runs here also
 * what it says of its caches itself. Names are copied. A large kmalloc() of some pages has the cache
 * ks_snapshot_large_cache() then.
 */
int ks_snapshot_add_census(struct ks_snapshot *snapshot, const struct ks_kernel *kernel,
			   const struct ks_census *census, struct ks_diag *diag);
u32 ks_snapshot_large_cache(const struct ks_snapshot *snapshot, u64 bytes); /* KS_NONE = none */

/* An empty one: no object, all texts "". */
int ks_snapshot_new(struct ks_snapshot **ret_snapshot, struct ks_diag *diag);
void ks_snapshot_free(struct ks_snapshot *snapshot);

/* What an object is called, "" for most. */
const char *ks_snapshot_label(const struct ks_snapshot *snapshot, u32 object);

/* The object that begins at this address or that it lies in, or KS_NONE. */
u32 ks_snapshot_find(const struct ks_snapshot *snapshot, u64 addr);

#endif
