/* SPDX-License-Identifier: LGPL-2.1-only */
/* The engine: a matcher and an account, fed with the events of one capture. One pass. */
#ifndef KS_ANALYSIS_ENGINE_H
#define KS_ANALYSIS_ENGINE_H

#include "analysis/account.h"
#include "analysis/analysis.h"
#include "analysis/match.h"
#include "trace/source.h"

struct ks_engine;

/*
 * Somebody who looks over the engine's shoulder, for views that the account does not have. 0 or
 * -ENOMEM. The object that an event ends is still in its slot; @counted is of an allocation.
 */
struct ks_observer {
	int (*event)(void *ctx, const struct ks_engine *engine, const struct ks_event *ev,
		     const struct ks_match *match, bool counted);
	int (*finish)(void *ctx, struct ks_engine *engine);
};

struct ks_engine {
	struct ks_matcher matcher;
	struct ks_account account;
	KS_VEC(u32) group_in[KS_LEVELS];    /* by slot; empty when groups are sites */
	struct ks_db_writer *writer;	    /* gets every event; may be NULL; not owned */
	const struct ks_observer *observer; /* may be NULL */
	void *observer_ctx;
	const struct ks_source_info *info; /* of the capture that is being read */
	bool started;			   /* the time of the first event is known */
};

int ks_engine_init(struct ks_engine *engine, const struct ks_analysis_opts *opts,
		   const struct ks_names *names);
void ks_engine_deinit(struct ks_engine *engine);

int ks_engine_feed(struct ks_engine *engine, const struct ks_event *events, size_t count,
		   struct ks_diag *diag);

#endif
