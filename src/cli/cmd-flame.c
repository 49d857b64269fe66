// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope flame: a flame graph of a capture. */
#include "cli/cli.h"

#include <stdio.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run.h"
#include "report/flame.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope flame [OPTION...] FILE\n"
	"\n"
	"Draws a flame graph, as SVG: by call stack if the capture has stack traces. Otherwise\n"
	"by directory, file, function and call site if a kernel tree is given, or by process,\n"
	"cache and call site.\n";

static const char examples[] =
	"examples:\n"
	"  kmemscope flame -o flame.svg trace.dat\n"
	"  kmemscope flame --measure total --comm sshd -o sshd.svg trace.dat\n";

/* === Internals ============================================================================ */

static bool has_stacks(const struct ks_sums *sums)
{
	size_t i;

	for (i = 0; i < sums->groups.len; i++)
		if (sums->groups.items[i].callers_len)
			return true;
	return false;
}

/* Which stacks there are is known only at the end, so both ways are counted where either may be drawn. */
static int analyze(struct ks_cli *cli, enum ks_frames frames, struct ks_model **ret_model)
{
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int err = 0, code = ks_cli_analysis_open(&run, cli, &cli->capture->filter);

	if (code)
		return code;
	if (frames != KS_FRAMES_PROCESS)
		err = ks_analysis_account(
			run.analysis, frames == KS_FRAMES_STACK ? KS_BY_STACK : KS_BY_SITE, &diag);
	if (!err &&
	    (frames == KS_FRAMES_PROCESS || (frames == KS_FRAMES_STACK && !cli->capture->kernel)))
		err = ks_analysis_account(run.analysis, KS_BY_OWNER, &diag);
	return ks_cli_analysis_run(&run, err, &diag, ret_model);
}

static void draw(const struct ks_model *model, enum ks_measure measure, struct ks_strbuf *out)
{
	static const char *const what[] = {
		[KS_MEASURE_LIVE] = "live bytes",
		[KS_MEASURE_WASTE] = "wasted live bytes",
		[KS_MEASURE_OBJECTS] = "live objects",
		[KS_MEASURE_PEAK] = "peaks of the innermost frames",
		[KS_MEASURE_TOTAL] = "bytes allocated",
		[KS_MEASURE_ALLOCS] = "allocations",
	};
	const struct ks_sums *sums = ks_model_account(model),
			     *owners = ks_model_account_by(model, KS_BY_OWNER);
	struct ks_rows rows;
	char title[128];

	snprintf(title, sizeof(title), "Kernel %s: %s%s",
		 model->level == KS_SLAB ? "slab memory" : "pages", what[measure],
		 ks_model_has_loss(model) ? " (the capture lost events)" : "");
	if (ks_rows_of_sums(&rows, owners && !has_stacks(sums) ? owners : sums, KS_ORDER_CURRENT,
			    0))
		out->failed = true;
	else
		ks_render_flame(&rows, measure, title, out);
	ks_rows_deinit(&rows);
}

/* === Public =============================================================================== */

int ks_cmd_flame(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_CAPTURE | KS_WITH_JSON,
		.capture = &capture,
	};
	enum ks_measure measure = KS_MEASURE_LIVE;
	enum ks_frames frames = KS_FRAMES_STACK;
	struct ks_written written = { .path = "-", .format = "svg" };
	const struct ks_option own[] = {
		{ 0, "measure", "WHAT", "live (default), waste, objects, peak, total, allocs",
		  .choice = &measure, .choices = KS_MEASURES, .name_of = ks_measure_name },
		{ 0, "frames", "WHAT",
		  "stack (default): by call stack if there are any; place:\n"
		  "always by directory and file; process: by process, cache\n"
		  "and call site",
		  .choice = &frames, .choices = KS_FLAMES, .name_of = ks_frames_name },
		{ 'o', "output", "FILE", "the file to write; - is standard output, the default",
		  .string = &written.path },
		{ 0, "json", NULL, "with a file: say what was written, for programs",
		  .flag = &cli.output.json },
		{ 0 },
	};
	struct ks_model *model;
	struct ks_strbuf out;
	int code = ks_cli_parse_capture(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	code = ks_cli_check_written(&cli, written.path);
	if (code)
		return code;
	code = analyze(&cli, frames, &model);
	if (code)
		return code;
	ks_strbuf_init(&out);
	draw(model, measure, &out);
	return ks_cli_conclude(&cli, &written, &out, model);
}
