/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Where pages are allocated. Page events name no call site. Where there is a stack trace, the site is the first
 * frame that is not the page allocator's or a helper's. Where there is none, pages are told apart by what
 * they were asked for with, their GFP flags, and the label says so.
 */
#ifndef KS_ANALYSIS_PAGE_SITES_H
#define KS_ANALYSIS_PAGE_SITES_H

#include "analysis/helpers.h"
#include "analysis/places.h"
#include "db/ksdb.h"
#include "trace/event.h"

struct ks_page_sites {
	struct ks_names *names;
	struct ks_places *frames;	  /* of stacks */
	const struct ks_helpers *helpers; /* may be NULL */
	/* By number + 1; the site plus one, 0 = not asked yet. */
	KS_VEC(u32) by_stack;
	KS_VEC(u32) by_gfp;
	KS_VEC(struct ks_event) copy;
	bool guessed; /* a page had no stack */
};

void ks_page_sites_deinit(struct ks_page_sites *sites);

/* Gives allocations of pages their sites: *ret_events are the events with these, until the next call. */
int ks_page_sites_of_events(struct ks_page_sites *sites, const struct ks_event *events,
			    size_t count, const struct ks_event **ret_events, struct ks_diag *diag);

/* The same for the shapes of a block. */
int ks_page_sites_of_shapes(struct ks_page_sites *sites, struct ks_db_shape *shapes, u32 len,
			    struct ks_diag *diag);

#endif
