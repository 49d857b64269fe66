// SPDX-License-Identifier: GPL-2.0-only
/* The comparison that goes with an HTML report. */
#include "cli/html-diff.h"

#include "cli/html-kmap.h"
#include "cli/run.h"

/* === Internals ============================================================================ */

/* Reads the first capture, once. */
static int read_first(struct ks_cli *cli, const char *first, struct ks_model **ret_model)
{
	const char *input = cli->capture->input;
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int err, code = ks_cli_analysis_open(&run, cli, &cli->capture->filter);

	if (code)
		return code;
	cli->capture->input = first;
	err = ks_cli_html_diff_add(run.analysis, &diag);
	code = ks_cli_analysis_run(&run, err, &diag, ret_model);
	cli->capture->input = input;
	return code;
}

/* === Public =============================================================================== */

int ks_cli_html_diff_add(struct ks_analysis *analysis, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; i < KS_HTML_DIFFS && !err; i++)
		err = ks_analysis_account(analysis, ks_html_diff_by[i], diag);
	return err;
}

int ks_cli_html_diff_open(struct ks_cli *cli, const char *first, const struct ks_model *after,
			  struct ks_cli_html_diff *diff)
{
	struct ks_diag diag = { 0 };
	int err, code = read_first(cli, first, &diff->before);

	if (code)
		return code;
	err = ks_html_diff_init(&diff->page, ks_cli_base_name(first), diff->before, after,
				&cli->capture->filter, &diag);
	return err ? ks_cli_fail(cli, err, &diag) : 0;
}

void ks_cli_html_diff_close(struct ks_cli_html_diff *diff)
{
	ks_html_diff_deinit(&diff->page);
	ks_model_free(diff->before);
}
