// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Reads the links of /sys/kernel/slab. Their targets are named after what the merged caches have in common. Of a kernel
 * that does not run here, the folder is read out of its memory.
 */
#include "heap/aliases.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/btf-members.h"
#include "heap/symbols.h"

/* === Data ================================================================================= */

enum {
	NODES_MAX = 65536, /* of the folder */
	DEPTH_MAX = 128,
	NODE_KIND = 15, /* of the flags of a kernfs_node */
	NODE_LINK = 4,
};

/* === Internals ============================================================================ */

static int by_cache(const void *a, const void *b)
{
	const struct ks_alias *x = a, *y = b;

	if (x->cache != y->cache)
		return x->cache < y->cache ? -1 : 1;
	return strcmp(x->name, y->name);
}

static u32 cache_of_id(const struct ks_caches *caches, const char *id)
{
	u32 i;

	for (i = 0; i < caches->items.len; i++)
		if (*id && !strcmp(caches->items.items[i].id, id))
			return i;
	return KS_NONE;
}

static int add_alias(struct ks_aliases *aliases, const struct ks_caches *caches, const char *id,
		     const char *name)
{
	u32 cache = cache_of_id(caches, id);
	struct ks_alias *alias;

	if (cache == KS_NONE)
		return 0;
	alias = ks_vec_push(&aliases->items);
	if (!alias)
		return -ENOMEM;
	alias->cache = cache;
	alias->name = ks_arena_strndup(&aliases->arena, name, strlen(name));
	return alias->name ? 0 : -ENOMEM;
}

static int read_folder(struct ks_aliases *aliases, const struct ks_caches *caches)
{
	DIR *dir = opendir("/sys/kernel/slab");
	struct dirent *entry;
	char target[128];
	ssize_t len;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		if (entry->d_type != DT_LNK)
			continue;
		len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		err = add_alias(aliases, caches, target, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* === Internals: the folder in memory ====================================================== */

struct folder_layout {
	u32 kobj, sd;				 /* of struct kset, of struct kobject */
	u32 rb, name, flags, dir, symlink;	 /* of struct kernfs_node */
	u32 children, target, root, left, right; /* of what is in it */
};

static bool folder_layout(const struct btf *btf, struct folder_layout *l)
{
	return ks_btf_member(btf, "kset", "kobj", &l->kobj) &&
	       ks_btf_member(btf, "kobject", "sd", &l->sd) &&
	       ks_btf_member(btf, "kernfs_node", "rb", &l->rb) &&
	       ks_btf_member(btf, "kernfs_node", "name", &l->name) &&
	       ks_btf_member(btf, "kernfs_node", "flags", &l->flags) &&
	       ks_btf_member(btf, "kernfs_node", "dir", &l->dir) &&
	       ks_btf_member(btf, "kernfs_node", "symlink", &l->symlink) &&
	       ks_btf_member(btf, "kernfs_elem_dir", "children", &l->children) &&
	       ks_btf_member(btf, "kernfs_elem_symlink", "target_kn", &l->target) &&
	       ks_btf_member(btf, "rb_root", "rb_node", &l->root) &&
	       ks_btf_member(btf, "rb_node", "rb_left", &l->left) &&
	       ks_btf_member(btf, "rb_node", "rb_right", &l->right);
}

static int node_name(struct ks_memory *memory, const struct folder_layout *l, u64 node, char *buf,
		     size_t size)
{
	u64 name;
	int err = ks_memory_word(memory, node + l->name, &name);

	return err ? err : ks_memory_string(memory, name, buf, size);
}

static int see_node(struct ks_memory *memory, const struct folder_layout *l, u64 node,
		    struct ks_aliases *aliases, const struct ks_caches *caches)
{
	char name[128], id[128];
	u64 target;
	u16 flags;

	if (ks_memory_get(memory, node + l->flags, &flags, sizeof(flags)) ||
	    (flags & NODE_KIND) != NODE_LINK ||
	    ks_memory_word(memory, node + l->symlink + l->target, &target) ||
	    node_name(memory, l, node, name, sizeof(name)) ||
	    node_name(memory, l, target, id, sizeof(id)))
		return 0;
	return add_alias(aliases, caches, id, name);
}

/* All nodes of the tree that the folder is; those that wait are on a stack, whose depth bounds a broken one. */
static int walk_folder(struct ks_memory *memory, const struct folder_layout *l, u64 root,
		       struct ks_aliases *aliases, const struct ks_caches *caches)
{
	u64 waiting[DEPTH_MAX], at, child;
	u32 depth = 0, seen = 0;
	int err = 0;

	if (root)
		waiting[depth++] = root;
	while (!err && depth && seen++ < NODES_MAX) {
		at = waiting[--depth];
		err = see_node(memory, l, at - l->rb, aliases, caches);
		if (depth < DEPTH_MAX && !ks_memory_word(memory, at + l->left, &child) && child)
			waiting[depth++] = child;
		if (depth < DEPTH_MAX && !ks_memory_word(memory, at + l->right, &child) && child)
			waiting[depth++] = child;
	}
	return err;
}

static int read_memory(const struct ks_kernel *kernel, struct ks_aliases *aliases,
		       const struct ks_caches *caches)
{
	struct ks_wanted_symbol kset = { "slab_kset", 0 };
	struct ks_memory *memory = kernel->memory;
	struct folder_layout l;
	u64 at;

	if (!*memory->facts.symbols || !folder_layout(kernel->btf, &l))
		return 0;
	ks_symbols_find(memory->facts.symbols, &kset, 1);
	if (!kset.addr || ks_memory_word(memory, kset.addr, &at) ||
	    ks_memory_word(memory, at + l.kobj + l.sd, &at) ||
	    ks_memory_word(memory, at + l.dir + l.children + l.root, &at))
		return 0;
	return walk_folder(memory, &l, at, aliases, caches);
}

/* === Public =============================================================================== */

int ks_aliases_read(const struct ks_kernel *kernel, const struct ks_caches *caches,
		    struct ks_aliases **ret_aliases)
{
	struct ks_aliases *aliases = calloc(1, sizeof(*aliases));
	int err;

	if (!aliases)
		return -ENOMEM;
	ks_arena_init(&aliases->arena);
	err = kernel->live ? read_folder(aliases, caches) : read_memory(kernel, aliases, caches);
	if (err) {
		ks_aliases_free(aliases);
		return err;
	}
	if (aliases->items.len)
		qsort(aliases->items.items, aliases->items.len, sizeof(*aliases->items.items),
		      by_cache);
	*ret_aliases = aliases;
	return 0;
}

void ks_aliases_free(struct ks_aliases *aliases)
{
	if (!aliases)
		return;
	ks_vec_free(&aliases->items);
	ks_arena_deinit(&aliases->arena);
	free(aliases);
}
