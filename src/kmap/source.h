/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The objects of an access map as a source of events: one for each allocation and each free, in the order
 * of time. So every analysis of captures can be run over a map.
 */
#ifndef KS_KMAP_SOURCE_H
#define KS_KMAP_SOURCE_H

#include "kmap/census.h"
#include "sym/sym.h"
#include "trace/source.h"

/* What the events of a map do not show. */
struct ks_kmap_source_quality {
	u64 objects;
	u64 not_allocated, not_allocated_bytes; /* globals, stacks and the like: left out */
	u64 guessed;	     /* of no recorded type: pages if they seem to be, else kmalloc's */
	u64 unseen;	     /* ended without their free being seen: a free of no site */
	u64 timeless;	     /* freed at no time, or before they were allocated: freed at once */
	u64 accesses, calls; /* left out */
	bool other_kernel;   /* the resolver's is not the one that was recorded */
};

/*
 * Reads all of the map and holds its objects, since they must be sorted. @resolver names the sites; @census
 * adds the map up on the way; both may be NULL. @progress returns non-zero to stop with -EINTR.
 */
int ks_kmap_source_new(struct ks_kmap_reader *reader, struct ks_resolver *resolver,
		       struct ks_kmap_census *census, int (*progress)(void *ctx), void *ctx,
		       struct ks_kmap_source_quality *ret_quality, struct ks_source **ret_source,
		       struct ks_diag *diag);

#endif
