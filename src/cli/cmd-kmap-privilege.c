// SPDX-License-Identifier: GPL-2.0-only
/* The subcommands of "kmemscope kmap" about least privilege. */
#include <stdio.h>

#include "cli/kmap.h"
#include "cli/output.h"
#include "kmap/compartments.h"

/* === Data ================================================================================= */

static const char *const model_names[KS_KMAP_MODELS] = { "kmemscope", "uscope" };

/* === Internals ============================================================================ */

/* The functions of a map, with those of the kernel where -k has an image. */
static int read_functions(struct ks_kmap_args *args, struct ks_kmap_map *map,
			  struct ks_kmap_functions **ret_functions)
{
	const char *kernel = args->cli.capture->kernel;
	struct ks_diag diag = { 0 };
	struct ks_code *code = NULL;
	int err = kernel ? ks_code_read(kernel, &code, &diag) : 0;

	/* Names alone, as of a System.map, still name the code. */
	if (err) {
		fprintf(stderr, "%s: instructions are those that the map saw: %s\n",
			args->cli.command, diag.text);
		diag = (struct ks_diag){ 0 };
	}
	err = ks_kmap_functions_new(map->census, map->places, code, map->resolver, ret_functions,
				    &diag);
	ks_code_free(code);
	return err ? ks_cli_fail(&args->cli, err, &diag) : 0;
}

/* A cut that means nothing is not in the table: says which and what would help. */
static void tell_left_out(const struct ks_kmap_args *args, const struct ks_kmap_map *map)
{
	if (!ks_kmap_can_cut(map->census, map->places, KS_KMAP_FUNCTION))
		fprintf(stderr,
			"%s: no function is known for most of the code, so there are no cuts: give "
			"the kernel's tree or its vmlinux with -k\n",
			args->cli.command);
	else if (!ks_kmap_can_cut(map->census, map->places, KS_KMAP_FILE))
		fprintf(stderr,
			"%s: no source file is known for most of the code, so there are no cuts by "
			"file and directory: give the kernel's tree, or a vmlinux with debug "
			"information, with -k\n",
			args->cli.command);
}

static int print_uscope(struct ks_kmap_args *args, struct ks_kmap_map *map)
{
	struct ks_kmap_functions *functions;
	int code = read_functions(args, map, &functions);

	if (code)
		return code;
	code = ks_kmap_answer(args, ks_kmap_view_uscope(map->census, map->places, functions),
			      map->census);
	ks_kmap_functions_free(functions);
	return code;
}

static int write_cpm(struct ks_kmap_args *args, const struct ks_kmap_map *map,
		     const struct ks_kmap_functions *functions, enum ks_kmap_unit unit)
{
	struct ks_strbuf text;
	struct ks_cpm *cpm;
	int code;

	if (ks_kmap_cut_cpm(map->census, map->places, functions, unit, &cpm))
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	ks_strbuf_init(&text);
	ks_cpm_write(cpm, &text);
	ks_cpm_free(cpm);
	code = text.failed ? ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory")
			   : ks_cli_write(&args->cli, args->privilege.output, &text);
	ks_strbuf_deinit(&text);
	return code;
}

/* Finds compartments, or takes those of a unit, and shows them. */
static int print_compartments(struct ks_kmap_args *args, struct ks_kmap_map *map,
			      struct ks_kmap_functions *functions, enum ks_kmap_unit unit)
{
	struct ks_kmap_search search = { args->privilege.number, args->privilege.size };
	struct ks_doc *doc;
	int code;

	if (unit == KS_KMAP_COMPARTMENT && !args->view.cut &&
	    ks_kmap_search(map->census, map->places, functions, &search))
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	if (args->privilege.output) {
		code = write_cpm(args, map, functions, unit);
		if (code)
			return code;
	}
	doc = ks_kmap_view_uscope(map->census, map->places, functions);
	if (doc)
		ks_kmap_list_compartments(doc, map->census, map->places, functions, unit,
					  args->cli.rows->top);
	return ks_kmap_answer(args, doc, map->census);
}

/* === Public =============================================================================== */

const char *ks_kmap_model_name(unsigned int model)
{
	return model_names[model];
}

int ks_kmap_privilege(struct ks_kmap_args *args)
{
	struct ks_kmap_map map;
	int code = ks_kmap_map_read(args, args->operands[0], 0, &map);

	if (code)
		return code;
	tell_left_out(args, &map);
	if (args->privilege.model == KS_KMAP_MODEL_USCOPE)
		code = print_uscope(args, &map);
	else
		code = ks_kmap_answer(args, ks_kmap_view_privilege(map.census, map.places),
				      map.census);
	ks_kmap_map_free(&map);
	return code;
}

int ks_kmap_compartments(struct ks_kmap_args *args)
{
	enum ks_kmap_unit unit = KS_KMAP_COMPARTMENT;
	struct ks_kmap_functions *functions;
	struct ks_kmap_map map;
	int code;

	if (!args->view.cut && args->view.by == KS_KMAP_BYS && !args->privilege.number &&
	    !args->privilege.size)
		return ks_cli_error(
			&args->cli, KS_EXIT_USAGE,
			"say how to divide the code: --number N, --size FUNCTIONS, --by "
			"WHAT or --cut FILE");
	code = ks_kmap_take_unit(args, &unit);
	if (!code)
		code = ks_kmap_map_read(args, args->operands[0], 0, &map);
	if (code)
		return code;
	code = read_functions(args, &map, &functions);
	if (!code) {
		code = print_compartments(args, &map, functions, unit);
		ks_kmap_functions_free(functions);
	}
	ks_kmap_map_free(&map);
	return code;
}

int ks_kmap_score(struct ks_kmap_args *args)
{
	struct ks_cpm_weights weights = { 0 };
	struct ks_diag diag = { 0 };
	struct ks_cpm *cpm;
	int err, code;

	err = ks_cpm_read(args->operands[0], &cpm, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	err = args->privilege.weights
		      ? ks_cpm_weights_read(args->privilege.weights, &weights, &diag)
		      : 0;
	code = err ? ks_cli_fail(&args->cli, err, &diag)
		   : ks_cli_print_doc(&args->cli, ks_kmap_view_score(cpm, &weights));
	ks_cpm_weights_free(&weights);
	ks_cpm_free(cpm);
	return code;
}
