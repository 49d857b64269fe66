/* SPDX-License-Identifier: LGPL-2.1-only */
/* Groups of profiles: a call site together with the stack that led to it, and maybe the cache and the process. */
#ifndef KS_ANALYSIS_ORIGINS_H
#define KS_ANALYSIS_ORIGINS_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/intern.h"
#include "base/vec.h"

struct ks_group;
struct ks_names;
struct ks_places;

struct ks_origin {
	u64 cache; /* the key of its group by cache; 0 where that does not matter */
	u32 site, stack;
	u32 comm; /* KS_NONE also where that does not matter */
	u32 zero; /* origins are compared as bytes */
};

/* Which stacks are of the same functions: for a profile they are one. */
struct ks_alike {
	struct ks_intern lists;	 /* the functions of a stack */
	KS_VEC(u32) first;	 /* by list: the first stack that had it */
	KS_VEC(u32) first_alike; /* by stack: the first one like it, plus one; 0 = not asked yet */
};

int ks_alike_init(struct ks_alike *alike);
void ks_alike_deinit(struct ks_alike *alike);

/* The first stack like this one; 0 or -ENOMEM. */
int ks_alike_find(struct ks_alike *alike, const struct ks_names *names, u32 stack, u32 *ret_first);

/* The number of the origin among @known; KS_NONE for lack of memory. */
u32 ks_origin_add(struct ks_intern *known, struct ks_origin origin);
struct ks_origin ks_origin_get(const struct ks_intern *known, u32 number);

/*
 * Adds to the group, which is that of a site, the functions that called it: further out in the stack
 * than the site's own.
 */
int ks_origin_fill(const struct ks_names *names, u32 stack, struct ks_places *frames,
		   struct ks_arena *arena, struct ks_group *group, struct ks_diag *diag);

#endif
