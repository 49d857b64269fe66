/* SPDX-License-Identifier: GPL-2.0-only */
/* The comparison that goes with an HTML report: html --diff. */
#ifndef KS_CLI_HTML_DIFF_H
#define KS_CLI_HTML_DIFF_H

#include "analysis/analysis.h"
#include "cli/cli.h"
#include "report/html.h"

struct ks_cli_html_diff {
	struct ks_model *before;
	struct ks_html_diff page;
};

/* Adds the accounts that both sides of a comparison need. */
int ks_cli_html_diff_add(struct ks_analysis *analysis, struct ks_diag *diag);

/*
 * Compares @after, which was made with these accounts, with the capture at @first, which came before.
 * Close it in any case. 0 or an exit code.
 */
int ks_cli_html_diff_open(struct ks_cli *cli, const char *first, const struct ks_model *after,
			  struct ks_cli_html_diff *diff);
void ks_cli_html_diff_close(struct ks_cli_html_diff *diff);

#endif
