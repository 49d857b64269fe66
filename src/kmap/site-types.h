/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/kmap: which struct the objects of each site of a map are. */
#ifndef KS_KMAP_SITE_TYPES_H
#define KS_KMAP_SITE_TYPES_H

#include "kmap/fields.h"

struct ks_kmap_site_type {
	u32 layout; /* number in layouts; KS_NONE = not known */
	enum ks_kmap_typed typed;
	bool array; /* objects are arrays of it */
};

struct ks_kmap_site_types {
	KS_VEC(struct ks_debug_struct *) layouts;
	struct ks_intern names;		 /* of the layouts */
	struct ks_kmap_site_type *sites; /* by number of the site */
};

int ks_kmap_site_types_init(struct ks_kmap_site_types *types, const struct ks_kmap_census *census,
			    const struct ks_kmap_places *places, struct ks_debug_set *debug,
			    struct ks_diag *diag);
void ks_kmap_site_types_deinit(struct ks_kmap_site_types *types);

#endif
