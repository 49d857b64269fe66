/* SPDX-License-Identifier: LGPL-2.1-only */
/* A loop over independent items, on all processors. */
#ifndef KS_BASE_PARALLEL_H
#define KS_BASE_PARALLEL_H

#include "base/types.h"

/* How many workers a loop over @items things will have: at least 1, at most KS_WORKERS_MAX. */
enum { KS_WORKERS_MAX = 64 };

/* How many processors this process may use; at least 1. */
unsigned int ks_parallel_cpus(void);

unsigned int ks_parallel_workers(size_t items);

/*
 * Calls @fn once for each index below @items, from ks_parallel_workers(items) threads, each of which
 * says its number. Results are the same for any number of threads if @fn writes only to places that
 * belong to the index. Where no thread can be made, the caller's does the work.
 */
void ks_parallel_for(size_t items, void (*fn)(void *arg, size_t index, unsigned int worker),
		     void *arg);

#endif
