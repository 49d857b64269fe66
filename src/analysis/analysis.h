/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * An analysis: accounts and views over one source, and a model of what they found, at any moment.
 *
 *	struct ks_analysis *analysis = ks_analysis_new(&opts);
 *
 *	ks_analysis_account(analysis, KS_BY_SITE, diag);
 *	ks_analysis_add(analysis, ks_leaks_view_new(0, false), diag);
 *	ks_analysis_wants(analysis, &source_opts);
 *	ks_source_open(path, &source_opts, &source, diag);
 *	ks_analysis_run(analysis, source, diag);
 *	ks_analysis_snapshot(analysis, &model, diag);
 *	ks_source_close(source);
 *	ks_analysis_free(analysis);
 *
 * Instead of ks_analysis_run(), whoever has the events calls ks_analysis_start(), then
 * ks_analysis_feed() as they come, with snapshots in between, and ks_analysis_finish().
 */
#ifndef KS_ANALYSIS_ANALYSIS_H
#define KS_ANALYSIS_ANALYSIS_H

#include "analysis/filter.h"
#include "analysis/helpers.h"
#include "analysis/model.h"
#include "base/diag.h"
#include "sym/sym.h"
#include "trace/source.h"

struct ks_view;

struct ks_analysis_opts {
	enum ks_level level;
	struct ks_filter filter;
	struct ks_resolver *resolver;	  /* may be NULL */
	const struct ks_helpers *helpers; /* sites in these are marked; may be NULL */
	bool skip_helpers; /* and their allocations belong to their callers, by stack traces */
	/* Called now and then with how far along it is; total 0 = not known. Not 0: stop, -EINTR. */
	int (*progress)(void *ctx, u64 done, u64 total);
	void *progress_ctx;
};

struct ks_analysis;

/* What opts point to must outlive it. NULL when there is no memory. */
struct ks_analysis *ks_analysis_new(const struct ks_analysis_opts *opts);
void ks_analysis_free(struct ks_analysis *analysis);

/* Adds an account by a grouping. Without any, there is one by site. All adding comes before the start. */
int ks_analysis_account(struct ks_analysis *analysis, enum ks_by by, struct ks_diag *diag);

/* Adds a view, which is the analysis' own from now on, even on error. NULL is a lack of memory. */
int ks_analysis_add(struct ks_analysis *analysis, struct ks_view *view, struct ks_diag *diag);

/*
 * Also writes all events of the source, whatever the filter, into a DB at @path. It needs an account by
 * site, and no filter. The file appears when the source has come to its end.
 */
int ks_analysis_save(struct ks_analysis *analysis, const char *path, struct ks_diag *diag);

/* The model will say how many caches and comms are named. To count them takes time. */
void ks_analysis_count_names(struct ks_analysis *analysis);

/*
 * Nobody will ask when a group was first seen, last seen, and largest: these are 0 in the model where it is
 * quicker not to find out, as in a DB.
 */
void ks_analysis_untimed(struct ks_analysis *analysis);

/* What to open the source with. The analysis must then outlive the source. */
void ks_analysis_wants(const struct ks_analysis *analysis, struct ks_source_opts *ret_opts);

/* Takes all that the source gives. Of a source of sums: as of now, and again at the next call. */
int ks_analysis_run(struct ks_analysis *analysis, struct ks_source *source, struct ks_diag *diag);

/* Says where events will be from: their names are in the source's tables. It must outlive the last snapshot. */
int ks_analysis_start(struct ks_analysis *analysis, struct ks_source *source, struct ks_diag *diag);

/* Takes the next events of the source. */
int ks_analysis_feed(struct ks_analysis *analysis, const struct ks_event *events, size_t count,
		     struct ks_diag *diag);

/* There are no more. */
int ks_analysis_finish(struct ks_analysis *analysis, struct ks_diag *diag);

/* The model of what is known so far. After the start, any number of times. */
int ks_analysis_snapshot(struct ks_analysis *analysis, struct ks_model **ret_model,
			 struct ks_diag *diag);

#endif
