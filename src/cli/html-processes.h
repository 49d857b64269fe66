/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes of a capture that can be picked in the HTML report. */
#ifndef KS_CLI_HTML_PROCESSES_H
#define KS_CLI_HTML_PROCESSES_H

#include "analysis/model.h"
#include "cli/cli.h"

/*
 * Reads the capture of @model again, for the processes that matter most in it. *ret_model stays NULL where there
 * is no choice: a single process, or a capture that can be read only once, such as a pipe. 0 or an exit code.
 */
int ks_cli_html_processes(struct ks_cli *cli, const struct ks_model *model,
			  struct ks_model **ret_model);

#endif
