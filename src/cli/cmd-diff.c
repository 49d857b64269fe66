// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope diff: what changed between two captures. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* === Data ================================================================================= */

static const char help[] =
	"usage: kmemscope diff [--by KEY] [OPTION...] FIRST SECOND\n"
	"\n"
	"Compares two captures by KEY: what is new, gone, grown or shrunk, the largest change\n"
	"first.\n"
	"\n"
	"      --by KEY             site (default), function, module, cache, size, pid, comm,\n"
	"                           cpu, node, gfp: of the allocation\n"
	"      --measure WHAT       live (default), waste, objects, peak, total, allocs\n"
	"      --normalize WHAT     time or events: scale the first capture to the length of\n"
	"                           the second; none (default)\n"
	"  -k, --kernel PATH        kernel tree, vmlinux, System.map or kallsyms for symbols\n"
	"  -b, --start-branch DIR   only call sites in this directory or file of the tree\n"
	"      --malloc             only kmalloc\n"
	"      --cache              only kmem_cache\n"
	"      --pages              the page allocator instead of the slab allocator\n"
	"      --skip-helpers       blame kstrdup's allocations on its caller, by stack traces\n"
	"      --helpers FILE       more functions to treat so, one a line\n"
	"      --since T, --until T only this window of both: +1.5 from the start of each\n"
	"      --top N              only the first N rows\n"
	"      --json, --csv        all numbers, for programs\n"
	"      --strict             exit 4 when a capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

struct wish {
	enum ks_by by;
	enum ks_measure measure;
	enum ks_normal normal;
};

enum { OPT_BY = KS_OPT_OWN, OPT_MEASURE, OPT_NORMALIZE };

/* === Internals ============================================================================ */

static int own_option(struct ks_cli *cli, int opt, struct wish *wish)
{
	switch (opt) {
	case OPT_BY:
		return ks_cli_by(cli, optarg, &wish->by);
	case OPT_MEASURE:
		return ks_cli_measure(cli, optarg, &wish->measure);
	case OPT_NORMALIZE:
		if (!ks_normal_parse(optarg, &wish->normal))
			return -1;
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--normalize '%s': choose none, time or events", optarg);
	default:
		return ks_cli_option(cli, opt);
	}
}

static int print_diff(const struct ks_cli *cli, const struct wish *wish, const struct ks_model *a,
		      const struct ks_model *b)
{
	struct ks_diag diag = { 0 };
	struct ks_strbuf text;
	struct ks_diff diff;
	int err, code;

	if (wish->normal == KS_NORMAL_TIME && strcmp(a->clock, b->clock))
		return ks_cli_error(cli, KS_EXIT_BAD_INPUT,
				    "the captures count time in %s and in %s: normalise by events",
				    a->clock, b->clock);
	err = ks_diff_init(&diff, a, b, &cli->filter, wish->measure, wish->normal, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	ks_strbuf_init(&text);
	if (cli->json)
		ks_render_diff_json(&diff, cli->top, &text);
	else if (cli->csv)
		ks_render_diff_csv(&diff, cli->top, &text);
	else
		ks_render_diff(&diff, cli->top, &text);
	code = ks_cli_print(cli, &text);
	ks_strbuf_deinit(&text);
	ks_diff_deinit(&diff);
	return code;
}

static int compare(struct ks_cli *cli, const struct wish *wish, const char *first,
		   const char *second)
{
	struct ks_model *a = NULL, *b = NULL;
	int code;

	cli->input = first;
	code = ks_cli_analyze(cli, wish->by, &a);
	if (!code) {
		cli->input = second;
		code = ks_cli_analyze(cli, wish->by, &b);
	}
	if (!code)
		code = print_diff(cli, wish, a, b);
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
	static const struct option options[] = {
		KS_LONG_COMMON,
		KS_LONG_FILTER,
		{ "kernel", required_argument, NULL, 'k' },
		{ "top", required_argument, NULL, KS_OPT_TOP },
		{ "csv", no_argument, NULL, KS_OPT_CSV },
		{ "pages", no_argument, NULL, KS_OPT_PAGES },
		{ "by", required_argument, NULL, OPT_BY },
		{ "measure", required_argument, NULL, OPT_MEASURE },
		{ "normalize", required_argument, NULL, OPT_NORMALIZE },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	struct wish wish = { .by = KS_BY_SITE };
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON KS_SHORT_FILTER "k:", options,
				  NULL)) != -1) {
		code = own_option(&cli, opt, &wish);
		if (code >= 0)
			return code;
	}
	if (argc - optind != 2)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "give two captures to compare");
	if (!strcmp(argv[optind], "-") && !strcmp(argv[optind + 1], "-"))
		return ks_cli_error(&cli, KS_EXIT_USAGE, "only one can be standard input");
	if (cli.json && cli.csv)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "--json and --csv: choose one");
	return compare(&cli, &wish, argv[optind], argv[optind + 1]);
}
