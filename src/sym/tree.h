/* SPDX-License-Identifier: LGPL-2.1-only */
/* A built kernel tree: where its parts are, and the object files that were compiled in it. */
#ifndef KS_SYM_TREE_H
#define KS_SYM_TREE_H

#include "base/diag.h"
#include "base/intern.h"

/* Paths are absolute or as the user began them; NULL = there is none. */
struct ks_tree {
	char *build;	  /* where the objects are */
	char *source;	  /* where the sources are; the same unless built with O= */
	char *vmlinux;	  /* the linked kernel */
	char *system_map; /* System.map */
	char *release;	  /* "6.12.9"; from include/config/kernel.release */
};

/* -ENOTDIR where @path is no directory: then it may be a single file. */
int ks_tree_open(struct ks_tree *tree, const char *path, struct ks_diag *diag);
void ks_tree_close(struct ks_tree *tree);

/* Whether "fs/ext4", "./fs/ext4/" or "mm/slub.c" is in the sources or the build; "." always is. */
bool ks_tree_has_branch(const struct ks_tree *tree, const char *branch);

/* The error for a branch that is not in the tree or image at @path: -ENOENT. */
int ks_branch_missing(const char *branch, const char *path, struct ks_diag *diag);

/* Takes "./" from the front and slashes from the end; what is left and its length, 0 = all. */
const char *ks_branch_trim(const char *branch, size_t *ret_len);

/* @dir and @name joined by a slash, to be freed; NULL when there is no memory. */
char *ks_path_join(const char *dir, const char *name);

/*
 * The whole file; to be freed, NUL-terminated. -EFBIG above @limit, else -errno. For a file
 * that does not exist (-ENOENT), @diag is not changed.
 */
int ks_read_file(const char *path, size_t limit, char **ret_text, size_t *ret_len,
		 struct ks_diag *diag);

/* === Objects === */

/* What the build made of an object file. */
enum ks_object_fate {
	KS_OBJECT_BUILTIN,    /* compiled from one source file, linked into vmlinux */
	KS_OBJECT_MODULE,     /* compiled from one source file, part of a module */
	KS_OBJECT_COMPOSITE,  /* linked from others: they are counted */
	KS_OBJECT_HOST,	      /* for the machine that builds: scripts/, tools/ */
	KS_OBJECT_NOT_LINKED, /* boot code, vdso, purgatory: in no archive and no module */
	KS_OBJECT_GENERATED,  /* the stub of a module, kallsyms */
	KS_OBJECT_NO_SOURCE,  /* no source file beside it: firmware, wrapped blobs */
	KS_OBJECT_OTHER_ARCH, /* for another machine type than the rest */
	KS_OBJECT_BAD,	      /* cannot be read: damaged or truncated */
	KS_OBJECT_FATES
};

struct ks_object_file {
	u32 path;   /* relative to the build directory: "fs/inode.o" */
	u32 source; /* relative to the source directory: "fs/inode.c"; KS_NONE = none */
	u32 module; /* its module's name; KS_NONE = built in */
	u8 fate;    /* enum ks_object_fate */
};

struct ks_object_files {
	struct ks_intern strings;
	KS_VEC(struct ks_object_file) items; /* in order of path */
	KS_VEC(u32) kos;		     /* the paths of the modules themselves */
	bool linked_known;		     /* archives said what is linked; else all is taken */
	KS_VEC(u32) too_deep;		     /* directories that were not read: 64 levels down */
};

/* A word for the fate: "composite", "host tool", ... */
const char *ks_object_fate_name(enum ks_object_fate fate);

/* Finds all object files without opening any. OTHER_ARCH and BAD are set by whoever reads them. */
int ks_object_files_init(struct ks_object_files *objects, const struct ks_tree *tree,
			 struct ks_diag *diag);
void ks_object_files_deinit(struct ks_object_files *objects);

static inline const char *ks_object_files_str(const struct ks_object_files *objects, u32 id)
{
	return ks_intern_get(&objects->strings, id).s;
}

/* A module's name in the log has "_" where its file may have "-". */
bool ks_module_names_equal(const char *a, const char *b);

/* Where module @name keeps its .ko, or NULL; relative to the build directory. */
const char *ks_object_files_ko(const struct ks_object_files *objects, const char *name);

#endif
