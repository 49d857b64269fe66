/* SPDX-License-Identifier: LGPL-2.1-only */
/* The engine: matches the events of one source, and feeds accounts and views with them. One pass. */
#ifndef KS_ANALYSIS_ENGINE_H
#define KS_ANALYSIS_ENGINE_H

#include "analysis/account.h"
#include "analysis/filter.h"
#include "analysis/match.h"
#include "analysis/view.h"

/* Who gets what a source gives. Views that the source can't serve are not among these. */
struct ks_audience {
	struct ks_run run;
	struct ks_selector selector;
	KS_VEC(struct ks_account *) accounts;
	KS_VEC(struct ks_view *) views;
	bool started; /* the time of the first event is known, and the views have started */
};

/* Says the time of the first event, and starts the views. */
int ks_audience_start(struct ks_audience *to, u64 first_ts, struct ks_diag *diag);

/* Feeds the views. @how is that of the end, were it in the window. */
int ks_audience_begin(struct ks_audience *to, const struct ks_event *ev, struct ks_match match,
		      struct ks_diag *diag);
int ks_audience_end(struct ks_audience *to, const struct ks_event *ev, u32 slot, enum ks_end how,
		    struct ks_diag *diag);

int ks_engine_feed(struct ks_matcher *matcher, struct ks_audience *to,
		   const struct ks_event *events, size_t count, struct ks_diag *diag);

/*
 * Ends the objects that the census at the end of a recording does not have any more, all but those whose
 * addresses are in @late. When they ended is not known: it is counted at the time of the last event.
 */
int ks_engine_census(struct ks_matcher *matcher, struct ks_audience *to,
		     const struct ks_slab_census *census, const struct ks_map64 *late,
		     struct ks_diag *diag);

#endif
