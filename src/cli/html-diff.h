/* SPDX-License-Identifier: GPL-2.0-only */
/* The comparison that goes with an HTML report: html --diff. */
#ifndef KS_CLI_HTML_DIFF_H
#define KS_CLI_HTML_DIFF_H

#include "cli/cli.h"
#include "report/html.h"

struct ks_cli_html_diff {
	struct ks_model *before[KS_HTML_DIFFS], *after[KS_HTML_DIFFS];
	struct ks_diff diffs[KS_HTML_DIFFS];
	size_t len; /* of them */
	struct ks_html_diff page;
};

/* Compares cli->input with the capture at @first, which came before. Close it in any case. */
int ks_cli_html_diff_open(struct ks_cli *cli, const char *first, struct ks_cli_html_diff *diff);
void ks_cli_html_diff_close(struct ks_cli_html_diff *diff);

#endif
