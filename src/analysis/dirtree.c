// SPDX-License-Identifier: LGPL-2.1-only
/* Bytes by directory. */
#include "analysis/dirtree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* === Data ================================================================================= */

/* The key of a child: the number of its parent, then its name. */
enum { KEY_HEAD = sizeof(u32), NAME_MAX_LEN = 255 };

/* === Internals ============================================================================ */

static size_t make_key(char *key, u32 parent, const char *name, size_t len)
{
	memcpy(key, &parent, KEY_HEAD);
	memcpy(key + KEY_HEAD, name, len);
	return KEY_HEAD + len;
}

static u32 find_child(const struct ks_dirtree *tree, u32 parent, const char *name, size_t len)
{
	char key[KEY_HEAD + NAME_MAX_LEN];
	u32 id;

	if (len > NAME_MAX_LEN)
		return KS_NONE;
	id = ks_intern_find(&tree->keys, key, make_key(key, parent, name, len));
	return id == KS_NONE ? KS_NONE : id + 1;
}

static u32 add_child(struct ks_dirtree *tree, u32 parent, const char *name, size_t len)
{
	char key[KEY_HEAD + NAME_MAX_LEN];
	struct ks_dirnode *node;
	u32 id;

	len = ks_min(len, (size_t)NAME_MAX_LEN);
	id = find_child(tree, parent, name, len);
	if (id != KS_NONE)
		return id;
	id = ks_intern_add(&tree->keys, key, make_key(key, parent, name, len));
	node = id == KS_NONE ? NULL : ks_vec_push(&tree->nodes);
	if (!node)
		return KS_NONE;
	*node = (struct ks_dirnode){
		.name = ks_intern_get(&tree->keys, id).s + KEY_HEAD,
		.parent = parent,
		.child = KS_NONE,
		.sibling = tree->nodes.items[parent].child,
	};
	tree->nodes.items[parent].child = id + 1;
	return id + 1;
}

static void add_bytes(struct ks_dirtree *tree, u32 node, u64 bytes)
{
	for (; node != KS_NONE; node = tree->nodes.items[node].parent)
		tree->nodes.items[node].bytes = ks_add_sat(tree->nodes.items[node].bytes, bytes);
}

static int by_size(const void *pa, const void *pb, void *arg)
{
	const struct ks_dirtree *tree = arg;
	const struct ks_dirnode *a = &tree->nodes.items[*(const u32 *)pa];
	const struct ks_dirnode *b = &tree->nodes.items[*(const u32 *)pb];

	if (a->unresolved != b->unresolved)
		return a->unresolved ? 1 : -1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void link_children(struct ks_dirtree *tree, u32 parent, const u32 *order, size_t count)
{
	u32 *link = &tree->nodes.items[parent].child;
	size_t i;

	for (i = 0; i < count; i++) {
		*link = order[i];
		link = &tree->nodes.items[order[i]].sibling;
	}
	*link = KS_NONE;
}

/* === Public =============================================================================== */

int ks_dirtree_init(struct ks_dirtree *tree)
{
	struct ks_dirnode *root;

	*tree = (struct ks_dirtree){ 0 };
	root = ks_intern_init(&tree->keys) ? NULL : ks_vec_push(&tree->nodes);
	if (!root) {
		ks_dirtree_deinit(tree);
		return -ENOMEM;
	}
	*root = (struct ks_dirnode){
		.name = "", .parent = KS_NONE, .child = KS_NONE, .sibling = KS_NONE
	};
	return 0;
}

void ks_dirtree_deinit(struct ks_dirtree *tree)
{
	ks_intern_deinit(&tree->keys);
	ks_vec_free(&tree->nodes);
}

int ks_dirtree_touch(struct ks_dirtree *tree, const char *path, u32 *ret_node)
{
	unsigned int depth = 0;
	u32 node = 0;

	while (*path && node != KS_NONE) {
		/* Who walks the tree may recurse: a path without end becomes one name at the end. */
		size_t len = ++depth < KS_DIRTREE_DEPTH ? strcspn(path, "/") : strlen(path);

		if (len)
			node = add_child(tree, node, path, len);
		path += len + (path[len] == '/');
	}
	if (node == KS_NONE)
		return -ENOMEM;
	*ret_node = node;
	return 0;
}

int ks_dirtree_add(struct ks_dirtree *tree, const char *path, u64 bytes)
{
	bool resolved = path && *path;
	u32 node;

	if (!bytes)
		return 0;
	if (ks_dirtree_touch(tree, resolved ? path : KS_UNRESOLVED, &node))
		return -ENOMEM;
	if (!resolved)
		tree->nodes.items[node].unresolved = true;
	add_bytes(tree, node, bytes);
	return 0;
}

int ks_dirtree_add_names(struct ks_dirtree *tree, const char *const *names, size_t len, u64 bytes)
{
	u32 node = 0;
	size_t i;

	for (i = 0; bytes && i < len && node != KS_NONE; i++)
		if (*names[i])
			node = add_child(tree, node, names[i], strlen(names[i]));
	if (node == KS_NONE)
		return -ENOMEM;
	add_bytes(tree, node, bytes);
	return 0;
}

int ks_dirtree_sort(struct ks_dirtree *tree)
{
	u32 *order = calloc(tree->nodes.len, sizeof(*order)), parent, node;

	if (!order)
		return -ENOMEM;
	for (parent = 0; parent < tree->nodes.len; parent++) {
		size_t count = 0;

		for (node = tree->nodes.items[parent].child; node != KS_NONE;
		     node = tree->nodes.items[node].sibling)
			order[count++] = node;
		qsort_r(order, count, sizeof(*order), by_size, tree);
		link_children(tree, parent, order, count);
	}
	free(order);
	return 0;
}

u32 ks_dirtree_find(const struct ks_dirtree *tree, const char *path)
{
	u32 node = 0;

	while (*path && node != KS_NONE) {
		size_t len = strcspn(path, "/");

		if (len && !(len == 1 && path[0] == '.'))
			node = find_child(tree, node, path, len);
		path += len + (path[len] == '/');
	}
	return node;
}
