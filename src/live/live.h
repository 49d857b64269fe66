/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The running kernel's memory, looked at again and again. How closely is a matter of the level: each has all that
 * the levels below it have, costs more, and says what it costs, what it can't see and what it missed.
 *
 *	struct ks_live_opts opts = { .level = KS_LIVE_CENSUS };
 *
 *	ks_live_open(&opts, &live, diag);
 *	for (;;) {
 *		ks_live_poll(live, &snapshot, diag);
 *		ks_live_rows(snapshot, KS_LIVE_BY_CACHE, NULL, &rows);
 *		...
 *		ks_live_rows_free(&rows);
 *		ks_live_snapshot_put(snapshot);
 *		sleep(1);
 *	}
 *	ks_live_close(live);
 *
 * One thread at a time. Nothing is left behind in the kernel, however the program ends.
 */
#ifndef KS_LIVE_LIVE_H
#define KS_LIVE_LIVE_H

#include "base/diag.h"
#include "live/snapshot.h"

/* What a level that sees single allocations looks at. What is 0 or NULL is no limit. */
struct ks_live_filter {
	const char *const *caches; /* their names */
	size_t nr_caches;
	const char *const *sites; /* "func", all of it, or "func+0x12" */
	size_t nr_sites;
	u32 pid;	    /* a process and its threads: what it allocates */
	const char *cgroup; /* its path: what is allocated in it, and below it */
	bool stacks;	    /* exact: by stack and cgroup, too, which costs ten times as much */
};

struct ks_live_opts {
	enum ks_live_level level;
	unsigned int by; /* bits 1 << enum ks_live_by that are wanted; 0 = all that the level has */
	struct ks_live_filter filter;
	u64 census_ns;	   /* from one exact count to the next; 0 = as the budget allows */
	u64 types_ns;	   /* and of types and cgroups; KS_LIVE_NEVER */
	u64 rate_ns;	   /* rates are over this time, and at most twice as long; 0 = 10 s */
	u64 sample_bytes;  /* sampled: the bytes between two samples; 0 = 512 KiB */
	u64 max_objects;   /* exact: the most objects, at 23 bytes each; 0 = by what there is now */
	u32 budget;	   /* what exact counts may use, in 1/10000 of a CPU; 0 = 50 */
	bool census_first; /* the first snapshot is exact, and has types; else it is there at once */
};

#define KS_LIVE_NEVER UINT64_MAX

struct ks_live;

int ks_live_open(const struct ks_live_opts *opts, struct ks_live **ret_live, struct ks_diag *diag);
void ks_live_close(struct ks_live *live); /* accepts NULL */

/* How things are now. The snapshot is to be put back, in any order; it stays as it is. */
int ks_live_poll(struct ks_live *live, struct ks_live_snapshot **ret_snapshot,
		 struct ks_diag *diag);

/* Changes are since the next snapshot from now on. */
void ks_live_rebase(struct ks_live *live);

/* Exact counts come with the next snapshot, whatever the budget says. */
void ks_live_census_now(struct ks_live *live, bool types);

/* The next count of types says in snapshot->typed what the object at this address is. 0 or -ENOMEM. */
int ks_live_want_type(struct ks_live *live, u64 addr);

/*
 * All objects of the kernel and who points to whom, as they are now: takes seconds, and a hundred bytes an object. To be
 * freed by ks_snapshot_free(). -ENOENT: its memory can't be read, or was not yet.
 */
struct ks_snapshot;
int ks_live_heap(struct ks_live *live, struct ks_snapshot **ret_heap, struct ks_diag *diag);

/*
 * Changes level and filter; where that fails, the old ones stay. What only a level above the census saw is forgotten,
 * and its rows begin anew.
 */
int ks_live_set_level(struct ks_live *live, enum ks_live_level level,
		      const struct ks_live_filter *filter, struct ks_diag *diag);
enum ks_live_level ks_live_level(const struct ks_live *live);

/* Whether this kernel allows a level, and to us. Else the reason is in @diag. Attaches nothing that stays. */
int ks_live_try(enum ks_live_level level, struct ks_diag *diag);

#endif
