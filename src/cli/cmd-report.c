// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope report: a capture added up by whatever one asks for. */
#include "cli/report.h"

#include <string.h>

#include "analysis/views.h"

/* === Data ================================================================================= */

struct report_opts {
	enum ks_by by;
	bool frag, before;
};

/* === Internals ============================================================================ */

/* "A,B", of which either may be empty. */
static int parse_window(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_option since = *option, until = *option;
	const char *comma = strchr(arg, ',');
	char first[64];
	int code = -1;

	if (!comma || (size_t)(comma - arg) >= sizeof(first))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--time '%s': give two times, as in 415.2,416", arg);
	memcpy(first, arg, (size_t)(comma - arg));
	first[comma - arg] = '\0';
	since.value = &cli->capture->filter.since;
	until.value = &cli->capture->filter.until;
	if (first[0])
		code = ks_cli_parse_when(cli, &since, first);
	if (code < 0 && comma[1])
		code = ks_cli_parse_when(cli, &until, comma + 1);
	return code;
}

static void set_options(struct ks_cli *cli, void *opts, struct ks_option *rows)
{
	struct report_opts *report = opts;
	const struct ks_option mine[] = {
		{ 0, "by", "KEY",
		  "site (default), function, module, cache, size, pid, comm,\n"
		  "cgroup, cpu, node, gfp: of the allocation",
		  .choice = &report->by, .choices = KS_BYS, .name_of = ks_by_name },
		{ 0, "frag", NULL,
		  "requested, allocated, wasted, and frees on other CPUs, by\n"
		  "site and by size; the most wasteful first",
		  .flag = &report->frag },
		{ 0, "before", NULL,
		  "what the kernel had when recording began, by cache, and by\n"
		  "type after record --types",
		  .flag = &report->before },
		{ 0, "time", "A,B", "--since and --until in one; A or B may be left out",
		  .parse = parse_window },
	};

	_Static_assert(ARRAY_SIZE(mine) <= KS_REPORT_OPTIONS, "room for the options");
	(void)cli;
	memcpy(rows, mine, sizeof(mine));
}

static int check(const struct ks_cli *cli, const void *opts)
{
	const struct report_opts *report = opts;

	if (report->before && (report->frag || report->by != KS_BY_SITE))
		return ks_cli_error(cli, KS_EXIT_USAGE, "--before does not take --by or --frag");
	if (report->frag && (cli->output.csv || report->by != KS_BY_SITE))
		return ks_cli_error(cli, KS_EXIT_USAGE, "--frag does not take --by or --csv");
	return 0;
}

static int ask(struct ks_analysis *analysis, const void *opts, struct ks_diag *diag)
{
	const struct report_opts *report = opts;

	return report->frag ? ks_analysis_add(analysis, ks_frag_view_new(), diag)
			    : ks_analysis_account(analysis, report->by, diag);
}

static struct ks_doc *make(const struct ks_model *model, const struct ks_cli *cli, const void *opts)
{
	const struct report_opts *report = opts;
	struct ks_doc *doc = NULL;
	struct ks_rows rows;

	if (report->before)
		return ks_doc_of_before(model, cli->rows->top);
	if (report->frag)
		return ks_doc_of_frag(model, model->frag, cli->rows->top);
	if (!ks_rows_init(&rows, model, cli->rows->order, cli->rows->top))
		doc = ks_doc_of_groups(model, &rows, cli->rows->order, "kmemscope-report-1");
	ks_rows_deinit(&rows);
	return doc;
}

/* === Public =============================================================================== */

const struct ks_report ks_report_report = {
	.usage =
		"usage: kmemscope report [--by KEY] [OPTION...] FILE\n"
		"\n"
		"Adds up a capture by KEY and prints live bytes, waste, live objects, peak, total\n"
		"bytes, allocations and frees, and the share of frees that were seen as events.\n",
	.examples = "examples:\n"
		    "  kmemscope report --by cache trace.dat\n"
		    "  kmemscope report --by comm --site sk_prot_alloc trace.dat\n"
		    "  kmemscope report --order-by waste --top 10 trace.dat\n",
	.shared = KS_WITH_CAPTURE | KS_WITH_ORDER | KS_WITH_TOP | KS_WITH_JSON | KS_WITH_CSV |
		  KS_WITH_BYTES,
	.opts_size = sizeof(struct report_opts),
	.options = set_options,
	.check = check,
	.ask = ask,
	.timeless_text = true,
	.make = make,
};
