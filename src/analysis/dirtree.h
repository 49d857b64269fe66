/* SPDX-License-Identifier: LGPL-2.1-only */
/* Bytes by directory: a tree that sums up what is put at paths. The ring charts are drawn from it. */
#ifndef KS_ANALYSIS_DIRTREE_H
#define KS_ANALYSIS_DIRTREE_H

#include "base/intern.h"

struct ks_dirnode {
	const char *name;   /* one component: "ext4", "inode.c"; the root's is "" */
	u32 parent;	    /* KS_NONE = the root */
	u32 child, sibling; /* the first one, the next one; KS_NONE = none */
	u64 bytes;	    /* of all below, and put here */
	bool unresolved;    /* holds what no path is known for */
};

struct ks_dirtree {
	struct ks_intern keys;		 /* parent and name; node n has key n - 1 */
	KS_VEC(struct ks_dirnode) nodes; /* [0] is the root */
};

#define KS_UNRESOLVED "unresolved"

/* No path is deeper. */
enum { KS_DIRTREE_DEPTH = 64 };

int ks_dirtree_init(struct ks_dirtree *tree);
void ks_dirtree_deinit(struct ks_dirtree *tree);

/* Puts bytes at a path; NULL or "" is unresolved. 0 bytes leave no trace. 0 or -ENOMEM. */
int ks_dirtree_add(struct ks_dirtree *tree, const char *path, u64 bytes);

/* The same at names below each other, which may hold slashes. An empty name is no level. */
int ks_dirtree_add_names(struct ks_dirtree *tree, const char *const *names, size_t len, u64 bytes);

/* Children by size, largest first, then by name; unresolved last. Call when all is in. */
int ks_dirtree_sort(struct ks_dirtree *tree);

/* The node at a path ("fs/ext4"); KS_NONE = there is none. */
u32 ks_dirtree_find(const struct ks_dirtree *tree, const char *path);

/* The same, but made with nothing in it where there is none: a chart of nothing. 0 or -ENOMEM. */
int ks_dirtree_touch(struct ks_dirtree *tree, const char *path, u32 *ret_node);

static inline const struct ks_dirnode *ks_dirtree_node(const struct ks_dirtree *tree, u32 node)
{
	return &tree->nodes.items[node];
}

#endif
