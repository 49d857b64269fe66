/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests: all of a file in one call. */
#ifndef KS_TESTS_ANALYZE_H
#define KS_TESTS_ANALYZE_H

#include "analysis/analysis.h"
#include "analysis/view.h"
#include "analysis/views.h"
#include "source/open.h"

/* @view may be NULL. */
static inline int analyze_file(const char *path, const struct ks_analysis_opts *opts, enum ks_by by,
			       struct ks_view *view, struct ks_model **ret_model,
			       struct ks_diag *diag)
{
	struct ks_analysis *analysis = ks_analysis_new(opts);
	struct ks_source_opts source_opts;
	struct ks_source *source = NULL;
	int err = analysis ? ks_analysis_account(analysis, by, diag) : -ENOMEM;

	if (!err && view)
		err = ks_analysis_add(analysis, view, diag);
	if (!err) {
		ks_analysis_wants(analysis, &source_opts);
		err = ks_source_open(path, &source_opts, &source, diag);
	}
	if (!err)
		err = ks_analysis_run(analysis, source, diag);
	if (!err)
		err = ks_analysis_snapshot(analysis, ret_model, diag);
	ks_source_close(source);
	ks_analysis_free(analysis);
	return err;
}

#endif
