/* SPDX-License-Identifier: LGPL-2.1-only */
/* A census as tables. */
#ifndef KS_HEAP_CENSUS_DOC_H
#define KS_HEAP_CENSUS_DOC_H

#include "heap/aliases.h"
#include "heap/census.h"
#include "heap/typing.h"
#include "heap/witness.h"
#include "table/doc.h"

enum ks_heap_by {
	KS_HEAP_BY_CACHE,
	KS_HEAP_BY_TYPE,
	KS_HEAP_BY_CGROUP,
	KS_HEAP_BY_NODE,
	KS_HEAP_BYS,
};

const char *ks_heap_by_name(unsigned int by);

/* What a report is made from. */
struct ks_heap_report {
	const struct ks_kernel *kernel;
	const struct ks_census *census;
	const struct ks_witness *witness; /* of the running kernel; NULL = it is another */
	const struct ks_aliases *aliases; /* NULL = none */
	const struct ks_typing *typing;	  /* for KS_HEAP_BY_TYPE */
	enum ks_heap_by by;
	u64 top; /* rows in text; 0 = all */
};

/* NULL when there is no memory. */
struct ks_doc *ks_doc_of_census(const struct ks_heap_report *report);

#endif
