/* SPDX-License-Identifier: LGPL-2.1-only */
/* Where call sites are: each site of a capture resolved once, when it first matters. */
#ifndef KS_ANALYSIS_PLACES_H
#define KS_ANALYSIS_PLACES_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"
#include "sym/sym.h"
#include "trace/names.h"

struct ks_place {
	const char *label;   /* "alloc_inode+0x4f [ext4]", or the trace's own text */
	const char *func;    /* "" where not known */
	const char *owner;   /* the same without .constprop.0, .isra.0, .part.0, .cold */
	const char *module;  /* "" = the kernel itself */
	const char *inlined; /* the function that was inlined at the call, or "" */
	const char *path;    /* "" where not known */
	u64 offset;
	bool known;	/* resolved already */
	bool in_branch; /* of ks_places.branch; true when there is none */
};

struct ks_places {
	const struct ks_sites *sites;
	struct ks_resolver *resolver; /* may be NULL; not owned */
	const char *branch;	      /* may be NULL */
	struct ks_arena arena;
	KS_VEC(struct ks_place) places; /* by site */
	struct ks_place unknown;	/* of events without a site */
};

void ks_places_init(struct ks_places *places, const struct ks_sites *sites,
		    struct ks_resolver *resolver, const char *branch);
void ks_places_deinit(struct ks_places *places);

/*
 * The place of a site, valid until the next call. It fails for lack of memory, or where the kernel tree
 * can't be read.
 */
int ks_places_get(struct ks_places *places, u32 site, const struct ks_place **ret_place,
		  struct ks_diag *diag);

#endif
