// SPDX-License-Identifier: GPL-2.0-only
/* The comparison that goes with an HTML report. */
#include "cli/html-diff.h"

#include <string.h>

#include "cli/html-kmap.h"

/* === Data ================================================================================= */

static const enum ks_by keys[KS_HTML_DIFFS] = { KS_BY_SITE, KS_BY_FUNCTION, KS_BY_CACHE,
						KS_BY_MODULE };

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

static int compare(struct ks_cli *cli, const struct ks_model *after, struct ks_cli_html_diff *diff)
{
	struct ks_diag diag = { 0 };
	size_t i;
	int err;

	for (i = 0; i < KS_HTML_DIFFS; i++) {
		err = ks_diff_init(&diff->diffs[i], diff->before, after, keys[i],
				   &cli->capture->filter, KS_MEASURE_LIVE, KS_NORMAL_NONE, &diag);
		if (err)
			return ks_cli_fail(cli, err, &diag);
		diff->len++;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_cli_html_diff_add(struct ks_analysis *analysis, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; i < KS_HTML_DIFFS && !err; i++)
		err = ks_analysis_account(analysis, keys[i], diag);
	return err;
}

int ks_cli_html_diff_open(struct ks_cli *cli, const char *first, const struct ks_model *after,
			  struct ks_cli_html_diff *diff)
{
	size_t i;
	int code = read_first(cli, first, &diff->before);

	if (!code)
		code = compare(cli, after, diff);
	if (code)
		return code;
	diff->page.name = ks_cli_base_name(first);
	for (i = 0; i < KS_HTML_DIFFS; i++)
		diff->page.by[i] = &diff->diffs[i];
	for (i = 0; i < KS_NORMALS; i++) {
		diff->page.size_before[i] =
			ks_diff_size(diff->before, &cli->capture->filter, (enum ks_normal)i);
		diff->page.size_after[i] =
			ks_diff_size(after, &cli->capture->filter, (enum ks_normal)i);
	}
	return 0;
}

void ks_cli_html_diff_close(struct ks_cli_html_diff *diff)
{
	size_t i;

	for (i = 0; i < diff->len; i++)
		ks_diff_deinit(&diff->diffs[i]);
	ks_model_free(diff->before);
}
