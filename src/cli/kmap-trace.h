/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The objects of an access map as a trace: an event for each allocation and each free, in the order
 * of time, so that all that reads captures can be asked about the map.
 */
#ifndef KS_CLI_KMAP_TRACE_H
#define KS_CLI_KMAP_TRACE_H

#include "kmap/census.h"
#include "sym/sym.h"
#include "trace/source.h"

/* What became of the map. */
struct ks_kmap_traced {
	u64 objects;
	u64 not_allocated, not_allocated_bytes; /* globals, stacks and the like: left out */
	u64 guessed;	     /* of no recorded type: pages if they seem to be, else kmalloc's */
	u64 unseen;	     /* ended without their free being seen: a free of no site */
	u64 timeless;	     /* freed at no time, or before they were allocated: freed at once */
	u64 accesses, calls; /* left out */
	bool other_kernel;   /* the resolver's is not the one that was recorded */
};

/*
 * Reads all of the map, and holds its objects: they are to be sorted. @resolver names the sites,
 * @census adds the map up on the way; both may be NULL. @progress as in the census.
 */
int ks_kmap_trace_new(struct ks_kmap_reader *reader, struct ks_resolver *resolver,
		      struct ks_kmap_census *census, int (*progress)(void *ctx), void *ctx,
		      struct ks_kmap_traced *ret_traced, struct ks_source **ret_source,
		      struct ks_diag *diag);

#endif
