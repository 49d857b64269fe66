/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What a built kernel occupies before it allocates anything. Renderers see this and nothing else;
 * once made it does not change. All strings belong to the model.
 */
#ifndef KS_ANALYSIS_STATIC_MODEL_H
#define KS_ANALYSIS_STATIC_MODEL_H

#include "base/intern.h"

/* What a section is for. Every byte that is loaded is in exactly one of these. */
enum ks_section_class {
	KS_SEC_TEXT,
	KS_SEC_RODATA,
	KS_SEC_DATA,
	KS_SEC_BSS,
	KS_SEC_INIT,	  /* freed after boot, or after the module's init function */
	KS_SEC_PERCPU,	  /* once in the image, once more for each processor */
	KS_SEC_DISCARDED, /* in the object files, but the linker leaves it out; not in any total */
	KS_SECS
};

const char *ks_section_class_name(enum ks_section_class class);

struct ks_footprint {
	u64 bytes[KS_SECS];
};

static inline u64 ks_footprint_total(const struct ks_footprint *f)
{
	u64 total = 0;
	unsigned int i;

	for (i = 0; i < KS_SEC_DISCARDED; i++)
		total += f->bytes[i];
	return total;
}

/* One source file; in two modules, or built in and in one: two of these. */
struct ks_static_file {
	const char *path;   /* "fs/ext4/inode.c"; "" = belongs to no file that is known */
	const char *object; /* "fs/ext4/inode.o"; "" = taken from vmlinux */
	const char *module; /* "" = built in */
	struct ks_footprint size;
};

struct ks_static_section {
	const char *name;
	enum ks_section_class class;
	u64 bytes, objects;
};

struct ks_static_symbol {
	const char *name;
	u32 file; /* into files */
	enum ks_section_class class;
	u64 bytes;
	bool is_function;
};

/* An object file that was not counted, and why. */
struct ks_static_skip {
	const char *path;
	const char *why; /* "composite", "host tool", ... */
};

struct ks_static_bad {
	const char *path, *message;
};

struct ks_static_model {
	struct ks_intern strings;
	const char *source;		     /* the tree or the vmlinux, as the user named it */
	const char *release;		     /* "" = not known */
	const char *branch;		     /* "" = everything */
	KS_VEC(struct ks_static_file) files; /* by path, then module */
	KS_VEC(struct ks_static_section) sections; /* by bytes, then name */
	KS_VEC(struct ks_static_symbol) symbols;   /* only when asked for; by bytes, then name */
	struct ks_footprint builtin, modules;	   /* sums over files */
	u64 builtin_objects, module_objects;
	KS_VEC(struct ks_static_skip) skipped; /* by reason, then path */
	KS_VEC(struct ks_static_bad) bad;      /* those of the skipped that are damaged */

	/* The built-in part and vmlinux beside it; only for a whole tree that has one. */
	bool have_image;
	struct ks_footprint image;
	u64 image_kallsyms, image_btf; /* made by the link itself, in no object */
};

#endif
