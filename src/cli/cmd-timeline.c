// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope timeline: memory over time. */
#include "cli/chart.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run.h"
#include "report/timeline.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope timeline [OPTION...] FILE\n"
	"\n"
	"Prints live bytes, peaks, rates, allocations and frees over time; or draws live bytes\n"
	"as a chart, with the groups that had the highest peaks.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope timeline trace.dat\n"
			       "  kmemscope timeline --by cache -o timeline.png trace.dat\n";

struct options {
	struct ks_capture_opts capture;
	struct ks_rows_opts rows;
	const char *output; /* NULL = a table, JSON or CSV */
	enum ks_tl_dim dim;
	u64 buckets;
};

/* === Internals ============================================================================ */

static int draw(const struct ks_cli *cli, const struct ks_moments *moments, const char *path)
{
	struct ks_text_measure measure;
	struct ks_chart chart;
	struct ks_diag diag;
	int code, err = ks_cairo_measure_new(&measure, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	err = ks_timeline_layout(moments, &measure, &chart);
	ks_cairo_measure_free(&measure);
	if (err)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	code = ks_cli_write_chart(cli, &chart, path);
	ks_chart_deinit(&chart);
	return code ? code : ks_cli_print_quality(cli, moments->model);
}

static int show(struct ks_cli *cli, const struct options *opts)
{
	struct ks_moments moments;
	struct ks_model *model;
	int code = ks_cli_timeline(cli, &model);

	if (code)
		return code;
	while (model->timeline->buckets > opts->buckets && model->timeline->buckets > 1)
		ks_timeline_halve(model->timeline);
	if (ks_moments_init(&moments, model, model->timeline, opts->dim, cli->rows->top)) {
		code = ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	} else {
		code = opts->output ? draw(cli, &moments, opts->output)
				    : ks_cli_print_doc(cli, ks_doc_of_timeline(&moments));
		ks_moments_deinit(&moments);
	}
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_model_free(model);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_timeline(int argc, char **argv)
{
	struct options opts = { .rows = { .top = 8 }, .dim = KS_TL_SITE, .buckets = 60 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_CAPTURE | KS_WITH_JSON | KS_WITH_CSV | KS_WITH_BYTES,
		.capture = &opts.capture,
		.rows = &opts.rows,
	};
	const struct ks_option own[] = {
		{ 'o', "output", "FILE", "draw a chart; the name ends in .svg or .png",
		  .string = &opts.output },
		/* Not by stack: these have no names. */
		{ 0, "by", "KEY", "the groups: site (default), cache, size, comm, cpu",
		  .choice = &opts.dim, .choices = KS_TL_STACK, .name_of = ks_tl_dim_name },
		{ 0, "buckets", "N", "maximum number of time steps: 60 (default), 240 at most",
		  .number = &opts.buckets, .min = 1 },
		{ 0, "top", "N", "number of groups: 8 (default)", .number = &cli.rows->top },
		{ 0 },
	};
	int code = ks_cli_parse_capture(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	code = opts.output ? ks_cli_check_chart_name(&cli, opts.output) : 0;
	return code ? code : show(&cli, &opts);
}
