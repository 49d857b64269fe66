/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What the memorizer's file show_stats says about the maps that it makes: whether the module still
 * works, and how much it could not record. This is the one list of the counters that mean loss.
 */
#ifndef KS_KMAP_KERNEL_STATS_H
#define KS_KMAP_KERNEL_STATS_H

#include "base/diag.h"

/* The counters that mean that a map is not complete. */
enum ks_kmap_loss {
	KS_KMAP_LOST_FULL,	    /* objects: the memory of the module was used up */
	KS_KMAP_LOST_NMI,	    /* objects: allocated in a non-maskable interrupt */
	KS_KMAP_LOST_MARKS,	    /* child processes that could not be followed */
	KS_KMAP_LOST_ACCESSES_FULL, /* accesses: the memory of the module was used up */
	KS_KMAP_LOST_ACCESSES_NMI,  /* accesses in a non-maskable interrupt */
	KS_KMAP_LOST_ACCESSES_FAR,  /* accesses by code beyond the range of a record */
	KS_KMAP_LOST_ACCESSES_CPU,  /* accesses: no memory for the tables of a processor */
	KS_KMAP_LOST_VMALLOC,	    /* areas of vmalloc() that are not known as objects */
	KS_KMAP_LOST_PAGES,	    /* page allocations whose accesses are not counted as theirs */
	KS_KMAP_LOST_CALLS_FULL,    /* calls or returns: the table of a processor has no room */
	KS_KMAP_LOST_CALLS_NMI,	    /* in a non-maskable interrupt */
	KS_KMAP_LOST_CALLS_FAR,	    /* of code beyond the range of the table */
	KS_KMAP_LOST_CALLS_CPU,	    /* no memory for the table of a processor */
	KS_KMAP_LOSSES
};

struct ks_kmap_kernel_stats {
	u64 lost[KS_KMAP_LOSSES];
	bool failed;	 /* the module has switched itself off */
	char state[128]; /* "ok", or the reason */
};

/* The name of the counter in show_stats: "dropped_full", ... */
const char *ks_kmap_loss_name(enum ks_kmap_loss loss);

/*
 * Parses the text of show_stats; @name is the file, for messages. KS_EBADINPUT where a counter is missing
 * that every version of the module has. Counters of accesses are 0 where the kernel counts none.
 */
int ks_kmap_kernel_stats_parse(const char *text, const char *name,
			       struct ks_kmap_kernel_stats *ret_stats, struct ks_diag *diag);

/* Leaves in @stats what was lost since @before. */
void ks_kmap_kernel_stats_since(struct ks_kmap_kernel_stats *stats,
				const struct ks_kmap_kernel_stats *before);

/* Objects that are not in the map. */
u64 ks_kmap_lost_objects(const struct ks_kmap_kernel_stats *stats);

/* The sum of all counters: 0 means that the map is complete. */
u64 ks_kmap_lost_total(const struct ks_kmap_kernel_stats *stats);

#endif
