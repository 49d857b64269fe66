/* SPDX-License-Identifier: GPL-2.0-only */
/* Running an analysis for a command: its options, the source, progress and messages. */
#ifndef KS_CLI_RUN_H
#define KS_CLI_RUN_H

#include "analysis/analysis.h"
#include "analysis/objects.h"
#include "cli/cli.h"
#include "cli/progress.h"

/* An analysis of the capture or source of the options, with their filter and symbols. */
struct ks_cli_analysis {
	struct ks_cli *cli;
	struct ks_analysis *analysis; /* for accounts and views */
	const char *what;	      /* for the line of progress: "reading" */
	bool again; /* this capture was read before: what there is to say of it has been said */
	struct ks_progress progress;
	struct ks_helpers helpers;
	struct ks_resolver *resolver;
};

/* With the filter of cli->capture->filter, or with another. 0 or an exit code. */
int ks_cli_analysis_open(struct ks_cli_analysis *run, struct ks_cli *cli,
			 const struct ks_filter *filter);
void ks_cli_analysis_close(struct ks_cli_analysis *run);

/*
 * Opens the source, runs, and closes both. @err and @diag are of the adding of accounts and views: where
 * that failed, so does this. 0 or an exit code.
 */
int ks_cli_analysis_run(struct ks_cli_analysis *run, int err, struct ks_diag *diag,
			struct ks_model **ret_model);

/* The analysis by one grouping. 0 or an exit code. */
int ks_cli_analyze(struct ks_cli *cli, enum ks_by by, struct ks_model **ret_model);

/* By site, with one of the views (analysis/views.h), whose result is in the model. */
int ks_cli_frag(struct ks_cli *cli, struct ks_model **ret_model);
int ks_cli_timeline(struct ks_cli *cli, struct ks_model **ret_model);

/* By site, handing out every object. */
int ks_cli_objects(struct ks_cli *cli, ks_object_fn *fn, void *ctx, struct ks_model **ret_model);

/* By site, without the filter, writing a DB too. */
int ks_cli_import(struct ks_cli *cli, const char *db_path, struct ks_model **ret_model);

/* Opens what -k and -b ask for. *ret_resolver may be NULL. 0 or an exit code. */
int ks_cli_resolver(struct ks_cli *cli, struct ks_resolver **ret_resolver);

#endif
