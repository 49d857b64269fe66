/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The functions of a kernel as subjects of privilege: how long each is, and how many of its instructions read,
 * write, call and return. From the image where there is one; else from what the map saw, which is less.
 */
#ifndef KS_KMAP_FUNCTIONS_H
#define KS_KMAP_FUNCTIONS_H

#include "kmap/places.h"
#include "sym/code.h"

struct ks_kmap_function {
	u32 labels[KS_KMAP_UNITS];
	double size; /* 0 = not known */
	double counts[KS_CPM_OPS];
	bool in_image;
};

struct ks_kmap_functions {
	KS_VEC(struct ks_kmap_function) items;
	u32 *of_code;	       /* by number of the instruction; KS_NONE = it is no code */
	bool has_sizes;	       /* there was an image */
	struct ks_map64 index; /* by labels of function and file */
};

/*
 * @code may be NULL, and so may @resolver. Where @places have a cut, functions of the image get their domains
 * from it, too.
 */
int ks_kmap_functions_new(const struct ks_kmap_census *census, struct ks_kmap_places *places,
			  const struct ks_code *code, struct ks_resolver *resolver,
			  struct ks_kmap_functions **ret_functions, struct ks_diag *diag);
void ks_kmap_functions_free(struct ks_kmap_functions *functions);

#endif
