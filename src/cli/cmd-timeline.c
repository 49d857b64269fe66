// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope timeline: memory over time. */
#include "cli/cli.h"

#include <string.h>

#include "base/num.h"
#include "report/timeline.h"

/* === Data ================================================================================= */

static const char help[] =
	"usage: kmemscope timeline [OPTION...] FILE\n"
	"\n"
	"Prints live bytes, peaks, rates, allocations and frees over time; or draws live bytes\n"
	"as a chart, with the groups that had the highest peaks.\n"
	"\n"
	"  -o, --output FILE        a chart, whose name ends in .svg or .png\n"
	"      --by KEY             the groups: site (default), cache, size, comm, cpu\n"
	"      --buckets N          at most so many steps of time: 60 (default), 240 at most\n"
	"      --top N              how many groups: 8 (default)\n"
	"  -f, --file FILE          the capture (or name it as an argument)\n"
	"      --db-file FILE       the same, for a DB file\n"
	"  -k, --kernel PATH        kernel tree, vmlinux, System.map or kallsyms for symbols\n"
	"  -b, --start-branch DIR   only call sites in this directory or file of the tree\n"
	"      --malloc             only kmalloc\n"
	"      --cache              only kmem_cache\n"
	"      --pages              the page allocator instead of the slab allocator\n"
	"      --skip-helpers       blame kstrdup's allocations on its caller, by stack traces\n"
	"      --helpers FILE       more functions to treat so, one a line\n"
	"      --since T, --until T only this window: 415.2 as in the log, or +1.5 from its start\n"
	"      --json, --csv        all numbers, for programs\n"
	"      --strict             exit 4 when the capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

struct wish {
	const char *output; /* NULL = a table, JSON or CSV */
	enum ks_tl_dim dim;
	u64 buckets;
};

enum { OPT_BY = KS_OPT_OWN, OPT_BUCKETS };

/* === Internals ============================================================================ */

static int parse_dim(const struct ks_cli *cli, const char *arg, enum ks_tl_dim *ret_dim)
{
	int dim;

	for (dim = 0; dim < KS_TL_DIMS; dim++)
		if (!strcmp(arg, ks_tl_dim_name((enum ks_tl_dim)dim))) {
			*ret_dim = (enum ks_tl_dim)dim;
			return -1;
		}
	return ks_cli_error(cli, KS_EXIT_USAGE, "--by '%s': choose one of site cache size comm cpu",
			    arg);
}

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len >= end_len && !strcmp(s + len - end_len, end);
}

static int own_option(struct ks_cli *cli, int opt, struct wish *wish)
{
	switch (opt) {
	case 'o':
		wish->output = optarg;
		if (ends_with(optarg, ".svg") || ends_with(optarg, ".png"))
			return -1;
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "'%s': the name of a chart ends in .png or .svg", optarg);
	case OPT_BY:
		return parse_dim(cli, optarg, &wish->dim);
	case OPT_BUCKETS:
		if (!ks_parse_u64(optarg, &wish->buckets) && wish->buckets)
			return -1;
		return ks_cli_error(cli, KS_EXIT_USAGE, "--buckets '%s': give a number of steps",
				    optarg);
	default:
		return ks_cli_option(cli, opt);
	}
}

static int draw(const struct ks_cli *cli, const struct ks_moments *moments, const char *path)
{
	struct ks_text_measure measure;
	struct ks_diag diag = { 0 };
	struct ks_chart chart;
	struct ks_strbuf out;
	int code, err = ks_cairo_measure_new(&measure);

	if (!err) {
		err = ks_timeline_layout(moments, &measure, &chart);
		ks_cairo_measure_free(&measure);
	}
	if (err)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	ks_strbuf_init(&out);
	if (ends_with(path, ".svg"))
		ks_chart_svg(&chart, &out);
	else
		err = ks_chart_png(&chart, &out, &diag);
	code = err ? ks_cli_fail(cli, err, &diag) : ks_cli_write(cli, path, &out);
	ks_strbuf_deinit(&out);
	ks_chart_deinit(&chart);
	return code ? code : ks_cli_print_quality(cli, moments->model);
}

static int print(const struct ks_cli *cli, const struct ks_moments *moments)
{
	struct ks_strbuf text;
	int code;

	ks_strbuf_init(&text);
	if (cli->json) {
		ks_render_timeline_json(moments, &text);
	} else if (cli->csv) {
		ks_render_timeline_csv(moments, &text);
	} else {
		ks_render_timeline(moments, &text);
		ks_strbuf_puts(&text, "\n");
		ks_render_quality(moments->model, &text);
	}
	code = ks_cli_print(cli, &text);
	ks_strbuf_deinit(&text);
	return code;
}

static int show(struct ks_cli *cli, const struct wish *wish)
{
	struct ks_timeline *timeline;
	struct ks_moments moments;
	struct ks_model *model;
	int code = ks_cli_timeline(cli, &timeline, &model);

	if (code)
		return code;
	while (timeline->buckets > wish->buckets && timeline->buckets > 1)
		ks_timeline_halve(timeline);
	if (ks_moments_init(&moments, model, timeline, wish->dim, cli->top)) {
		code = ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	} else {
		code = wish->output ? draw(cli, &moments, wish->output) : print(cli, &moments);
		ks_moments_deinit(&moments);
	}
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_timeline_free(timeline);
	ks_model_free(model);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_timeline(int argc, char **argv)
{
	static const struct option options[] = {
		KS_LONG_COMMON,
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		{ "top", required_argument, NULL, KS_OPT_TOP },
		{ "csv", no_argument, NULL, KS_OPT_CSV },
		{ "pages", no_argument, NULL, KS_OPT_PAGES },
		{ "output", required_argument, NULL, 'o' },
		{ "by", required_argument, NULL, OPT_BY },
		{ "buckets", required_argument, NULL, OPT_BUCKETS },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help, .top = 8 };
	struct wish wish = { .dim = KS_TL_SITE, .buckets = 60 };
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER "o:",
				  options, NULL)) != -1) {
		code = own_option(&cli, opt, &wish);
		if (code >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	return show(&cli, &wish);
}
