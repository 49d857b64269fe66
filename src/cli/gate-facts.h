/* SPDX-License-Identifier: GPL-2.0-only */
/* What kmemscope gate judges: a capture, or a snapshot of a heap. */
#ifndef KS_CLI_GATE_FACTS_H
#define KS_CLI_GATE_FACTS_H

#include "analysis/budget.h"
#include "cli/cli.h"

struct ks_snapshot;

struct ks_cli_facts {
	struct ks_gate_facts facts;
	struct ks_model *model;	      /* NULL of a snapshot */
	struct ks_snapshot *snapshot; /* NULL of a capture */
	struct ks_group *groups;      /* of a snapshot: types, then caches */
};

/* Reads cli->capture->input, with accounts for the scopes whose bits are set. 0 or an exit code. */
int ks_cli_facts_open(struct ks_cli *cli, unsigned int scopes, struct ks_cli_facts *facts);
void ks_cli_facts_close(struct ks_cli_facts *facts);

#endif
