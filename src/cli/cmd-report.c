// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope report: a capture added up by whatever one asks for. */
#include "cli/report.h"

#include <string.h>

#include "analysis/views.h"
#include "base/num.h"

/* === Data ================================================================================= */

/* A number that a filter of its own goes with. */
struct filter_number {
	u32 *number;
	bool *set;
};

struct report_opts {
	enum ks_by by;
	bool frag;
	struct filter_number cpu, pid; /* where the options of these names go */
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

static int parse_filter_number(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	const struct filter_number *filter = option->value;
	u64 v;

	if (ks_parse_u64(arg, &v) || v >= UINT32_MAX)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--%s '%s': give a number", option->name,
				    arg);
	*filter->number = (u32)v;
	*filter->set = true;
	return -1;
}

static int parse_cache(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	(void)option;
	if (arg)
		cli->capture->filter.cache = arg;
	else
		cli->capture->filter.cache_only = true;
	return -1;
}

static void set_options(struct ks_cli *cli, void *opts, struct ks_option *rows)
{
	struct report_opts *report = opts;
	const struct ks_option mine[] = {
		{ 0, "by", "KEY",
		  "site (default), function, module, cache, size, pid, comm,\n"
		  "cpu, node, gfp: of the allocation",
		  .choice = &report->by, .choices = KS_BYS, .name_of = ks_by_name },
		{ 0, "frag", NULL,
		  "requested, allocated, wasted, and frees on other CPUs, by\n"
		  "site and by size; the most wasteful first",
		  .flag = &report->frag },
		{ 0, "time", "A,B", "--since and --until in one; A or B may be left out",
		  .parse = parse_window },
		{ 0, "cpu", "N", "only allocations on this CPU", .parse = parse_filter_number,
		  .value = &report->cpu },
		{ 0, "pid", "N", "only allocations by this task", .parse = parse_filter_number,
		  .value = &report->pid },
		{ 0, "comm", "NAME", "only allocations by tasks of this name",
		  .string = &cli->capture->filter.comm },
		{ 0, "site", "NAME", "only allocations in this function, or at function+0xoffset",
		  .string = &cli->capture->filter.site },
		{ 0, "cache", "[=NAME]",
		  "only kmem_cache allocations; with a name, only this cache",
		  .parse = parse_cache },
	};

	_Static_assert(ARRAY_SIZE(mine) <= KS_REPORT_OPTIONS, "room for the options");
	report->cpu =
		(struct filter_number){ &cli->capture->filter.cpu, &cli->capture->filter.by_cpu };
	report->pid =
		(struct filter_number){ &cli->capture->filter.pid, &cli->capture->filter.by_pid };
	memcpy(rows, mine, sizeof(mine));
}

static int check(const struct ks_cli *cli, const void *opts)
{
	const struct report_opts *report = opts;

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
	.shared = KS_WITH_CAPTURE | KS_WITH_ORDER | KS_WITH_TOP | KS_WITH_JSON | KS_WITH_CSV,
	.opts_size = sizeof(struct report_opts),
	.options = set_options,
	.check = check,
	.ask = ask,
	.make = make,
};
