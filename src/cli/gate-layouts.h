/* SPDX-License-Identifier: GPL-2.0-only */
/* The layouts of an access map's types, for kmemscope gate. */
#ifndef KS_CLI_GATE_LAYOUTS_H
#define KS_CLI_GATE_LAYOUTS_H

#include "analysis/budget.h"
#include "cli/kmap.h"

struct ks_cli_layouts {
	struct ks_kmap_map map;
	struct ks_kmap_fields *fields;
	struct ks_gate_layout
		*items; /* NULL = the map does not say where in objects accesses were */
	size_t len;
};

/* Reads the map cli->capture->input; @types is where debug information is. 0 or an exit code. */
int ks_cli_layouts_read(struct ks_cli *cli, const struct ks_kmap_fields_opts *types,
			struct ks_cli_layouts *ret_layouts);
void ks_cli_layouts_deinit(struct ks_cli_layouts *layouts);

#endif
