// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope diff: what changed between two captures. */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope diff [--by KEY] [OPTION...] FIRST SECOND\n"
	"\n"
	"Compares two captures by KEY: what is new, gone, grown or shrunk, the largest change\n"
	"first.\n";

struct options {
	struct ks_capture_opts capture;
	struct ks_rows_opts rows;
	enum ks_by by;
	enum ks_measure measure;
	enum ks_normal normal;
};

/* === Internals ============================================================================ */

static int print_diff(const struct ks_cli *cli, const struct options *opts,
		      const struct ks_model *a, const struct ks_model *b)
{
	struct ks_diag diag = { 0 };
	struct ks_diff diff;
	int err, code;

	if (opts->normal == KS_NORMAL_TIME && a->clock != b->clock)
		return ks_cli_error(cli, KS_EXIT_BAD_INPUT,
				    "the captures count time in %s and in %s: normalise by events",
				    ks_clock_name(a->clock), ks_clock_name(b->clock));
	err = ks_diff_init(&diff, a, b, opts->by, &cli->capture->filter, opts->measure,
			   opts->normal, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	code = ks_cli_print_doc(cli, ks_doc_of_diff(&diff, cli->rows->top));
	ks_diff_deinit(&diff);
	return code;
}

static int compare(struct ks_cli *cli, const struct options *opts, const char *first,
		   const char *second)
{
	struct ks_model *a = NULL, *b = NULL;
	int code;

	cli->capture->input = first;
	code = ks_cli_analyze(cli, opts->by, &a);
	if (!code) {
		cli->capture->input = second;
		code = ks_cli_analyze(cli, opts->by, &b);
	}
	if (!code)
		code = print_diff(cli, opts, a, b);
	if (!code)
		code = ks_cli_verdict(cli, a);
	if (!code)
		code = ks_cli_verdict(cli, b);
	ks_model_free(a);
	ks_model_free(b);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_diff(int argc, char **argv)
{
	struct options opts = { .by = KS_BY_SITE };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.shared = (KS_WITH_CAPTURE & ~(KS_WITH_FILE | KS_WITH_DB_FILE)) | KS_WITH_TOP |
			  KS_WITH_JSON | KS_WITH_CSV,
		.capture = &opts.capture,
		.rows = &opts.rows,
	};
	const struct ks_option own[] = {
		{ 0, "by", "KEY",
		  "site (default), function, module, cache, size, pid, comm,\n"
		  "cpu, node, gfp: of the allocation",
		  .choice = &opts.by, .choices = KS_BYS, .name_of = ks_by_name },
		{ 0, "measure", "WHAT", "live (default), waste, objects, peak, total, allocs",
		  .choice = &opts.measure, .choices = KS_MEASURES, .name_of = ks_measure_name },
		{ 0, "normalize", "WHAT",
		  "time or events: scale the first capture to the length of\n"
		  "the second; none (default)",
		  .choice = &opts.normal, .choices = KS_NORMALS, .name_of = ks_normal_name },
		{ 0, "since", "T", "only events from T on, in both: +1.5 from the start of each",
		  .parse = ks_cli_parse_when, .value = &cli.capture->filter.since },
		{ 0 },
	};
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (argc - optind != 2)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "give two captures to compare");
	if (!strcmp(argv[optind], "-") && !strcmp(argv[optind + 1], "-"))
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "only one of the captures can be standard input");
	if (cli.output.json && cli.output.csv)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "--json and --csv: choose one");
	return compare(&cli, &opts, argv[optind], argv[optind + 1]);
}
