/* SPDX-License-Identifier: LGPL-2.1-only */
/* Compartments that fit what a map saw: proposed by a search, and written as a compartmentalization. */
#ifndef KS_KMAP_COMPARTMENTS_H
#define KS_KMAP_COMPARTMENTS_H

#include "kmap/functions.h"

struct ks_kmap_search {
	u64 number; /* stop when only this many compartments are left; 0 = no such bound */
	u64 size;   /* at most this many functions in one; 0 = no such bound */
};

/*
 * Labels the code and the sites of a map, and its functions, with compartments (KS_KMAP_COMPARTMENT). Each
 * function that touches objects starts as a compartment of its own, with the objects that it allocates.
 * Then the two are joined, again and again, whose union saves most mediated uses for the privilege that it
 * adds. What never met another stays alone. -ENOMEM is the only error.
 */
int ks_kmap_search(const struct ks_kmap_census *census, struct ks_kmap_places *places,
		   struct ks_kmap_functions *functions, const struct ks_kmap_search *search);

/* The cut by @unit as a compartmentalization: each domain may do what some of its code was seen to do. */
int ks_kmap_cut_cpm(const struct ks_kmap_census *census, const struct ks_kmap_places *places,
		    const struct ks_kmap_functions *functions, enum ks_kmap_unit unit,
		    struct ks_cpm **ret_cpm);

#endif
