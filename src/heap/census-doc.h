/* SPDX-License-Identifier: LGPL-2.1-only */
/* A census as tables. */
#ifndef KS_HEAP_CENSUS_DOC_H
#define KS_HEAP_CENSUS_DOC_H

#include "heap/snapshot.h"
#include "table/doc.h"

enum ks_heap_by {
	KS_HEAP_BY_CACHE,
	KS_HEAP_BY_TYPE,
	KS_HEAP_BY_CGROUP,
	KS_HEAP_BY_NODE,
	KS_HEAP_BYS,
};

const char *ks_heap_by_name(unsigned int by);

/* Objects of one cache that one cgroup pays for; cgroups have the numbers of the snapshot. */
struct ks_heap_charges {
	KS_VEC(struct ks_charge) rows;
};

/* Adds up who pays for the objects of a snapshot. 0 or -ENOMEM. */
int ks_heap_charges_of(const struct ks_snapshot *snapshot, struct ks_heap_charges *charges);

/* The same from a census, for a snapshot without objects; the snapshot gets the names of the cgroups. */
int ks_heap_charges_of_census(struct ks_snapshot *snapshot, const struct ks_charges *from,
			      struct ks_heap_charges *charges);

/* What a report is made from. */
struct ks_heap_report {
	const struct ks_snapshot *heap;	       /* by type: with its objects */
	const struct ks_heap_charges *charges; /* for KS_HEAP_BY_CGROUP */
	const char *from;		       /* the file that it is from; NULL = none */
	enum ks_heap_by by;
	u64 top; /* rows in text; 0 = all */
};

/* NULL when there is no memory. */
struct ks_doc *ks_doc_of_census(const struct ks_heap_report *report);

#endif
