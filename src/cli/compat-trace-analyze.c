// SPDX-License-Identifier: GPL-2.0-only
/* trace_analyze under its own name: its options, all of them, with what its README says they do. */
#include "cli/cli.h"

#include <string.h>

static const char help[] =
	"usage: trace_analyze -k KERNEL [-f LOG | --db-file DB] [OPTION...]\n"
	"\n"
	"  -k, --kernel PATH        built kernel tree\n"
	"  -f, --file LOG           kmem log: the text of the trace file, or any capture\n"
	"      --save-db DB         keep the log as a DB file\n"
	"      --db-file DB         read a DB file in the place of a log\n"
	"  -b, --start-branch DIR   only this directory of the tree\n"
	"      --malloc, --cache    only kmalloc, only kmem_cache\n"
	"  -c, --account-file FILE  write the account to FILE\n"
	"  -l, --callers-file FILE  write site, live bytes, waste and directory to FILE\n"
	"  -o, --order-by KEY       current_dynamic (default), total_dynamic, alloc_count,\n"
	"                           free_count, waste\n"
	"  -r, --rings-file FILE    ring chart\n"
	"  -a, --rings-attr ATTR    what it shows: current, static, waste, current_dynamic,\n"
	"                           total_dynamic\n"
	"  -i, --rings-show         show it in a window\n"
	"  -h, --help               this text\n"
	"\n"
	"kmemscope account, report, info, import, static and rings do the same and more.\n";

int ks_trace_analyze(int argc, char **argv)
{
	enum { OPT_SAVE_DB = KS_OPT_OWN };
	static const struct option options[] = {
		KS_LONG_COMMON,
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		KS_LONG_ROWS,
		{ "account-file", required_argument, NULL, 'c' },
		{ "callers-file", required_argument, NULL, 'l' },
		{ "save-db", required_argument, NULL, OPT_SAVE_DB },
		{ "rings-file", required_argument, NULL, 'r' },
		{ "rings-attr", required_argument, NULL, 'a' },
		{ "rings-show", no_argument, NULL, 'i' },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = "trace_analyze", .help = help, .no_pager = true };
	struct ks_account_outputs outputs = { NULL, NULL, NULL };
	struct ks_rings_args rings = { NULL, KS_RING_DEFAULT, false };
	bool want_rings, want_account;
	int opt, code;

	while ((opt = getopt_long(argc, argv,
				  KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER KS_SHORT_ROWS
				  "c:l:r:a:i",
				  options, NULL)) != -1) {
		code = -1;
		if (opt == 'c')
			outputs.account = optarg;
		else if (opt == 'l')
			outputs.callers = optarg;
		else if (opt == OPT_SAVE_DB)
			outputs.save_db = optarg;
		else if (opt == 'r')
			rings.file = optarg;
		else if (opt == 'a')
			code = ks_cli_ring_attr(&cli, optarg, &rings.attr);
		else if (opt == 'i')
			rings.show = true;
		else
			code = ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
		/* Its README has "-r -a waste": a file name that was left out. */
		if (opt == 'r' && optarg[0] == '-' && optarg[1] && optarg == argv[optind - 1]) {
			rings.file = "rings.png";
			optind--;
		}
	}
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "what is '%s'?", argv[optind]);
	want_rings = rings.file || rings.show;
	want_account = outputs.account || outputs.callers || outputs.save_db;
	if (!cli.input && !want_rings)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "give a log with --file or a DB with --db-file, or a file for "
				    "a ring chart with --rings-file");
	code = cli.input && (want_account || !want_rings) ? ks_cli_account(&cli, &outputs) : 0;
	if (code || !want_rings)
		return code;
	if (!cli.kernel)
		cli.kernel = "."; /* as it always was */
	if (outputs.save_db)
		cli.input =
			outputs.save_db; /* faster to read, and standard input is read only once */
	return ks_cli_rings(&cli, &rings);
}
