// SPDX-License-Identifier: GPL-2.0-only
/* The one runner of reports. */
#include "cli/report.h"

#include <stdlib.h>

#include "cli/output.h"
#include "cli/run.h"

/* === Internals ============================================================================ */

static int analyze(struct ks_cli *cli, const struct ks_report *report, const void *opts,
		   struct ks_model **ret_model)
{
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int err = 0, code = ks_cli_analysis_open(&run, cli, &cli->capture->filter);

	if (code)
		return code;
	if (report->timeless_text && !cli->output.json && !cli->output.csv)
		ks_analysis_untimed(run.analysis);
	if (report->ask)
		err = report->ask(run.analysis, opts, &diag);
	return ks_cli_analysis_run(&run, err, &diag, ret_model);
}

static int run(struct ks_cli *cli, const struct ks_report *report, void *opts, int argc,
	       char **argv)
{
	struct ks_option rows[KS_REPORT_OPTIONS + 1] = { 0 };
	struct ks_model *model;
	int code;

	if (report->options)
		report->options(cli, opts, rows);
	code = ks_cli_parse_capture(cli, rows, argc, argv);
	if (code >= 0)
		return code;
	if (cli->output.json && cli->output.csv)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--json and --csv: choose one");
	code = report->other ? report->other(cli) : -1;
	if (code >= 0)
		return code;
	code = report->check ? report->check(cli, opts) : 0;
	if (!code)
		code = analyze(cli, report, opts, &model);
	if (code)
		return code;
	return ks_cli_conclude_doc(cli, report->make(model, cli, opts), model);
}

/* === Public =============================================================================== */

int ks_cli_run_report(const struct ks_report *report, int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_rows_opts rows = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = report->usage,
		.epilogue = report->examples,
		.shared = report->shared,
		.capture = &capture,
		.rows = &rows,
	};
	void *opts = calloc(1, report->opts_size + 1);
	int code;

	if (!opts)
		return ks_cli_error(&cli, KS_EXIT_FAILED, "out of memory");
	code = run(&cli, report, opts, argc, argv);
	free(opts);
	return code;
}
