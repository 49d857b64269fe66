/* SPDX-License-Identifier: LGPL-2.1-only */
/* The census: what is in the kernel's memory, by cache, by kind of page, by cgroup, by node. */
#ifndef KS_HEAP_CENSUS_H
#define KS_HEAP_CENSUS_H

#include "heap/charges.h"
#include "heap/waiting.h"

struct ks_census_row {
	u64 slabs, pages;
	u64 partial; /* slabs that have free places */
	u64 room;    /* objects that there are places for */
	u64 used;    /* as the slabs count */
	u64 waiting[KS_WAITING_PLACES];
	u64 aside;   /* free, in slabs of CPUs */
	u64 objects; /* in use: used without waiting */
	u64 bytes;   /* theirs, with what each object's place has of padding and debugging */
};

/* What one NUMA node has of slabs. */
struct ks_census_node {
	u64 slabs, pages, used, waiting, bytes;
};

struct ks_census {
	struct ks_pages *pages;
	struct ks_caches *caches;
	struct ks_waiting *waiting;
	struct ks_charges *charges;	   /* NULL = not asked for */
	KS_VEC(struct ks_census_row) rows; /* by number of the cache */
	KS_VEC(struct ks_census_node) nodes;
	u64 torn;   /* slabs that made no sense, even the second time: they are in no row */
	u64 reread; /* slabs that made sense the second time */
	u64 over;   /* objects that waited and were used no more: counted as none */
};

struct ks_census_options {
	bool charges; /* who pays, too */
};

int ks_census_take(struct ks_kernel *kernel, const struct ks_census_options *options,
		   struct ks_census **ret_census, struct ks_diag *diag);
void ks_census_free(struct ks_census *census);

#endif
