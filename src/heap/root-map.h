/* SPDX-License-Identifier: LGPL-2.1-only */
/* What is at addresses that belong to no object: variables, per-CPU memory, stacks, areas of vmalloc. */
#ifndef KS_HEAP_ROOT_MAP_H
#define KS_HEAP_ROOT_MAP_H

#include "heap/take.h"

struct ks_root_symbol {
	u64 addr;
	const char *name;
	bool code;
};

struct ks_root_area {
	u64 start, end;
	u64 from; /* what is below is of no meaning: @end = all of it */
	u64 caller;
	bool task; /* the stack of one */
	enum ks_root_kind kind;
	const char *name;
};

struct ks_root_map {
	const struct ks_kernel *kernel;
	KS_VEC(struct ks_root_symbol) symbols; /* by address */
	KS_VEC(struct ks_root_area) areas;     /* by address */
	u64 percpu_start,
		percpu_end;	    /* of per-CPU variables, before the offset of a CPU is added */
	u64 percpu_named;	    /* what is behind has no names; 0 = all has */
	u64 first_chunk, base_addr; /* variables of the per-CPU allocator; 0 = not known */
	struct ks_arena arena;
};

/* @kallsyms may be NULL, or name a file that says nothing: then variables have no names. */
int ks_root_map_new(struct ks_taking *taking, const char *kallsyms, struct ks_root_map **ret_map,
		    struct ks_diag *diag);
void ks_root_map_free(struct ks_root_map *map);

/*
 * The root that an address belongs to, and where the next one may begin. Returns the first address of it that counts:
 * below it a stack has what earlier calls have left there.
 */
u64 ks_root_map_find(const struct ks_root_map *map, u64 addr, struct ks_heap_root *ret_root,
		     u64 *ret_end);

#endif
