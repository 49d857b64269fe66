/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * From a call site to its function and source file. What a trace says of a site goes in; what the
 * kernel's own files know beyond that comes out. One thread at a time per resolver.
 */
#ifndef KS_SYM_SYM_H
#define KS_SYM_SYM_H

#include "base/diag.h"

/* A call site as a trace gives it; "" and 0 where it does not say. */
struct ks_sym_query {
	const char *func;   /* "alloc_inode" */
	const char *module; /* "ext4"; "" = the kernel itself */
	u64 offset;	    /* into func */
	u64 extent; /* after the slash of "func+0x4f/0xb0"; distinguishes functions of one name */
	u64 addr;   /* of the running kernel */
};

enum ks_place_status {
	KS_PLACE_FOUND,
	KS_PLACE_NO_TREE,   /* nothing to look in */
	KS_PLACE_NOT_FOUND, /* no such function in the tree */
	KS_PLACE_NAMESAKES, /* several files have one, and nothing says which it is */
	KS_PLACE_STATUSES
};

/* Strings belong to the resolver or, where it knew nothing better, to the query. */
struct ks_sym_place {
	const char *func;   /* the full symbol; "" = not known */
	const char *owner;  /* func without .constprop.0, .isra.0, .part.0, .cold */
	const char *module; /* "" = the kernel itself */
	u64 offset;
	const char *inlined; /* the function that was inlined at the call; "" = none, or no DWARF */
	const char *path;    /* "fs/ext4/inode.c"; NULL = unresolved */
	enum ks_place_status status;
};

struct ks_resolver;

/*
 * @kernel_path is a kernel tree (in-tree or O= build), a vmlinux, a System.map or a kallsyms,
 * recognised by content. NULL: the resolver only echoes what it is asked.
 */
int ks_resolver_new(const char *kernel_path, struct ks_resolver **ret_resolver,
		    struct ks_diag *diag);
void ks_resolver_free(struct ks_resolver *resolver);

/*
 * The symbols of the very boot that was traced (a kallsyms): addresses are looked up there, and
 * show how far KASLR moved the kernel from its place in vmlinux.
 */
int ks_resolver_add_kallsyms(struct ks_resolver *resolver, const char *path, struct ks_diag *diag);

/*
 * Says where one function was in the traced kernel, and so how far the kernel was moved. Does nothing if
 * the image has no such function, or once a kallsyms was added. -EXDEV, and nothing done, if no
 * displacement can explain it: the image is of another kernel.
 */
int ks_resolver_set_anchor(struct ks_resolver *resolver, const char *func, u64 addr);

/* What that is: running address - address in the image, modulo 2^64. */
u64 ks_resolver_slide(const struct ks_resolver *resolver);

/*
 * The variable at an address of the running kernel, and the name of its source file without directories, where that is
 * known ("" = not). Both belong to the resolver. Return: whether there is one.
 */
bool ks_resolver_variable(struct ks_resolver *resolver, u64 addr, const char **ret_name,
			  const char **ret_file);

/*
 * An unknown site is no error: it comes back with what the query said. Errors are those of reading
 * the tree, which is read when the first query needs it.
 */
int ks_resolver_lookup(struct ks_resolver *resolver, const struct ks_sym_query *query,
		       struct ks_sym_place *ret_place, struct ks_diag *diag);

/* "6.12.9" where the tree says so; NULL = not known. */
const char *ks_resolver_release(const struct ks_resolver *resolver);

/* Whether the branch ("fs/ext4", "./fs/ext4/", "mm/slub.c") is there: -ENOENT, -EINVAL, or 0. */
int ks_resolver_check_branch(struct ks_resolver *resolver, const char *branch,
			     struct ks_diag *diag);

/* Whether @path is the branch or below it. The branch "." has all that is placed. */
bool ks_path_in_branch(const char *path, const char *branch);

/* A place that is unresolved is in no branch. */
static inline bool ks_place_in_branch(const struct ks_sym_place *place, const char *branch)
{
	return place->path && ks_path_in_branch(place->path, branch);
}

#endif
