/* SPDX-License-Identifier: LGPL-2.1-only */
/* The state of the view of leaks: what lives and who uses each site. leaks.c keeps it, leaks-snapshot.c judges it. */
#ifndef KS_ANALYSIS_LEAKS_STATE_H
#define KS_ANALYSIS_LEAKS_STATE_H

#include "analysis/grouping.h"
#include "analysis/view.h"

/* What lives in a slot. */
struct ks_held {
	u64 born;
	u32 stack;
	u32 user;
	u32 pid;
	u32 bytes_req, bytes_alloc;
	bool lives;
};

/*
 * Who uses a site: a leak is one program's, or one driver's, while others use the same site and clean up
 * after themselves. So each name of a process counts apart, and so does each cache.
 */
struct ks_leak_user {
	u32 site, comm;
	u32 cache; /* the number of the group in caches */
	u64 allocs, frees, implied, paged, counted;
};

/* The user that a site had last. */
struct ks_leak_memo {
	u32 comm, cache;
	u64 bytes_alloc;
	u32 user; /* KS_NONE: nobody yet */
};

struct ks_leaks_view {
	struct ks_view base;
	u64 min_age;
	struct ks_grouping caches;
	struct ks_intern keys;		  /* of users, numbered as these */
	KS_VEC(struct ks_leak_memo) last; /* by site + 1 */
	KS_VEC(struct ks_leak_user) users;
	KS_VEC(struct ks_held) held; /* by slot */
	KS_VEC(struct ks_held) left; /* that live, and another has their slot */
};

/* Fills the leaks of @model with all that lives now. Changes nothing of the view. */
int ks_leaks_snapshot(struct ks_view *view, const struct ks_run *run, struct ks_model *model,
		      struct ks_diag *diag);

#endif
