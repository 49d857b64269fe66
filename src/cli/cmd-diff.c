// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope diff: what changed between two captures. */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope diff [--by KEY] [OPTION...] FIRST SECOND\n"
	"       kmemscope diff [OPTION...] --before FILE... --after FILE...\n"
	"\n"
	"Compares captures by KEY: what is new, gone, grown or shrunk, the largest change first.\n"
	"With several captures a side, what changed by more than they differ among themselves comes\n"
	"first.\n";

static const char examples[] =
	"examples:\n"
	"  kmemscope diff --by function old.dat new.dat\n"
	"  kmemscope diff --before a1.dat --before a2.dat --after b1.dat --after b2.dat\n";

enum { SIDES = 2 };

struct paths {
	KS_VEC(const char *) items;
};

struct options {
	struct ks_capture_opts capture;
	struct ks_rows_opts rows;
	enum ks_by by;
	enum ks_measure measure;
	enum ks_normal normal;
	struct paths sides[SIDES];
};

struct models {
	KS_VEC(struct ks_model *) items;
};

/* === Internals ============================================================================ */

static int add_path(struct paths *paths, const char *path)
{
	const char **slot = ks_vec_push(&paths->items);

	if (slot)
		*slot = path;
	return slot ? 0 : -ENOMEM;
}

/* --before, --after: the value is the list. */
static int parse_path(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	return add_path(option->value, arg) ? ks_cli_error(cli, KS_EXIT_FAILED, "out of memory")
					    : -1;
}

static int print_diff(const struct ks_cli *cli, const struct options *opts,
		      const struct models *sides)
{
	struct ks_diff_side before = { (const struct ks_model *const *)sides[0].items.items,
				       sides[0].items.len };
	struct ks_diff_side after = { (const struct ks_model *const *)sides[1].items.items,
				      sides[1].items.len };
	const struct ks_model *a = before.models[0], *b = after.models[0];
	struct ks_diag diag = { 0 };
	struct ks_diff diff;
	int err, code;

	if (opts->normal == KS_NORMAL_TIME && a->clock != b->clock)
		return ks_cli_error(cli, KS_EXIT_BAD_INPUT,
				    "the captures count time in %s and in %s: normalise by events",
				    ks_clock_name(a->clock), ks_clock_name(b->clock));
	err = ks_diff_init_sides(&diff, &before, &after, opts->by, &cli->capture->filter,
				 opts->measure, opts->normal, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	code = ks_cli_print_doc(cli, ks_doc_of_diff(&diff, cli->rows->top, cli->output.verbose));
	ks_diff_deinit(&diff);
	return code;
}

static int read_side(struct ks_cli *cli, const struct options *opts, const struct paths *paths,
		     struct models *models)
{
	size_t i;
	int code = 0;

	for (i = 0; i < paths->items.len && !code; i++) {
		struct ks_model **slot = ks_vec_push(&models->items);

		if (!slot)
			return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
		cli->capture->input = paths->items.items[i];
		code = ks_cli_analyze(cli, opts->by, slot);
	}
	return code;
}

static int compare(struct ks_cli *cli, const struct options *opts)
{
	struct models sides[SIDES] = { 0 };
	int side, code = 0;
	size_t i;

	for (side = 0; side < SIDES && !code; side++)
		code = read_side(cli, opts, &opts->sides[side], &sides[side]);
	if (!code)
		code = print_diff(cli, opts, sides);
	for (side = 0; side < SIDES; side++) {
		for (i = 0; i < sides[side].items.len; i++) {
			if (!code)
				code = ks_cli_verdict(cli, sides[side].items.items[i]);
			ks_model_free(sides[side].items.items[i]);
		}
		ks_vec_free(&sides[side].items);
	}
	return code;
}

/* FIRST and SECOND, or --before and --after. -1 or an exit code. */
static int take_operands(const struct ks_cli *cli, struct options *opts, int argc, char **argv)
{
	size_t stdins = 0, i;
	int side;

	if (opts->sides[0].items.len || opts->sides[1].items.len) {
		if (optind < argc)
			return ks_cli_error(cli, KS_EXIT_USAGE,
					    "'%s': is it --before or --after? Name all captures so",
					    argv[optind]);
		if (!opts->sides[0].items.len || !opts->sides[1].items.len)
			return ks_cli_error(cli, KS_EXIT_USAGE, "--before and --after: give both");
	} else if (argc - optind != SIDES) {
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "give two captures to compare, or several with --before and "
				    "--after");
	} else if (add_path(&opts->sides[0], argv[optind]) ||
		   add_path(&opts->sides[1], argv[optind + 1])) {
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	}
	for (side = 0; side < SIDES; side++)
		for (i = 0; i < opts->sides[side].items.len; i++)
			stdins += !strcmp(opts->sides[side].items.items[i], "-");
	if (stdins > 1)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "only one of the captures can be standard input");
	if (cli->output.json + cli->output.csv + cli->output.markdown > 1)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--json, --csv and --markdown: choose one");
	return -1;
}

/* === Public =============================================================================== */

int ks_cmd_diff(int argc, char **argv)
{
	struct options opts = { .by = KS_BY_SITE };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = (KS_WITH_CAPTURE & ~(KS_WITH_FILE | KS_WITH_DB_FILE)) | KS_WITH_TOP |
			  KS_WITH_JSON | KS_WITH_CSV | KS_WITH_BYTES | KS_WITH_MARKDOWN,
		.capture = &opts.capture,
		.rows = &opts.rows,
	};
	const struct ks_option own[] = {
		{ 0, "before", "FILE", "a capture of the first side; may be given several times",
		  .parse = parse_path, .value = &opts.sides[0] },
		{ 0, "after", "FILE", "a capture of the second side, likewise", .parse = parse_path,
		  .value = &opts.sides[1] },
		{ 0, "by", "KEY",
		  "site (default), function, module, cache, size, pid, comm,\n"
		  "cgroup, cpu, node, gfp: of the allocation",
		  .choice = &opts.by, .choices = KS_BYS, .name_of = ks_by_name },
		{ 0, "measure", "WHAT", "live (default), waste, objects, peak, total, allocs",
		  .choice = &opts.measure, .choices = KS_MEASURES, .name_of = ks_measure_name },
		{ 0, "normalize", "WHAT",
		  "time or events: scale the first capture to the length of\n"
		  "the second; none (default)",
		  .choice = &opts.normal, .choices = KS_NORMALS, .name_of = ks_normal_name },
		{ 0, "since", "T", "only events from T on, in both: +1.5 from the start of each",
		  .parse = ks_cli_parse_when, .value = &cli.capture->filter.since },
		{ 'v', "verbose", NULL, "also rows that did not change, and all counters",
		  .flag = &cli.output.verbose },
		{ 0 },
	};
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code < 0)
		code = take_operands(&cli, &opts, argc, argv);
	if (code < 0)
		code = compare(&cli, &opts);
	ks_vec_free(&opts.sides[0].items);
	ks_vec_free(&opts.sides[1].items);
	return code;
}
