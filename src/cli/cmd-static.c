// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope static: the static footprint of a built kernel tree. */
#include <stdio.h>
#include <string.h>

#include "analysis/static.h"
#include "base/num.h"
#include "cli/cli.h"
#include "report/static.h"

static const char help[] =
	"usage: kmemscope static -k TREE [OPTION...]\n"
	"\n"
	"Measures what a built kernel occupies before it allocates anything: every object that\n"
	"was linked, once, by section. TREE is a build directory (in-tree or O=) or a vmlinux.\n"
	"\n"
	"  -k, --kernel TREE        the built tree, or vmlinux alone (or name it as an argument)\n"
	"  -b, --start-branch DIR   only this directory or file of the tree\n"
	"      --by KEY             dir (default), file, section, symbol\n"
	"      --depth N            with dir: so many levels below the branch (default 1)\n"
	"      --top N              only the first N rows\n"
	"      --skipped            list the object files that were not counted, and why\n"
	"      --json, --csv        all numbers, for programs\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

struct static_args {
	enum ks_static_by by;
	u64 depth;
	bool skipped;
};

static int parse_by(const struct ks_cli *cli, const char *arg, enum ks_static_by *ret_by)
{
	int by;

	for (by = 0; by < KS_STATIC_BYS; by++)
		if (!strcmp(arg, ks_static_by_name((enum ks_static_by)by))) {
			*ret_by = (enum ks_static_by)by;
			return -1;
		}
	return ks_cli_error(cli, KS_EXIT_USAGE,
			    "--by '%s': choose one of dir, file, section, symbol", arg);
}

static int parse_depth(const struct ks_cli *cli, const char *arg, u64 *ret_depth)
{
	if (ks_parse_u64(arg, ret_depth) || !*ret_depth || *ret_depth > 64)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--depth '%s': give a number from 1 to 64",
				    arg);
	return -1;
}

static int print_static(const struct ks_cli *cli, const struct static_args *args,
			const struct ks_static_model *model)
{
	struct ks_static_rows rows;
	struct ks_strbuf text;
	int code;

	if (ks_static_rows_init(&rows, model, args->by, (unsigned int)args->depth, cli->top))
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	ks_strbuf_init(&text);
	if (cli->json)
		ks_render_static_json(model, &rows, &text);
	else if (args->skipped)
		ks_render_static_skipped(model, &text);
	else if (cli->csv)
		ks_render_static_csv(&rows, &text);
	else
		ks_render_static(model, &rows, &text);
	code = ks_cli_print(cli, &text);
	ks_strbuf_deinit(&text);
	ks_static_rows_deinit(&rows);
	return code;
}

int ks_cli_static_model(const struct ks_cli *cli, bool symbols, struct ks_static_model **ret_model)
{
	struct ks_static_options options = { .branch = cli->filter.branch, .symbols = symbols };
	struct ks_diag diag = { 0 };
	size_t i;
	int err = ks_static_measure(cli->kernel, &options, ret_model, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	for (i = 0; i < (*ret_model)->bad.len; i++)
		ks_cli_error(cli, 0, "%s; the rest is counted", (*ret_model)->bad.items[i].message);
	return 0;
}

int ks_cmd_static(int argc, char **argv)
{
	enum { OPT_BY = KS_OPT_OWN, OPT_DEPTH, OPT_SKIPPED };
	static const struct option options[] = {
		KS_LONG_COMMON,
		{ "kernel", required_argument, NULL, 'k' },
		{ "start-branch", required_argument, NULL, 'b' },
		{ "top", required_argument, NULL, KS_OPT_TOP },
		{ "csv", no_argument, NULL, KS_OPT_CSV },
		{ "by", required_argument, NULL, OPT_BY },
		{ "depth", required_argument, NULL, OPT_DEPTH },
		{ "skipped", no_argument, NULL, OPT_SKIPPED },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	struct static_args args = { .by = KS_STATIC_DIR, .depth = 1 };
	struct ks_static_model *model = NULL;
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON "k:b:", options, NULL)) != -1) {
		code = opt == OPT_BY	    ? parse_by(&cli, optarg, &args.by)
		       : opt == OPT_DEPTH   ? parse_depth(&cli, optarg, &args.depth)
		       : opt == OPT_SKIPPED ? (args.skipped = true, -1)
					    : ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
	}
	if (!cli.kernel && optind < argc)
		cli.kernel = argv[optind++];
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "what is '%s'?", argv[optind]);
	if (!cli.kernel)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "name a built kernel tree or a vmlinux with -k");
	code = ks_cli_static_model(&cli, args.by == KS_STATIC_SYMBOL, &model);
	if (code)
		return code;
	code = print_static(&cli, &args, model);
	if (!code && model->bad.len)
		code = KS_EXIT_BAD_INPUT;
	ks_static_free(model);
	return code;
}
