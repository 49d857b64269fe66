/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What DWARF knows of objects: the struct that the result of a call is assigned to, and where the members of a
 * struct are. For object files, modules and kernels that were compiled with debug information; of the kernel's own type
 * information (BTF) it is the members alone.
 */
#ifndef KS_SYM_DEBUG_TYPES_H
#define KS_SYM_DEBUG_TYPES_H

#include "base/diag.h"
#include "base/intern.h"

/* A part of a struct that has no parts of its own: "f_path.dentry". A union and an array are one part. */
struct ks_debug_field {
	u32 name, type; /* strings of the layout; type as C says it: "struct dentry *" */
	u32 offset, size;
	u32 member; /* the member of the struct that it is, or is in */
};

/* What the struct itself is made of, as its declaration lists it. Bit fields that share a word are one member. */
struct ks_debug_member {
	u32 name;
	u32 offset, size, align;
};

struct ks_debug_struct {
	u32 name; /* "file", without "struct" */
	u32 size;
	KS_VEC(struct ks_debug_field) fields;	/* by offset */
	KS_VEC(struct ks_debug_member) members; /* by offset */
	struct ks_intern strings;
};

static inline const char *ks_debug_string(const struct ks_debug_struct *layout, u32 id)
{
	return ks_intern_get(&layout->strings, id).s;
}

void ks_debug_struct_free(struct ks_debug_struct *layout);

struct ks_debug_types;

/* -ENODATA, without a message, where the file has no debug information. */
int ks_debug_types_open(const char *path, struct ks_debug_types **ret_types, struct ks_diag *diag);
void ks_debug_types_close(struct ks_debug_types *types);

/*
 * The name of the struct that a call's result is a pointer to, by the variable that it is assigned to or the type
 * that its function returns. The call returns to @offset in @function. NULL = not known. A function may return something
 * else than this call's result: ret_assigned is false where it is only known by that.
 */
const char *ks_debug_result(struct ks_debug_types *types, const char *function, u64 offset,
			    bool *ret_assigned);

/* The struct of that name; *ret_layout is NULL where there is none, or it is not complete in this file. */
int ks_debug_layout(struct ks_debug_types *types, const char *name,
		    struct ks_debug_struct **ret_layout, struct ks_diag *diag);

#endif
