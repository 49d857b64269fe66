// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope flame: a flame graph of a capture. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "report/flame.h"

/* === Data ================================================================================= */

static const char help[] =
	"usage: kmemscope flame [OPTION...] FILE\n"
	"\n"
	"Draws a flame graph, as SVG: by call stack where the capture has stack traces; else\n"
	"by directory, file, function and call site where the kernel tree is given, and by\n"
	"module, function and call site where it is not.\n"
	"\n"
	"      --measure WHAT       live (default), waste, objects, peak, total, allocs\n"
	"      --frames WHAT        stack: by call stack where there are any (default); place:\n"
	"                           by directory and file in any case\n"
	"  -o, --output FILE        write here; - is standard output, the default\n"
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
	"      --strict             exit 4 when the capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

/* === Internals ============================================================================ */

static void draw(const struct ks_model *model, enum ks_measure measure, struct ks_strbuf *out)
{
	static const char *const what[] = {
		[KS_MEASURE_LIVE] = "live bytes",
		[KS_MEASURE_WASTE] = "wasted live bytes",
		[KS_MEASURE_OBJECTS] = "live objects",
		[KS_MEASURE_PEAK] = "peaks of the call sites",
		[KS_MEASURE_TOTAL] = "bytes allocated",
		[KS_MEASURE_ALLOCS] = "allocations",
	};
	struct ks_rows rows;
	char title[128];

	snprintf(title, sizeof(title), "Kernel %s: %s%s",
		 model->level == KS_SLAB ? "slab memory" : "pages", what[measure],
		 ks_model_has_loss(model) ? " (the capture lost events)" : "");
	if (ks_rows_init(&rows, model, KS_ORDER_CURRENT, 0))
		out->failed = true;
	else
		ks_render_flame(&rows, measure, title, out);
	ks_rows_deinit(&rows);
}

/* === Public =============================================================================== */

int ks_cmd_flame(int argc, char **argv)
{
	enum { OPT_MEASURE = KS_OPT_OWN, OPT_FRAMES };
	static const struct option options[] = {
		KS_LONG_PLAIN,
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		{ "pages", no_argument, NULL, KS_OPT_PAGES },
		{ "output", required_argument, NULL, 'o' },
		{ "measure", required_argument, NULL, OPT_MEASURE },
		{ "frames", required_argument, NULL, OPT_FRAMES },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	enum ks_measure measure = KS_MEASURE_LIVE;
	const char *output = "-";
	bool by_stack = true;
	struct ks_model *model;
	struct ks_strbuf out;
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER "o:",
				  options, NULL)) != -1) {
		if (opt == 'o') {
			output = optarg;
			continue;
		}
		code = opt == OPT_MEASURE  ? ks_cli_measure(&cli, optarg, &measure)
		       : opt == OPT_FRAMES ? ks_cli_frames(&cli, optarg, &by_stack)
					   : ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	code = ks_cli_analyze(&cli, by_stack ? KS_BY_STACK : KS_BY_SITE, &model);
	if (code)
		return code;
	ks_strbuf_init(&out);
	draw(model, measure, &out);
	code = ks_cli_write(&cli, output, &out);
	ks_strbuf_deinit(&out);
	if (!code && strcmp(output, "-"))
		code = ks_cli_print_quality(&cli, model);
	if (!code)
		code = ks_cli_verdict(&cli, model);
	ks_model_free(model);
	return code;
}
