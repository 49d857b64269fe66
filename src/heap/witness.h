/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the running kernel itself says of its memory: /proc/slabinfo and /proc/meminfo, to compare with. */
#ifndef KS_HEAP_WITNESS_H
#define KS_HEAP_WITNESS_H

#include "heap/caches.h"

/* More partial slabs than this in a node, and slabinfo does not count their free objects but estimates them. */
enum { KS_SLABINFO_COUNTS = 10000 };

struct ks_witness {
	u64 *active; /* by number of the cache; UINT64_MAX = slabinfo has no such row */
	size_t caches;
	u64 total;			/* MemTotal in bytes; 0 = not known */
	u64 reclaimable, unreclaimable; /* SReclaimable, SUnreclaim in bytes */
	u64 stacks, percpu;		/* KernelStack, Percpu in bytes: parts of vmalloc here */
};

/* What can't be read is not known: no error but a lack of memory. */
int ks_witness_read(const struct ks_caches *caches, struct ks_witness **ret_witness);
void ks_witness_free(struct ks_witness *witness);

#endif
