// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope info: what is in a capture. */
#include "cli/cli.h"

static const char help[] =
	"usage: kmemscope info [OPTION...] FILE\n"
	"\n"
	"Tells what is in a capture: format, time span, events by kind, totals, capture\n"
	"quality, misuse of the allocator, and the first lines that were not understood.\n"
	"\n"
	"  -f, --file FILE      the capture (or name it as an argument)\n"
	"      --db-file FILE   the same, for a DB file\n"
	"  -k, --kernel PATH    kernel tree, vmlinux, System.map or kallsyms for symbols\n"
	"      --json           the same, for programs\n"
	"      --strict         exit 4 when the capture lost events\n"
	"      --no-pager       never use a pager\n"
	"      --color WHEN     auto, always, never\n"
	"  -h, --help           this text\n";

int ks_cmd_info(int argc, char **argv)
{
	static const struct option options[] = { KS_LONG_COMMON,
						 KS_LONG_INPUT,
						 { NULL, 0, NULL, 0 } };
	struct ks_cli cli = { .command = argv[0], .help = help };
	struct ks_model *model;
	struct ks_strbuf text;
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON KS_SHORT_INPUT, options, NULL)) !=
	       -1) {
		code = ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	code = ks_cli_analyze(&cli, KS_BY_SITE, &model);
	if (code)
		return code;
	ks_strbuf_init(&text);
	if (cli.json)
		ks_render_info_json(model, &text);
	else
		ks_render_info(model, &text);
	code = ks_cli_print(&cli, &text);
	if (!code)
		code = ks_cli_verdict(&cli, model);
	ks_strbuf_deinit(&text);
	ks_model_free(model);
	return code;
}
