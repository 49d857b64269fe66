/* SPDX-License-Identifier: LGPL-2.1-only */
/* Pages that slabs are made of: the memory of objects that are in the map themselves. */
#ifndef KS_KMAP_SLAB_PAGES_H
#define KS_KMAP_SLAB_PAGES_H

#include "kmap/census.h"

/*
 * Takes them out of all sums where the map does not tell them apart. A site is the place that one call returns to. If it has
 * objects of a slab, that call is one of the slab allocator, and pages of the same site are what this allocator asked for.
 */
int ks_kmap_leave_out_slab_pages(struct ks_kmap_census *census);

#endif
