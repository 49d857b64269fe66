// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope leaks: what still lives at the end of a capture. */
#include <string.h>

#include "analysis/views.h"
#include "cli/report.h"

/* === Data ================================================================================= */

struct leaks_opts {
	u64 min_age;
	bool stacks, all;
};

/* === Internals ============================================================================ */

static void set_options(struct ks_cli *cli, void *opts, struct ks_option *rows)
{
	struct leaks_opts *leaks = opts;
	const struct ks_option mine[] = {
		{ 0, "min-age", "TIME", "only objects at least this old: 1.5, 200ms, 1m",
		  .parse = ks_cli_parse_time, .value = &leaks->min_age },
		{ 0, "stacks", NULL, "by stack trace; needs a capture made with record --stack",
		  .flag = &leaks->stacks },
		{ 0, "all", NULL, "also sites for which hardly anything speaks",
		  .flag = &leaks->all },
	};

	(void)cli;
	memcpy(rows, mine, sizeof(mine));
}

static int ask(struct ks_analysis *analysis, const void *opts, struct ks_diag *diag)
{
	const struct leaks_opts *leaks = opts;

	return ks_analysis_add(analysis, ks_leaks_view_new(leaks->min_age, leaks->stacks), diag);
}

static struct ks_doc *make(const struct ks_model *model, const struct ks_cli *cli, const void *opts)
{
	const struct leaks_opts *leaks = opts;

	return ks_doc_of_leaks(model, model->leaks, cli->rows->top, leaks->all);
}

/* === Public =============================================================================== */

const struct ks_report ks_report_leaks = {
	.usage =
		"usage: kmemscope leaks [OPTION...] FILE\n"
		"\n"
		"Lists what was allocated during the capture and is still live at its end, by call\n"
		"site and process, with ages, most evidence of a leak first. Page cache and inodes\n"
		"are listed separately, and so are sites whose frees raise no event.\n",
	.examples = "examples:\n"
		    "  kmemscope leaks trace.dat\n"
		    "  kmemscope leaks --comm sshd --min-age 30 trace.dat\n",
	.shared = KS_WITH_CAPTURE | KS_WITH_TOP | KS_WITH_JSON | KS_WITH_CSV | KS_WITH_BYTES,
	.opts_size = sizeof(struct leaks_opts),
	.options = set_options,
	.ask = ask,
	.make = make,
};
