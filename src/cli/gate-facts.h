/* SPDX-License-Identifier: GPL-2.0-only */
/* What kmemscope gate judges: a capture, which may be an access map, or a snapshot of a heap. */
#ifndef KS_CLI_GATE_FACTS_H
#define KS_CLI_GATE_FACTS_H

#include "analysis/budget.h"
#include "cli/cli.h"
#include "cli/gate-layouts.h"

struct ks_snapshot;

struct ks_cli_facts {
	struct ks_gate_facts facts;
	struct ks_model *model;	       /* NULL of a snapshot */
	struct ks_snapshot *snapshot;  /* NULL of a capture */
	struct ks_group *groups;       /* of a snapshot: types, then caches */
	struct ks_cli_layouts layouts; /* of a map, if asked for */
};

/*
 * Reads cli->capture->input, with accounts for the scopes whose bits are set. With @types, also the layouts of a map's
 * types; it may be NULL. 0 or an exit code.
 */
int ks_cli_facts_open(struct ks_cli *cli, unsigned int scopes,
		      const struct ks_kmap_fields_opts *types, struct ks_cli_facts *facts);
void ks_cli_facts_close(struct ks_cli_facts *facts);

#endif
