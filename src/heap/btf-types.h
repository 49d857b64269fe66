/* SPDX-License-Identifier: LGPL-2.1-only */
/* Types that objects can have, and which types their pointers lead to, by the kernel's type information. */
#ifndef KS_HEAP_BTF_TYPES_H
#define KS_HEAP_BTF_TYPES_H

#include "base/intern.h"
#include "base/map64.h"
#include "base/strbuf.h"
#include "heap/kernel.h"

struct btf_type;

/* What an object can be called: a struct, an array of something, or a name that is no type of the kernel. */
enum ks_type_form {
	KS_FORM_STRUCT,
	KS_FORM_POINTERS, /* "file *[]" */
	KS_FORM_SCALARS,  /* "char[]" */
	KS_FORM_NAME,
};

struct ks_type {
	u32 name;  /* into names */
	u32 btf;   /* the struct; 0 = none */
	u32 size;  /* of the struct */
	bool open; /* it ends in an array of no given length, so objects may be larger */
	enum ks_type_form form;
	u32 first_field, fields; /* of a struct, once ks_types_expand() has seen it */
	bool expanded;
	bool has_cache; /* of its own, or it shares one with the types of merged caches */
};

/* A pointer in a struct: an object at its other end is of this type. */
struct ks_type_field {
	u32 offset;
	u32 type;
	u32 inside;   /* it points so far into the object */
	u32 home;     /* where the struct begins that it is a direct member of, as in a list_head */
	bool to_home; /* it points to a struct of that kind: lists and trees */
	bool in_union; /* something else may be there */
};

struct ks_types {
	const struct btf *btf;
	struct ks_intern names;
	KS_VEC(struct ks_type) items; /* by number; 0 is "nothing is known" */
	KS_VEC(struct ks_type_field) fields;
	struct ks_map64 by_key;	  /* form << 32 | BTF id or name: number - 1 */
	struct ks_intern structs; /* names of all structs, and their ids */
	KS_VEC(u32) struct_ids;
};

int ks_types_new(const struct btf *btf, struct ks_types **ret_types);
void ks_types_free(struct ks_types *types);

/* The type of the struct of this name, or 0: there is none, or no memory. */
u32 ks_types_struct(struct ks_types *types, const char *name, size_t len);

/* Whether a struct is the other, or has it as its first member. */
bool ks_type_begins_with(const struct ks_types *types, u32 type, u32 other);

/* Where a member of a struct is, also of a nameless struct in it: "thread.sp". KS_NONE = it has none of that name. */
u32 ks_types_member(const struct ks_types *types, u32 type, const char *path);

/* What is at a place in a struct. */
enum ks_path { KS_PATH_NONE, KS_PATH_POINTER, KS_PATH_OTHER };

/*
 * The path of the member that is @offset bytes behind the beginning of a struct: "f_path.dentry". Where a union has
 * several, one that is a pointer. An element of an array is "fd_array[]".
 */
enum ks_path ks_types_path(const struct ks_types *types, u32 type, u32 offset,
			   struct ks_strbuf *path);

/* A type that is only a name. 0: no memory. */
u32 ks_types_name(struct ks_types *types, const char *name, size_t len);

/* Finds the fields of a struct, and of structs and arrays in it, that are pointers. */
int ks_types_expand(struct ks_types *types, u32 type);

static inline const char *ks_type_text(const struct ks_types *types, u32 type)
{
	return ks_intern_get(&types->names, types->items.items[type].name).s;
}

#endif
