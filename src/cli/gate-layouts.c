// SPDX-License-Identifier: GPL-2.0-only
/* What the types of an access map cost by their layout, to be held against a budget. */
#include "cli/gate-layouts.h"

#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

static int measure(struct ks_cli_layouts *layouts, struct ks_diag *diag)
{
	const struct ks_kmap_fields *fields = layouts->fields;
	struct ks_kmap_cost cost;
	size_t i;

	layouts->items = calloc(fields->structs.len + 1, sizeof(*layouts->items));
	if (!layouts->items)
		return ks_diag_nomem(diag, "measuring layouts");
	for (i = 0; i < fields->structs.len; i++) {
		const struct ks_kmap_struct *type = &fields->structs.items[i];
		struct ks_gate_layout *layout = &layouts->items[layouts->len];

		if (!type->layout)
			continue;
		if (ks_kmap_cost_of_layout(type, &cost))
			return ks_diag_nomem(diag, "measuring layouts");
		layout->name = type->name;
		layout->values[KS_LIMIT_SIZE - KS_LIMIT_LAYOUT] = cost.size;
		layout->values[KS_LIMIT_HOLES - KS_LIMIT_LAYOUT] = cost.holes;
		layout->values[KS_LIMIT_HOT_LINES - KS_LIMIT_LAYOUT] = cost.hot_lines;
		layout->values[KS_LIMIT_MIXED_LINES - KS_LIMIT_LAYOUT] = cost.mixed_lines;
		layouts->len++;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_cli_layouts_read(struct ks_cli *cli, const struct ks_kmap_fields_opts *types,
			struct ks_cli_layouts *ret_layouts)
{
	struct ks_kmap_args args = { .cli = *cli, .fields = *types };
	struct ks_cli_layouts layouts = { 0 };
	struct ks_debug_set *debug = NULL;
	struct ks_diag diag = { 0 };
	int err, code;

	if (!strcmp(cli->capture->input, "-"))
		return ks_cli_error(
			cli, KS_EXIT_USAGE,
			"layouts need a map that can be read twice, not standard input");
	code = ks_kmap_map_read(&args, cli->capture->input, KS_KMAP_WITH_SPOTS, &layouts.map);
	if (code)
		return code;
	err = ks_debug_set_new(types->types, types->nr_types, &debug, &diag);
	if (!err)
		err = ks_kmap_fields_new(layouts.map.census, layouts.map.places, debug,
					 &layouts.fields, &diag);
	if (!err && layouts.fields->structs.len)
		err = measure(&layouts, &diag);
	ks_debug_set_free(debug);
	if (err) {
		ks_cli_layouts_deinit(&layouts);
		return ks_cli_fail(cli, err, &diag);
	}
	*ret_layouts = layouts;
	return 0;
}

void ks_cli_layouts_deinit(struct ks_cli_layouts *layouts)
{
	free(layouts->items);
	ks_kmap_fields_free(layouts->fields);
	ks_kmap_map_free(&layouts->map);
	*layouts = (struct ks_cli_layouts){ 0 };
}
