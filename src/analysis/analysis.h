/* SPDX-License-Identifier: LGPL-2.1-only */
/* The analyser's entry points: a capture or a DB in, a model out. */
#ifndef KS_ANALYSIS_ANALYSIS_H
#define KS_ANALYSIS_ANALYSIS_H

#include "analysis/filter.h"
#include "analysis/helpers.h"
#include "analysis/model.h"
#include "base/diag.h"
#include "sym/sym.h"

struct ks_known_kernel;
struct ks_observer;
struct ks_source;

struct ks_analysis_opts {
	enum ks_by by;
	enum ks_level level;
	struct ks_filter filter;
	struct ks_resolver *resolver;	    /* may be NULL */
	const struct ks_helpers *helpers;   /* sites in these are marked; may be NULL */
	bool skip_helpers;		    /* allocations of helpers count for their callers */
	bool want_stacks;		    /* events with their stack traces, for an observer */
	const struct ks_observer *observer; /* see analysis/engine.h; may be NULL */
	void *observer_ctx;
	/* Called now and then with how far along it is; total 0 = not known. Not 0: stop, -EINTR. */
	int (*progress)(void *ctx, u64 done, u64 total);
	void *progress_ctx;
	const struct ks_known_kernel *kernel; /* see trace/source.h; may be NULL */
	struct ks_source *trace; /* made by the caller, who closes it: asked in place of the path */
};

/* Reads the capture, or asks the DB, at @path. */
int ks_analyze(const char *path, const struct ks_analysis_opts *opts, struct ks_model **ret_model,
	       struct ks_diag *diag);

/* The same, with the view of fragmentation as well; opts->by is site. */
int ks_analyze_frag(const char *path, const struct ks_analysis_opts *opts, struct ks_frag *ret_frag,
		    struct ks_model **ret_model, struct ks_diag *diag);

/*
 * The same, with what lives at the end and is at least @min_age old; by stack trace too where
 * opts->want_stacks is set and the capture has them.
 */
int ks_analyze_leaks(const char *path, const struct ks_analysis_opts *opts, u64 min_age,
		     struct ks_leaks *ret_leaks, struct ks_model **ret_model, struct ks_diag *diag);

/* Reads the capture and writes all of it into a DB. The model is by site, without a filter. */
int ks_import(const char *path, const char *db_path, const struct ks_analysis_opts *opts,
	      struct ks_model **ret_model, struct ks_diag *diag);

#endif
