// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope account: trace_analyze's tables. */
#include "cli/cli.h"

static const char help[] =
	"usage: kmemscope account [OPTION...] FILE\n"
	"\n"
	"Adds up a capture by call site and prints trace_analyze's account file, then the\n"
	"capture quality. FILE is a text log or a DB file, may be compressed, and - reads\n"
	"standard input.\n"
	"\n"
	"  -f, --file FILE          the capture (or name it as an argument)\n"
	"      --db-file FILE       the same, for a DB file\n"
	"  -k, --kernel PATH        kernel tree, vmlinux, System.map or kallsyms for symbols\n"
	"  -b, --start-branch DIR   only call sites in this directory or file of the tree\n"
	"      --malloc             only kmalloc\n"
	"      --cache              only kmem_cache\n"
	"      --pages              the page allocator instead of the slab allocator\n"
	"      --since T, --until T only this window: 415.2 as in the log, or +1.5 from its start\n"
	"      --skip-helpers       blame kstrdup's allocations on its caller, by stack traces\n"
	"      --helpers FILE       more functions to treat so, one a line\n"
	"  -o, --order-by KEY       current_dynamic (default), total_dynamic, alloc_count,\n"
	"                           free_count, waste, peak\n"
	"      --top N              only the first N rows\n"
	"  -c, --account-file FILE  write the table to FILE; quality stays on standard output\n"
	"  -l, --callers-file FILE  write site, live bytes, waste and directory to FILE\n"
	"      --save-db FILE       keep the whole capture as a DB file too\n"
	"      --json, --csv        all numbers, for programs\n"
	"      --strict             exit 4 when the capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

int ks_cmd_account(int argc, char **argv)
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
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	struct ks_account_outputs outputs = { .account = "-" };
	int opt, code;

	while ((opt = getopt_long(argc, argv,
				  KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER KS_SHORT_ROWS
				  "c:l:",
				  options, NULL)) != -1) {
		if (opt == 'c')
			outputs.account = optarg;
		else if (opt == 'l')
			outputs.callers = optarg;
		else if (opt == OPT_SAVE_DB)
			outputs.save_db = optarg;
		else if ((code = ks_cli_option(&cli, opt)) >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	return ks_cli_account(&cli, &outputs);
}
