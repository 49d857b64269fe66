// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope html: the report in one file, to open in a browser. */
#include "cli/html-diff.h"
#include "cli/html-kmap.h"

static const char help[] =
	"usage: kmemscope html [OPTION...] [--kmap MAP] FILE -o REPORT.html\n"
	"       kmemscope html [OPTION...] --kmap MAP -o REPORT.html\n"
	"       kmemscope html [OPTION...] --diff FIRST SECOND -o REPORT.html\n"
	"\n"
	"Writes a report to open in a browser: one file, which needs no network. Sites,\n"
	"flame graph, rings, timeline, leaks, fragmentation, lifetimes and CPUs; drag a\n"
	"range of time, and all of them show that range.\n"
	"\n"
	"  -o, --output FILE        the report; - is standard output\n"
	"      --data               only the data of the report, as JSON\n"
	"      --kmap MAP           an access map of the same run, or alone: who touched what\n"
	"      --diff FIRST         compare with this capture, which came before: what is new,\n"
	"                           gone, grown and shrunk\n"
	"  -f, --file FILE          the capture (or name it as an argument)\n"
	"      --db-file FILE       the same, for a DB file\n"
	"  -k, --kernel PATH        kernel tree, vmlinux, System.map or kallsyms for symbols\n"
	"  -b, --start-branch DIR   only call sites in this directory or file of the tree\n"
	"      --malloc             only kmalloc\n"
	"      --cache              only kmem_cache\n"
	"      --pages              the page allocator instead of the slab allocator\n"
	"      --since T, --until T only this window: 415.2 as in the log, or +1.5 from its start\n"
	"      --strict             exit 4 when the capture lost events\n"
	"      --color WHEN         colour messages: auto, always, never\n"
	"  -h, --help               this text\n";

static int write_report(const struct ks_cli *cli, const struct ks_model *model,
			const struct ks_timeline *timeline, const struct ks_html_kmap *kmap,
			const struct ks_html_diff *diff, const char *output, bool data_only)
{
	const char *name = ks_cli_base_name(cli->input);
	struct ks_strbuf page;
	int code;

	ks_strbuf_init(&page);
	if (data_only)
		ks_render_html_data(model, timeline, kmap, diff, name, &page);
	else
		ks_render_html(model, timeline, kmap, diff, name, &page);
	code = ks_cli_write(cli, output, &page);
	ks_strbuf_deinit(&page);
	return code;
}

int ks_cmd_html(int argc, char **argv)
{
	enum { OPT_DATA = KS_OPT_OWN, OPT_KMAP, OPT_DIFF };
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "output", required_argument, NULL, 'o' },
		{ "data", no_argument, NULL, OPT_DATA },
		{ "kmap", required_argument, NULL, OPT_KMAP },
		{ "diff", required_argument, NULL, OPT_DIFF },
		{ "color", required_argument, NULL, KS_OPT_COLOR },
		{ "strict", no_argument, NULL, KS_OPT_STRICT },
		{ "pages", no_argument, NULL, KS_OPT_PAGES },
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	struct ks_timeline *timeline;
	struct ks_model *model;
	struct ks_cli_html_kmap kmap = { 0 };
	struct ks_cli_html_diff diff = { 0 };
	const char *output = NULL, *kmap_path = NULL, *first = NULL;
	bool data_only = false, alone;
	int opt, code;

	while ((opt = getopt_long(argc, argv, "ho:" KS_SHORT_INPUT KS_SHORT_FILTER, options,
				  NULL)) != -1) {
		if (opt == 'o') {
			output = optarg;
			continue;
		}
		if (opt == OPT_DATA) {
			data_only = true;
			continue;
		}
		if (opt == OPT_KMAP) {
			kmap_path = optarg;
			continue;
		}
		if (opt == OPT_DIFF) {
			first = optarg;
			continue;
		}
		code = ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
	}
	alone = kmap_path && !first && !cli.input && optind == argc;
	if (alone)
		cli.input = kmap_path;
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	if (!output)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "name the report with -o FILE");
	if (kmap_path)
		code = ks_cli_html_kmap_open(&cli, kmap_path, alone, &kmap);
	else
		code = 0;
	if (!code && first)
		code = ks_cli_html_diff_open(&cli, first, &diff);
	if (!code)
		code = ks_cli_timeline(&cli, &timeline, &model);
	if (!code) {
		code = write_report(&cli, model, timeline, &kmap.page, first ? &diff.page : NULL,
				    output, data_only);
		if (!code)
			code = ks_cli_verdict(&cli, model);
		if (!code && first)
			code = ks_cli_verdict(&cli, diff.before[0]);
		ks_timeline_free(timeline);
		ks_model_free(model);
	}
	ks_cli_html_diff_close(&diff);
	ks_cli_html_kmap_close(&kmap);
	return code;
}
