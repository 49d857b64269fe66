// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope report: a capture added up by whatever one asks for. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: kmemscope report [--by KEY] [OPTION...] FILE\n"
	"\n"
	"Adds up a capture by KEY and prints live bytes, waste, live objects, peak, total\n"
	"bytes, allocations and frees, and how many of the frees were seen as events.\n"
	"\n"
	"      --by KEY             site (default), function, module, cache, size, pid, comm,\n"
	"                           cpu, node, gfp: of the allocation\n"
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
	"      --json, --csv        all numbers, for programs\n"
	"      --strict             exit 4 when the capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

static int parse_by(const struct ks_cli *cli, const char *arg, enum ks_by *ret_by)
{
	int by;

	for (by = 0; by < KS_BYS; by++)
		if (!strcmp(arg, ks_by_name((enum ks_by)by))) {
			*ret_by = (enum ks_by)by;
			return -1;
		}
	fprintf(stderr, "%s: --by '%s': choose one of", cli->command, arg);
	for (by = 0; by < KS_BYS; by++)
		fprintf(stderr, " %s", ks_by_name((enum ks_by)by));
	fputc('\n', stderr);
	return KS_EXIT_USAGE;
}

static int print_report(const struct ks_cli *cli, const struct ks_model *model)
{
	struct ks_strbuf text;
	struct ks_rows rows;
	int code;

	if (ks_rows_init(&rows, model, cli->order, cli->top))
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	ks_strbuf_init(&text);
	if (cli->json) {
		ks_render_json(model, &rows, cli->order, "kmemscope-report-1", &text);
	} else if (cli->csv) {
		ks_render_csv(model, &rows, &text);
	} else {
		ks_render_table(model, &rows, &text);
		ks_strbuf_puts(&text, "\n");
		ks_render_quality(model, &text);
	}
	code = ks_cli_print(cli, &text);
	ks_strbuf_deinit(&text);
	ks_rows_deinit(&rows);
	return code;
}

int ks_cmd_report(int argc, char **argv)
{
	enum { OPT_BY = KS_OPT_OWN };
	static const struct option options[] = {
		KS_LONG_COMMON,
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		KS_LONG_ROWS,
		{ "by", required_argument, NULL, OPT_BY },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	enum ks_by by = KS_BY_SITE;
	struct ks_model *model;
	int opt, code;

	while ((opt = getopt_long(argc, argv,
				  KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER KS_SHORT_ROWS,
				  options, NULL)) != -1) {
		code = opt == OPT_BY ? parse_by(&cli, optarg, &by) : ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	code = ks_cli_analyze(&cli, by, &model);
	if (code)
		return code;
	code = print_report(&cli, model);
	if (!code)
		code = ks_cli_verdict(&cli, model);
	ks_model_free(model);
	return code;
}
