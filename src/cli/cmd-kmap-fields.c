// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap fields: what was done to each field of the objects of a type. */
#include <stdio.h>

#include "cli/kmap.h"
#include "cli/run.h"
#include "cli/output.h"
#include "cli/chart.h"
#include "report/struct-chart.h"

/* === Internals ============================================================================ */

static int draw(struct ks_kmap_args *args, const struct ks_kmap_struct *type)
{
	struct ks_diag diag = { 0 };
	struct ks_strbuf text;
	int err, code = ks_cli_check_chart_name(&args->cli, args->fields.drawing);

	if (code)
		return code;
	ks_strbuf_init(&text);
	err = ks_render_struct(type, ks_cli_is_png(args->fields.drawing), &text, &diag);
	code = err ? ks_cli_fail(&args->cli, err, &diag)
		   : ks_cli_write(&args->cli, args->fields.drawing, &text);
	ks_strbuf_deinit(&text);
	return code;
}

static int show(struct ks_kmap_args *args, const struct ks_kmap_map *map,
		const struct ks_kmap_fields *fields, const char *name)
{
	const struct ks_kmap_struct *type = name ? ks_kmap_find_struct(fields, name) : NULL;
	int code = 0;

	if (!fields->structs.len)
		return ks_cli_error(
			&args->cli, KS_EXIT_FAILED,
			"the map does not say where in their objects accesses were: record it in "
			"binary, with a kernel of this version");
	if (name && !type)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED,
				    "the map has no accesses to objects of type '%s': 'kmemscope "
				    "kmap fields' without a type lists them",
				    name);
	if (!type)
		return ks_kmap_answer(
			args,
			ks_kmap_view_types(map->census, map->places, fields, args->cli.rows->top),
			map->census);
	if (args->fields.drawing)
		code = draw(args, type);
	return code ? code
		    : ks_kmap_answer(args,
				     ks_kmap_view_fields(map->census, map->places, fields, type),
				     map->census);
}

/* === Public =============================================================================== */

int ks_kmap_take_types(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_kmap_fields_opts *opts = option->value;

	if (opts->nr_types == ARRAY_SIZE(opts->types))
		return ks_cli_error(cli, KS_EXIT_USAGE, "--types: at most %zu of them",
				    ARRAY_SIZE(opts->types));
	opts->types[opts->nr_types++] = arg;
	return -1;
}

int ks_kmap_fields_command(struct ks_kmap_args *args)
{
	const char *name = args->nr_operands > 1 ? args->operands[0] : NULL;
	struct ks_kmap_fields *fields = NULL;
	struct ks_debug_set *debug = NULL;
	struct ks_diag diag = { 0 };
	struct ks_kmap_map map = { 0 };
	int err, code;

	if (args->fields.drawing && !name)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "-o: say of which type: kmemscope kmap fields TYPE FILE");
	err = ks_debug_set_new(args->fields.types, args->fields.nr_types, &debug, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	code = ks_kmap_map_read(args, args->operands[args->nr_operands - 1], KS_KMAP_WITH_SPOTS,
				&map);
	if (!code) {
		err = ks_kmap_fields_new(map.census, map.places, debug, &fields, &diag);
		code = err ? ks_cli_fail(&args->cli, err, &diag) : show(args, &map, fields, name);
	}
	ks_kmap_fields_free(fields);
	ks_kmap_map_free(&map);
	ks_debug_set_free(debug);
	return code;
}
