// SPDX-License-Identifier: GPL-2.0-only
/* The subcommands of "kmemscope kmap" that print tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/chart.h"
#include "cli/kmap.h"
#include "cli/output.h"
#include "cli/run.h"
#include "report/heatmap.h"

/* === Internals ============================================================================ */

/* === Internals: answering ================================================================= */

static int verdict(struct ks_kmap_args *args, const struct ks_kmap_census *census)
{
	const struct ks_kmap_quality *q = &census->quality;

	if (!args->cli.output.strict || !(q->bad_lines || q->orphan_accesses || q->shared_indices))
		return 0;
	return ks_cli_error(&args->cli, KS_EXIT_LOST,
			    "parts of the map were not understood (--strict)");
}

/* The sites of an allocation capture, by the names that a map has for them. */
static int read_waste(struct ks_kmap_args *args, const char *path, struct ks_kmap_report_opts *opts,
		      struct ks_model **ret_model)
{
	struct ks_kmap_waste *waste;
	struct ks_model *model;
	size_t i;
	int code;

	if (opts->by != KS_KMAP_BY_UNIT || opts->unit != KS_KMAP_SITE)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "--with goes with --by site");
	args->cli.capture->input = path;
	code = ks_cli_analyze(&args->cli, KS_BY_SITE, &model);
	if (code)
		return code;
	waste = calloc(ks_model_account(model)->groups.len + 1, sizeof(*waste));
	for (i = 0; waste && i < ks_model_account(model)->groups.len; i++) {
		const struct ks_group *group = &ks_model_account(model)->groups.items[i];

		waste[i] = (struct ks_kmap_waste){ group->label, group->stat.total_bytes,
						   ks_stat_waste(&group->stat),
						   group->stat.allocs };
	}
	if (!waste) {
		ks_model_free(model);
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	}
	opts->waste = waste;
	opts->nr_waste = ks_model_account(model)->groups.len;
	*ret_model = model;
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_answer(struct ks_kmap_args *args, struct ks_doc *doc,
		   const struct ks_kmap_census *census)
{
	int code = ks_cli_print_doc(&args->cli, doc);

	return code ? code : verdict(args, census);
}

/* Only report has the two that are no units of code. */
int ks_kmap_take_unit(struct ks_kmap_args *args, enum ks_kmap_unit *unit)
{
	if (args->view.by == KS_KMAP_COMPARTMENT && !args->view.cut)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--by compartment: say which with --cut FILE");
	if (args->view.by < KS_KMAP_UNITS)
		*unit = (enum ks_kmap_unit)args->view.by;
	else if (args->view.by != KS_KMAP_BYS)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--by '%s': choose one of site function file dir topdir module "
				    "compartment",
				    ks_kmap_by_name(args->view.by));
	return 0;
}

const char *ks_kmap_by_name(unsigned int by)
{
	return by == KS_KMAP_CACHE  ? "cache"
	       : by == KS_KMAP_TYPE ? "type"
				    : ks_kmap_unit_name((enum ks_kmap_unit)by);
}

int ks_kmap_report(struct ks_kmap_args *args)
{
	struct ks_kmap_report_opts opts = {
		.by = args->view.by == KS_KMAP_CACHE  ? KS_KMAP_BY_CACHE
		      : args->view.by == KS_KMAP_TYPE ? KS_KMAP_BY_TYPE
						      : KS_KMAP_BY_UNIT,
		.order = (enum ks_kmap_order)args->view.order,
		.top = args->cli.rows->top,
	};
	struct ks_model *model = NULL;
	struct ks_kmap_map map;
	int code = opts.by == KS_KMAP_BY_UNIT ? ks_kmap_take_unit(args, &opts.unit) : 0;

	if (!code && args->view.with)
		code = read_waste(args, args->view.with, &opts, &model);
	if (code)
		return code;
	code = ks_kmap_map_read(args, args->operands[0], 0, &map);
	if (!code)
		code = ks_kmap_answer(args, ks_kmap_view_report(map.census, map.places, &opts),
				      map.census);
	ks_kmap_map_free(&map);
	free((void *)opts.waste);
	ks_model_free(model);
	return code;
}

static int one_row(struct ks_kmap_args *args, bool is_site)
{
	enum ks_kmap_unit unit = is_site ? KS_KMAP_FUNCTION : KS_KMAP_SITE;
	const char *name = args->operands[0];
	struct ks_doc *doc;
	bool found = true;
	struct ks_kmap_map map;
	int code = ks_kmap_take_unit(args, &unit);

	if (!code)
		code = ks_kmap_map_read(args, args->operands[1], 0, &map);
	if (code)
		return code;
	doc = (is_site ? ks_kmap_view_accesses : ks_kmap_view_touches)(
		map.census, map.places, name, unit, args->cli.rows->top, &found);
	if (found) {
		code = ks_kmap_answer(args, doc, map.census);
	} else {
		ks_doc_free(doc);
		code = ks_cli_error(&args->cli, KS_EXIT_FAILED,
				    is_site ? "the map has no objects of '%s'%s"
					    : "the map has no accesses by '%s'%s",
				    name,
				    args->cli.capture->kernel || !map.places->unnamed
					    ? ""
					    : "; it has addresses only: name its code with -k");
	}
	ks_kmap_map_free(&map);
	return code;
}

int ks_kmap_accesses(struct ks_kmap_args *args)
{
	return one_row(args, true);
}

int ks_kmap_touches(struct ks_kmap_args *args)
{
	return one_row(args, false);
}

static int draw(struct ks_kmap_args *args, const struct ks_kmap_matrix *matrix)
{
	struct ks_diag diag = { 0 };
	struct ks_strbuf text;
	int err, code = ks_cli_check_chart_name(&args->cli, args->view.heat_map);

	if (code)
		return code;
	ks_strbuf_init(&text);
	err = ks_render_heatmap(matrix, ks_cli_is_png(args->view.heat_map), &text, &diag);
	code = err ? ks_cli_fail(&args->cli, err, &diag)
		   : ks_cli_write(&args->cli, args->view.heat_map, &text);
	ks_strbuf_deinit(&text);
	return code;
}

/* Without source files all code is in one place, and a table of places says nothing. */
static void tell_no_files(const struct ks_kmap_args *args, const struct ks_kmap_map *map,
			  const char *instead)
{
	if (!ks_kmap_knows_files(map->census, map->places))
		fprintf(stderr,
			"%s: no source file is known%s: give the kernel tree or its vmlinux with -k\n",
			args->cli.command, instead);
}

int ks_kmap_matrix(struct ks_kmap_args *args)
{
	enum ks_kmap_unit unit = args->cli.capture->kernel ? KS_KMAP_DIR : KS_KMAP_FUNCTION;
	struct ks_kmap_matrix matrix;
	struct ks_kmap_map map;
	int code = ks_kmap_take_unit(args, &unit);

	if (!code)
		code = ks_kmap_map_read(args, args->operands[0], 0, &map);
	if (code)
		return code;
	if (unit >= KS_KMAP_FILE && unit <= KS_KMAP_TOPDIR) {
		tell_no_files(args, &map, ", so the table is by function");
		if (!ks_kmap_knows_files(map.census, map.places))
			unit = KS_KMAP_FUNCTION;
	}
	if (ks_kmap_matrix_init(&matrix, map.census, map.places, unit)) {
		ks_kmap_map_free(&map);
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	}
	if (args->view.heat_map)
		code = draw(args, &matrix);
	if (!code)
		code = ks_kmap_answer(args,
				      ks_kmap_view_matrix(map.census, &matrix, args->cli.rows->top),
				      map.census);
	ks_kmap_matrix_deinit(&matrix);
	ks_kmap_map_free(&map);
	return code;
}

static int draw_calls(struct ks_kmap_args *args, const struct ks_kmap_call_cells *cells)
{
	struct ks_kmap_matrix matrix;
	int code;

	if (ks_kmap_call_matrix(cells, &matrix))
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	code = draw(args, &matrix);
	ks_kmap_matrix_deinit(&matrix);
	return code;
}

int ks_kmap_calls_command(struct ks_kmap_args *args)
{
	enum ks_kmap_unit unit = KS_KMAP_FUNCTION;
	struct ks_kmap_call_cells cells;
	struct ks_kmap_map map;
	int code = ks_kmap_take_unit(args, &unit);

	if (!code)
		code = ks_kmap_map_read(args, args->operands[0], 0, &map);
	if (code)
		return code;
	if (!map.census->calls.len)
		fprintf(stderr,
			"%s: the map has no calls: 'lab run --calls' and log_calls_enabled count "
			"them\n",
			args->cli.command);
	if (unit >= KS_KMAP_FILE && unit <= KS_KMAP_TOPDIR)
		tell_no_files(args, &map, "");
	if (ks_kmap_call_cells_init(&cells, map.census, map.places, unit)) {
		ks_kmap_map_free(&map);
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	}
	if (args->view.heat_map)
		code = draw_calls(args, &cells);
	if (!code)
		code = ks_kmap_answer(args,
				      ks_kmap_view_calls(map.census, &cells, args->cli.rows->top),
				      map.census);
	ks_kmap_call_cells_deinit(&cells);
	ks_kmap_map_free(&map);
	return code;
}

int ks_kmap_diff(struct ks_kmap_args *args)
{
	enum ks_kmap_unit unit = KS_KMAP_FUNCTION;
	struct ks_kmap_map old = { 0 }, new = { 0 };
	int code = ks_kmap_take_unit(args, &unit);

	if (!code)
		code = ks_kmap_map_read(args, args->operands[0], 0, &old);
	if (!code)
		code = ks_kmap_map_read(args, args->operands[1], 0, &new);
	if (!code) {
		const struct ks_kmap_census *censuses[] = { old.census, new.census };
		const struct ks_kmap_places *places[] = { old.places, new.places };

		code = ks_kmap_answer(
			args, ks_kmap_view_diff(censuses, places, unit, args->cli.rows->top),
			new.census);
	}
	ks_kmap_map_free(&old);
	ks_kmap_map_free(&new);
	return code;
}
