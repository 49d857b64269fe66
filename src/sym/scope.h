/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Private to src/sym: the functions of the kernel, or of one module, and the source file of each.
 * A name alone says little: there are a dozen static functions called "init_once".
 */
#ifndef KS_SYM_SCOPE_H
#define KS_SYM_SCOPE_H

#include "sym/dwarf.h"
#include "sym/symtab.h"
#include "sym/tree.h"

struct ks_scope {
	struct ks_symtab *image;   /* what was linked; NULL = not known */
	struct ks_code_map code;   /* its DWARF; empty = it has none */
	struct ks_symtab *objects; /* all functions of its objects, one unit an object; or NULL */
	KS_VEC(const char *) object_paths; /* by unit of objects; they belong to the caller */
	const char **unit_paths;	   /* by unit of image: found so far */
};

enum ks_placing { KS_PLACED, KS_PLACE_UNKNOWN, KS_PLACE_AMBIGUOUS };

void ks_scope_deinit(struct ks_scope *scope);

/* The linked file; @with_dwarf also reads its compile units. */
int ks_scope_load_image(struct ks_scope *scope, const char *path, bool with_dwarf,
			struct ks_diag *diag);

/*
 * The objects of @module (NULL = built in). Files that cannot be read are left out: their functions
 * stay unresolved.
 */
int ks_scope_load_objects(struct ks_scope *scope, const struct ks_tree *tree,
			  const struct ks_object_files *objects, const char *module,
			  struct ks_diag *diag);

/* The source file of a function of the image, or NULL. */
const char *ks_scope_symbol_path(struct ks_scope *scope, const struct ks_symbol *symbol);

/* By full name. @extent, unless 0, distinguishes functions of one name; see ks_symtab_extent(). */
enum ks_placing ks_scope_place(struct ks_scope *scope, const char *name, u64 extent,
			       const char **ret_path);

#endif
