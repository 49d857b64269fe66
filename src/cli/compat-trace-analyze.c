// SPDX-License-Identifier: GPL-2.0-only
/* trace_analyze under its own name: its options, all of them, with what its README says they do. */
#include "cli/cli.h"

#include <getopt.h>

#include "cli/account.h"
#include "cli/commands.h"
#include "cli/rings.h"

/* === Data ================================================================================= */

struct options {
	struct ks_capture_opts capture;
	struct ks_rows_opts rows;
	struct ks_account_outputs outputs;
	struct ks_rings_args rings;
	char **argv;
};

/* === Internals ============================================================================ */

/* Its README has "-r -a waste": a file name that was left out. */
static int parse_rings_file(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct options *opts = option->value;

	(void)cli;
	opts->rings.file = arg;
	if (arg[0] == '-' && arg[1] && arg == opts->argv[optind - 1]) {
		opts->rings.file = "rings.png";
		optind--;
	}
	return -1;
}

static int run(struct ks_cli *cli, const struct options *opts)
{
	const struct ks_account_outputs *outputs = &opts->outputs;
	bool want_rings = opts->rings.file || opts->rings.show;
	bool want_account = outputs->account || outputs->callers || outputs->save_db;
	int code = 0;

	if (!cli->capture->input && !want_rings)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "give a log with --file or a DB with --db-file, or a file for "
				    "a ring chart with --rings-file");
	if (cli->capture->input && (want_account || !want_rings))
		code = ks_cli_account(cli, outputs);
	if (code || !want_rings)
		return code;
	if (!cli->capture->kernel)
		cli->capture->kernel = "."; /* as it always was */
	if (outputs->save_db) /* faster to read, and standard input is read only once */
		cli->capture->input = outputs->save_db;
	return ks_cli_rings(cli, &opts->rings);
}

/* === Public =============================================================================== */

int ks_trace_analyze(int argc, char **argv)
{
	struct options opts = { .argv = argv };
	struct ks_cli cli = {
		.command = "trace_analyze",
		.usage = "usage: trace_analyze -k KERNEL [-f LOG | --db-file DB] [OPTION...]\n",
		.epilogue =
			"kmemscope account, report, info, import, static and rings do the same and more.\n",
		/* Those that it never had are taken, but not its own. */
		.shared = KS_WITH_CAPTURE | KS_WITH_ORDER | KS_WITH_TOP | KS_WITH_JSON |
			  KS_WITH_CSV,
		.shared_hidden = true,
		.output = { .no_pager = true },
		.capture = &opts.capture,
		.rows = &opts.rows,
	};
	const struct ks_option own[] = {
		{ 'k', "kernel", "PATH", "built kernel tree", .parse = ks_cli_parse_kernel },
		{ 'f', "file", "LOG", "kmem log: the text of the trace file, or any capture",
		  .parse = ks_cli_parse_input },
		{ 0, "save-db", "DB", "save the log as a DB file",
		  .string = &opts.outputs.save_db },
		{ 0, "db-file", "DB", "read a DB file instead of a log",
		  .parse = ks_cli_parse_input },
		{ 'b', "start-branch", "DIR", "only this directory of the tree",
		  .string = &cli.capture->filter.branch },
		{ 0, "malloc", NULL, "only kmalloc", .flag = &cli.capture->filter.malloc_only },
		{ 0, "cache", NULL, "only kmem_cache", .flag = &cli.capture->filter.cache_only },
		{ 'c', "account-file", "FILE", "write the account to FILE",
		  .string = &opts.outputs.account },
		{ 'l', "callers-file", "FILE",
		  "write site, live bytes, waste and directory to FILE",
		  .string = &opts.outputs.callers },
		{ 'o', "order-by", "KEY",
		  "current_dynamic (default), total_dynamic, alloc_count,\n"
		  "free_count, waste",
		  .choice = &cli.rows->order, .choices = KS_ORDERS, .name_of = ks_order_name },
		{ 'r', "rings-file", "FILE", "ring chart", .parse = parse_rings_file,
		  .value = &opts },
		{ 'a', "rings-attr", "ATTR",
		  "what the chart shows: current, static, waste, current_dynamic,\n"
		  "total_dynamic",
		  .parse = ks_cli_parse_ring_attr, .value = &opts.rings.attr },
		{ 'i', "rings-show", NULL, "show the chart in a window", .flag = &opts.rings.show },
		{ 0 },
	};
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "unexpected argument '%s'", argv[optind]);
	return run(&cli, &opts);
}
