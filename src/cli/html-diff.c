// SPDX-License-Identifier: GPL-2.0-only
/* The comparison that goes with an HTML report. */
#include "cli/html-diff.h"

#include <string.h>

#include "cli/html-kmap.h"

/* === Data ================================================================================= */

static const enum ks_by keys[KS_HTML_DIFFS] = { KS_BY_SITE, KS_BY_FUNCTION, KS_BY_CACHE,
						KS_BY_MODULE };

/* === Internals ============================================================================ */

static int analyze(struct ks_cli *cli, const char *path, enum ks_by by, struct ks_model **ret_model)
{
	const char *input = cli->input;
	int code;

	cli->input = path;
	code = ks_cli_analyze(cli, by, ret_model);
	cli->input = input;
	return code;
}

static int compare(struct ks_cli *cli, const char *first, struct ks_cli_html_diff *diff, size_t i)
{
	struct ks_diag diag = { 0 };
	int err, code = analyze(cli, first, keys[i], &diff->before[i]);

	if (!code)
		code = analyze(cli, cli->input, keys[i], &diff->after[i]);
	if (code)
		return code;
	err = ks_diff_init(&diff->diffs[i], diff->before[i], diff->after[i], keys[i], &cli->filter,
			   KS_MEASURE_LIVE, KS_NORMAL_NONE, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	diff->len++;
	return 0;
}

/* === Public =============================================================================== */

int ks_cli_html_diff_open(struct ks_cli *cli, const char *first, struct ks_cli_html_diff *diff)
{
	size_t i;
	int code = 0;

	if (!strcmp(first, "-") || !strcmp(cli->input, "-"))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--diff reads both captures more than once: give files");
	for (i = 0; i < KS_HTML_DIFFS && !code; i++)
		code = compare(cli, first, diff, i);
	if (code)
		return code;
	diff->page.name = ks_cli_base_name(first);
	for (i = 0; i < KS_HTML_DIFFS; i++)
		diff->page.by[i] = &diff->diffs[i];
	for (i = 0; i < KS_NORMALS; i++) {
		diff->page.size_before[i] =
			ks_diff_size(diff->before[0], &cli->filter, (enum ks_normal)i);
		diff->page.size_after[i] =
			ks_diff_size(diff->after[0], &cli->filter, (enum ks_normal)i);
	}
	return 0;
}

void ks_cli_html_diff_close(struct ks_cli_html_diff *diff)
{
	size_t i;

	for (i = 0; i < diff->len; i++)
		ks_diff_deinit(&diff->diffs[i]);
	for (i = 0; i < KS_HTML_DIFFS; i++) {
		ks_model_free(diff->before[i]);
		ks_model_free(diff->after[i]);
	}
}
