// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope report: a capture added up by whatever one asks for. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

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
	"      --cache[=NAME]       only kmem_cache; with a name, only this cache\n"
	"      --pages              the page allocator instead of the slab allocator\n"
	"      --since T, --until T only this window: 415.2 as in the log, or +1.5 from its start\n"
	"      --skip-helpers       blame kstrdup's allocations on its caller, by stack traces\n"
	"      --helpers FILE       more functions to treat so, one a line\n"
	"      --time A,B           the same in one; A or B may be left out\n"
	"      --cpu N              only what was allocated on this CPU\n"
	"      --pid N              by this task\n"
	"      --comm NAME          by tasks of this name\n"
	"      --site NAME          by this function, or function+0xoffset\n"
	"      --frag               requested, allocated, wasted, and frees on other CPUs, by\n"
	"                           site and by size; the most wasteful first\n"
	"  -o, --order-by KEY       current_dynamic (default), total_dynamic, alloc_count,\n"
	"                           free_count, waste, peak\n"
	"      --top N              only the first N rows\n"
	"      --json, --csv        all numbers, for programs\n"
	"      --strict             exit 4 when the capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

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

/* "A,B", of which either may be empty. */
static int parse_window(struct ks_cli *cli, const char *arg)
{
	const char *comma = strchr(arg, ',');
	char since[64];
	int code = -1;

	if (!comma || (size_t)(comma - arg) >= sizeof(since))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--time '%s': give two times, as in 415.2,416", arg);
	memcpy(since, arg, (size_t)(comma - arg));
	since[comma - arg] = '\0';
	if (since[0])
		code = ks_cli_when(cli, "--time", since, &cli->filter.since);
	if (code < 0 && comma[1])
		code = ks_cli_when(cli, "--time", comma + 1, &cli->filter.until);
	return code;
}

static int parse_number(const struct ks_cli *cli, const char *option, const char *arg, u32 *ret,
			bool *ret_set)
{
	u64 v;

	if (ks_parse_u64(arg, &v) || v >= UINT32_MAX)
		return ks_cli_error(cli, KS_EXIT_USAGE, "%s '%s': give a number", option, arg);
	*ret = (u32)v;
	*ret_set = true;
	return -1;
}

enum {
	OPT_BY = KS_OPT_OWN,
	OPT_FRAG,
	OPT_TIME,
	OPT_CPU,
	OPT_PID,
	OPT_COMM,
	OPT_SITE,
	OPT_CACHE,
};

static int own_option(struct ks_cli *cli, int opt, enum ks_by *by, bool *frag)
{
	struct ks_filter *filter = &cli->filter;

	switch (opt) {
	case OPT_BY:
		return ks_cli_by(cli, optarg, by);
	case OPT_FRAG:
		*frag = true;
		return -1;
	case OPT_TIME:
		return parse_window(cli, optarg);
	case OPT_CPU:
		return parse_number(cli, "--cpu", optarg, &filter->cpu, &filter->by_cpu);
	case OPT_PID:
		return parse_number(cli, "--pid", optarg, &filter->pid, &filter->by_pid);
	case OPT_COMM:
		filter->comm = optarg;
		return -1;
	case OPT_SITE:
		filter->site = optarg;
		return -1;
	case OPT_CACHE:
		if (optarg)
			filter->cache = optarg;
		else
			filter->cache_only = true;
		return -1;
	default:
		return ks_cli_option(cli, opt);
	}
}

static int report_frag(struct ks_cli *cli)
{
	struct ks_model *model;
	struct ks_strbuf text;
	struct ks_frag frag;
	int code = ks_cli_frag(cli, &frag, &model);

	if (code)
		return code;
	ks_strbuf_init(&text);
	if (cli->json)
		ks_render_frag_json(model, &frag, cli->top, &text);
	else
		ks_render_frag(model, &frag, cli->top, &text);
	code = ks_cli_print(cli, &text);
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_strbuf_deinit(&text);
	ks_frag_deinit(&frag);
	ks_model_free(model);
	return code;
}

int ks_cmd_report(int argc, char **argv)
{
	static const struct option options[] = {
		/* In front of the common one, which takes no name. */
		{ "cache", optional_argument, NULL, OPT_CACHE },
		KS_LONG_COMMON,
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		KS_LONG_ROWS,
		{ "by", required_argument, NULL, OPT_BY },
		{ "frag", no_argument, NULL, OPT_FRAG },
		{ "time", required_argument, NULL, OPT_TIME },
		{ "cpu", required_argument, NULL, OPT_CPU },
		{ "pid", required_argument, NULL, OPT_PID },
		{ "comm", required_argument, NULL, OPT_COMM },
		{ "site", required_argument, NULL, OPT_SITE },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	enum ks_by by = KS_BY_SITE;
	struct ks_model *model;
	bool frag = false;
	int opt, code;

	while ((opt = getopt_long(argc, argv,
				  KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER KS_SHORT_ROWS,
				  options, NULL)) != -1) {
		code = own_option(&cli, opt, &by, &frag);
		if (code >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	if (frag && (cli.csv || by != KS_BY_SITE))
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "--frag has rows of its own: no --by, no --csv");
	if (frag)
		return report_frag(&cli);
	code = ks_cli_analyze(&cli, by, &model);
	if (code)
		return code;
	code = print_report(&cli, model);
	if (!code)
		code = ks_cli_verdict(&cli, model);
	ks_model_free(model);
	return code;
}
