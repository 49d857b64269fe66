// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope leaks: what still lives at the end of a capture. */
#include "cli/cli.h"

#include "base/num.h"

static const char help[] =
	"usage: kmemscope leaks [OPTION...] FILE\n"
	"\n"
	"Lists what was allocated during the capture and still lives at its end, by call\n"
	"site, with ages. Sites whose frees the kernel does not show are told apart.\n"
	"\n"
	"      --min-age TIME       only objects at least this old: 1.5, 200ms, 1m\n"
	"      --stacks             by stack trace, of a capture made with record --stack\n"
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
	"      --top N              only the first N sites\n"
	"      --json               all numbers, for programs\n"
	"      --strict             exit 4 when the capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

int ks_cmd_leaks(int argc, char **argv)
{
	enum { OPT_MIN_AGE = KS_OPT_OWN, OPT_STACKS };
	static const struct option options[] = {
		KS_LONG_COMMON,
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		{ "top", required_argument, NULL, KS_OPT_TOP },
		{ "pages", no_argument, NULL, KS_OPT_PAGES },
		{ "stacks", no_argument, NULL, OPT_STACKS },
		{ "min-age", required_argument, NULL, OPT_MIN_AGE },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	struct ks_leaks leaks;
	struct ks_model *model;
	struct ks_strbuf text;
	bool stacks = false;
	u64 min_age = 0;
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER,
				  options, NULL)) != -1) {
		if (opt == OPT_MIN_AGE) {
			if (ks_parse_time(optarg, &min_age))
				return ks_cli_error(&cli, KS_EXIT_USAGE,
						    "--min-age '%s': give seconds, or 200ms, 1m",
						    optarg);
			continue;
		}
		if (opt == OPT_STACKS) {
			stacks = true;
			continue;
		}
		code = ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	code = ks_cli_leaks(&cli, min_age, stacks, &leaks, &model);
	if (code)
		return code;
	ks_strbuf_init(&text);
	if (cli.json)
		ks_render_leaks_json(model, &leaks, &text);
	else
		ks_render_leaks(model, &leaks, cli.top, &text);
	code = ks_cli_print(&cli, &text);
	if (!code)
		code = ks_cli_verdict(&cli, model);
	ks_strbuf_deinit(&text);
	ks_leaks_deinit(&leaks);
	ks_model_free(model);
	return code;
}
