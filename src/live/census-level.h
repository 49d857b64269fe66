/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Level 0: the kernel's counters at every look, and exact counts of its memory as often as the budget allows. The
 * counters take free objects that wait for a CPU for used ones; how many these were at the last exact count is taken off.
 */
#ifndef KS_LIVE_CENSUS_LEVEL_H
#define KS_LIVE_CENSUS_LEVEL_H

#include "live/build.h"
#include "live/counters.h"

struct ks_kernel;
struct ks_slots;
struct ks_slot_index;

/* What an exact count says of a cache. */
struct ks_known_cache {
	u64 waiting; /* that the counters take for used */
	bool reclaimable;
	bool counted; /* the counters have it at all; else this is all that is known of it: */
	u64 objects, bytes, slab_bytes;
	u64 addr; /* of one of this name */
	u32 size;
};

/* Tells whether an object was in use when slabs were last counted. */
struct ks_in_use {
	struct ks_slots *slots;
	struct ks_slot_index *index;
	u64 at_ns; /* when the count began: it knows nothing of what is younger */
};

bool ks_in_use(const struct ks_in_use *use, u64 addr);

/* Called when an exact count begins. */
typedef void ks_counting_fn(void *arg);

/* Called with each exact count that has @in_use. */
typedef void ks_counted_fn(void *arg, const struct ks_in_use *use);

struct ks_census_level {
	struct ks_kernel *kernel; /* opened with the first exact count */
	struct ks_intern names;
	KS_VEC(struct ks_known_cache)
	caches;			  /* by number of the name, as of the last exact count */
	struct ks_map64 addrs;	  /* of caches: their numbers */
	KS_VEC(u32) numbers;	  /* of their names; KS_NONE = it is none */
	KS_VEC(u64) wanted;	  /* addresses whose type is asked for */
	ks_counting_fn *counting; /* of a level that wants to know; may be NULL */
	ks_counted_fn *counted;	  /* the same */
	void *followed_by;	  /* their argument */
	bool no_counters;	  /* there is no slabinfo: each look is an exact count */
};

int ks_census_level_init(struct ks_census_level *level);
void ks_census_level_deinit(struct ks_census_level *level);

/* From now on exact counts are told to these. Only one level can have that. */
void ks_census_level_follow(struct ks_census_level *level, ks_counting_fn *counting,
			    ks_counted_fn *counted, void *arg);
void ks_census_level_unfollow(struct ks_census_level *level, const void *arg);

/* Opens the kernel's memory, where that was not yet done. */
int ks_census_level_open(struct ks_census_level *level, struct ks_diag *diag);

/* The name of the cache at an address; NULL where there is none. Stays as long as the level. */
const char *ks_census_level_cache(struct ks_census_level *level, u64 addr);

/* A cache by its name, of which there is an exact count; one is made where there is none. NULL: there is none. */
const struct ks_known_cache *ks_census_level_find(struct ks_census_level *level, const char *name,
						  struct ks_diag *diag);

/* The part of caches by counters alone. */
int ks_census_level_counters(struct ks_census_level *level, struct ks_live_snapshot *s,
			     struct ks_diag *diag);

/* By an exact count, with types and cgroups if @types. */
int ks_census_level_count(struct ks_census_level *level, bool types, struct ks_live_snapshot *s,
			  struct ks_diag *diag);

#endif
