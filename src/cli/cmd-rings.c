// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope rings: ring charts. */
#include "cli/cli.h"

#include <getopt.h>

#include "cli/commands.h"
#include "cli/rings.h"

static const char usage[] =
	"usage: kmemscope rings [-k TREE] [-f LOG | --db-file DB] -o FILE.png|FILE.svg [OPTION...]\n"
	"\n"
	"Draws memory by directory of the kernel tree, one ring per level. Without a capture,\n"
	"shows the static footprint; with a capture, the memory that is live at its end. With\n"
	"a capture and no tree, the rings are processes, caches and call sites.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope rings trace.dat -o rings.png\n"
			       "  kmemscope rings -k ~/linux --attr static -o kernel.svg\n";

int ks_cmd_rings(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_CAPTURE | KS_WITH_JSON,
		.capture = &capture,
	};
	struct ks_rings_args args = { NULL, KS_RING_DEFAULT, false };
	const struct ks_option own[] = {
		{ 'k', "kernel", "TREE", "built kernel tree, or vmlinux",
		  .parse = ks_cli_parse_kernel },
		{ 'o', "output", "FILE", "the chart: PNG or SVG, depending on its suffix",
		  .string = &args.file },
		{ 'a', "attr", "ATTR",
		  "current (static and live), static, waste,\n"
		  "current_dynamic (default with a capture), total_dynamic",
		  .parse = ks_cli_parse_ring_attr, .value = &args.attr },
		{ 'b', "start-branch", "DIR", "only this directory or file of the tree",
		  .string = &cli.capture->filter.branch },
		{ 0, "show", NULL, "open the chart in a window", .flag = &args.show },
		{ 0, "json", NULL, "the tree and its numbers, for programs",
		  .flag = &cli.output.json },
		{ 0 },
	};
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (optind < argc && !cli.capture->input)
		cli.capture->input = argv[optind++];
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "unexpected argument '%s'", argv[optind]);
	if (!cli.capture->kernel && !cli.capture->input)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "name a kernel tree with -k, or a capture, or both");
	if (!args.file && !args.show && !cli.output.json)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "name the chart with -o FILE.png or -o FILE.svg");
	return ks_cli_rings(&cli, &args);
}
