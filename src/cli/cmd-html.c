// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope html: the report in one file, to open in a browser. */
#include <getopt.h>
#include <string.h>

#include "analysis/views.h"
#include "cli/commands.h"
#include "cli/html-diff.h"
#include "cli/html-heap.h"
#include "cli/html-kmap.h"
#include "cli/html-processes.h"
#include "cli/output.h"
#include "cli/run.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope html [OPTION...] [--kmap MAP] FILE -o REPORT.html\n"
	"       kmemscope html [OPTION...] --kmap MAP -o REPORT.html\n"
	"       kmemscope html [OPTION...] --diff FIRST SECOND -o REPORT.html\n"
	"       kmemscope html [OPTION...] [--heap BEFORE] --heap SNAPSHOT [FILE] -o REPORT.html\n"
	"\n"
	"Writes a report to open in a browser: one file, which needs no network. Sites,\n"
	"flame graph, rings, timeline, leaks, fragmentation, lifetimes and CPUs; drag a\n"
	"range of time, and all views show that range. Of a heap: types, and what changed.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope html trace.dat -o report.html\n"
			       "  kmemscope html --diff old.dat new.dat -o report.html\n";

/* What the options ask for. */
struct options {
	struct ks_capture_opts capture;
	const char *output;
	const char *kmap; /* NULL = none */
	struct ks_kmap_fields_opts types;
	const char *first;    /* of two captures to be compared; NULL = there is one */
	const char *heaps[2]; /* NULL = none; the second was taken later */
	bool map_alone;	      /* and no capture */
	bool heap_alone;
	bool data_only;
};

/* === Internals ============================================================================ */

/* Memory over time, and what a comparison needs, in one pass. */
static int read_capture(struct ks_cli *cli, const struct options *opts, struct ks_model **ret_model)
{
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int err, code = ks_cli_analysis_open(&run, cli, &cli->capture->filter);

	if (code)
		return code;
	err = ks_analysis_add(run.analysis, ks_timeline_view_new(), &diag);
	if (!err)
		err = ks_analysis_add(run.analysis, ks_leaks_view_new(0, false), &diag);
	if (!err && opts->first)
		err = ks_cli_html_diff_add(run.analysis, &diag);
	return ks_cli_analysis_run(&run, err, &diag, ret_model);
}

static int write_page(struct ks_cli *cli, const struct options *opts, const struct ks_model *model,
		      const struct ks_model *processes, const struct ks_html_tables *kmap,
		      const struct ks_html_diff *diff, const struct ks_html_tables *heap)
{
	struct ks_written written = { .path = opts->output,
				      .format = opts->data_only ? "json" : "html" };
	struct ks_html_capture capture = { .name = ks_cli_base_name(cli->capture->input),
					   .model = model,
					   .timeline = model->timeline,
					   .processes = processes };
	struct ks_html_part parts[4] = { { ks_html_capture, &capture } };
	struct ks_strbuf page;
	size_t nr_parts = 1;
	int code;

	if (kmap)
		parts[nr_parts++] = (struct ks_html_part){ ks_html_tables, kmap };
	if (diff)
		parts[nr_parts++] = (struct ks_html_part){ ks_html_diff, diff };
	if (heap)
		parts[nr_parts++] = (struct ks_html_part){ ks_html_tables, heap };
	ks_strbuf_init(&page);
	(opts->data_only ? ks_render_html_data : ks_render_html)(parts, nr_parts, &page);
	code = ks_cli_write(cli, opts->output, &page);
	written.bytes = page.len;
	if (!code && cli->output.json)
		code = ks_cli_print_written(cli, model, &written);
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_strbuf_deinit(&page);
	return code;
}

static int report(struct ks_cli *cli, const struct options *opts)
{
	struct ks_cli_html_kmap kmap = { 0 };
	struct ks_cli_html_diff diff = { 0 };
	struct ks_cli_html_heap heap = { 0 };
	const char *later = opts->heaps[1] ? opts->heaps[1] : opts->heaps[0];
	struct ks_model *model = NULL, *processes = NULL;
	int code = 0;

	if (opts->first && !strcmp(opts->first, "-") && !strcmp(cli->capture->input, "-"))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "only one of two captures can be standard input");
	if (opts->kmap)
		code = ks_cli_html_kmap_open(cli, opts->kmap, &opts->types, opts->map_alone, &kmap);
	if (!code && later)
		code = ks_cli_html_heap_open(cli, later, opts->heaps[1] ? opts->heaps[0] : NULL,
					     opts->heap_alone, &heap);
	if (!code)
		code = read_capture(cli, opts, &model);
	if (!code && !opts->heap_alone)
		code = ks_cli_html_processes(cli, model, &processes);
	if (!code && opts->first)
		code = ks_cli_html_diff_open(cli, opts->first, model, &diff);
	if (!code)
		code = write_page(cli, opts, model, processes, opts->kmap ? &kmap.page : NULL,
				  opts->first ? &diff.page : NULL, later ? &heap.page : NULL);
	if (!code && opts->first)
		code = ks_cli_verdict(cli, diff.before);
	ks_cli_html_diff_close(&diff);
	ks_model_free(processes);
	ks_model_free(model);
	ks_cli_html_kmap_close(&kmap);
	ks_cli_html_heap_close(&heap);
	return code;
}

/* The second --heap is compared with the first. */
static int take_heap(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct options *opts = option->value;

	if (opts->heaps[1])
		return ks_cli_error(cli, KS_EXIT_USAGE, "--heap: at most two snapshots");
	opts->heaps[opts->heaps[0] ? 1 : 0] = arg;
	return -1;
}

/* === Public =============================================================================== */

int ks_cmd_html(int argc, char **argv)
{
	struct options opts = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_CAPTURE | KS_WITH_JSON,
		.capture = &opts.capture,
	};
	const struct ks_option own[] = {
		{ 'o', "output", "FILE", "the report; - is standard output",
		  .string = &opts.output },
		{ 0, "data", NULL, "only the data of the report, as JSON",
		  .flag = &opts.data_only },
		{ 0, "kmap", "MAP", "an access map, of the same run or alone, for the view Objects",
		  .string = &opts.kmap },
		{ 0, "types", "PATH",
		  "debug information for the fields of the map's objects: a\n"
		  "file or a directory; may be repeated",
		  .parse = ks_kmap_take_types, .value = &opts.types },
		{ 0, "diff", "FIRST",
		  "compare with this earlier capture: what is new, gone,\n"
		  "grown and shrunk",
		  .string = &opts.first },
		{ 0, "heap", "FILE",
		  "a snapshot of a heap, with the capture or alone; given\n"
		  "twice, the second is compared with the first",
		  .parse = take_heap, .value = &opts },
		{ 0, "json", NULL, "say what was written, for programs", .flag = &cli.output.json },
		{ 0 },
	};
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	opts.map_alone = opts.kmap && !opts.first && !cli.capture->input && optind == argc;
	opts.heap_alone = opts.heaps[0] && !opts.kmap && !opts.first && !cli.capture->input &&
			  optind == argc;
	if (opts.map_alone)
		cli.capture->input = opts.kmap;
	if (opts.heap_alone)
		cli.capture->input = opts.heaps[opts.heaps[1] ? 1 : 0];
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	if (!opts.output)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "name the report with -o FILE");
	code = ks_cli_check_written(&cli, opts.output);
	return code ? code : report(&cli, &opts);
}
