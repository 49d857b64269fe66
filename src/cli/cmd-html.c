// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope html: the report in one file, to open in a browser. */
#include "cli/cli.h"

#include <string.h>

#include "report/html.h"

static const char help[] =
	"usage: kmemscope html [OPTION...] FILE -o REPORT.html\n"
	"\n"
	"Writes a report to open in a browser: one file, which needs no network. Sites,\n"
	"flame graph, rings, timeline, leaks, fragmentation, lifetimes and CPUs; drag a\n"
	"range of time, and all of them show that range.\n"
	"\n"
	"  -o, --output FILE        the report; - is standard output\n"
	"      --data               only the data of the report, as JSON\n"
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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int write_report(const struct ks_cli *cli, const struct ks_model *model,
			const struct ks_timeline *timeline, const char *output, bool data_only)
{
	struct ks_strbuf page;
	int code;

	ks_strbuf_init(&page);
	if (data_only)
		ks_render_html_data(model, timeline, base_name(cli->input), &page);
	else
		ks_render_html(model, timeline, base_name(cli->input), &page);
	code = ks_cli_write(cli, output, &page);
	ks_strbuf_deinit(&page);
	return code;
}

int ks_cmd_html(int argc, char **argv)
{
	enum { OPT_DATA = KS_OPT_OWN };
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "output", required_argument, NULL, 'o' },
		{ "data", no_argument, NULL, OPT_DATA },
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
	const char *output = NULL;
	bool data_only = false;
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
		code = ks_cli_option(&cli, opt);
		if (code >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	if (!output)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "name the report with -o FILE");
	code = ks_cli_timeline(&cli, &timeline, &model);
	if (code)
		return code;
	code = write_report(&cli, model, timeline, output, data_only);
	if (!code)
		code = ks_cli_verdict(&cli, model);
	ks_timeline_free(timeline);
	ks_model_free(model);
	return code;
}
