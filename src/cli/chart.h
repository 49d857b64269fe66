/* SPDX-License-Identifier: GPL-2.0-only */
/* Charts as files: PNG or SVG, by the end of the name. */
#ifndef KS_CLI_CHART_H
#define KS_CLI_CHART_H

#include "cli/cli.h"
#include "report/chart.h"

/* Whether a chart can have this name. 0 or an exit code. */
int ks_cli_check_chart_name(const struct ks_cli *cli, const char *path);
bool ks_cli_is_png(const char *path);

/* 0 or an exit code. */
int ks_cli_write_chart(const struct ks_cli *cli, const struct ks_chart *chart, const char *path);

#endif
