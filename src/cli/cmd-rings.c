// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope rings: ring charts. */
#include "cli/cli.h"

static const char help[] =
	"usage: kmemscope rings [-k TREE] [-f LOG | --db-file DB] -o FILE.png|FILE.svg [OPTION...]\n"
	"\n"
	"Draws memory by directory of the kernel tree, one ring a level. Without a capture it\n"
	"shows the static footprint, with one what is live at its end; with a capture and no\n"
	"tree, by function.\n"
	"\n"
	"  -k, --kernel TREE        built kernel tree, or vmlinux\n"
	"  -f, --file FILE          a capture (or name it as an argument)\n"
	"      --db-file FILE       the same, for a DB file\n"
	"  -o, --output FILE        the chart: PNG or SVG by the end of its name\n"
	"  -a, --attr ATTR          current (static and live), static, waste,\n"
	"                           current_dynamic (default with a capture), total_dynamic\n"
	"  -b, --start-branch DIR   only this directory or file of the tree\n"
	"      --malloc             only kmalloc\n"
	"      --cache              only kmem_cache\n"
	"      --pages              the page allocator instead of the slab allocator\n"
	"      --since T, --until T only this window: 415.2 as in the log, or +1.5 from its start\n"
	"      --skip-helpers       blame kstrdup's allocations on its caller, by stack traces\n"
	"      --helpers FILE       more functions to treat so, one a line\n"
	"      --show               open the chart in a window\n"
	"      --json               the tree and its numbers, for programs\n"
	"      --strict             exit 4 when the capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

int ks_cmd_rings(int argc, char **argv)
{
	enum { OPT_SHOW = KS_OPT_OWN };
	static const struct option options[] = {
		KS_LONG_COMMON,
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		{ "output", required_argument, NULL, 'o' },
		{ "attr", required_argument, NULL, 'a' },
		{ "pages", no_argument, NULL, KS_OPT_PAGES },
		{ "show", no_argument, NULL, OPT_SHOW },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	struct ks_rings_args args = { NULL, KS_RING_DEFAULT, false };
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER "o:a:",
				  options, NULL)) != -1) {
		code = -1;
		if (opt == 'o')
			args.file = optarg;
		else if (opt == OPT_SHOW)
			args.show = true;
		else if (opt == 'a')
			code = ks_cli_ring_attr(&cli, optarg, &args.attr);
		else
			code = ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
	}
	if (optind < argc && !cli.input)
		cli.input = argv[optind++];
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "what is '%s'?", argv[optind]);
	if (!cli.kernel && !cli.input)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "name a kernel tree with -k, or a capture, or both");
	if (!args.file && !args.show && !cli.json)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "name the chart with -o FILE.png or -o FILE.svg");
	return ks_cli_rings(&cli, &args);
}
