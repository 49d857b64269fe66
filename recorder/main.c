// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope-record: the command record as a program of its own, for machines that have room for little else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/record-census.h"

/* === Public =============================================================================== */

/* Those of messages and of reports: it has none. */
size_t ks_cli_shared_options(struct ks_cli *cli, struct ks_option *ret_rows)
{
	(void)cli;
	(void)ret_rows;
	return 0;
}

/* It does not read the kernel's memory; /proc/slabinfo counts by cache. */
int ks_record_census_take(void *ctx, bool objects, struct ks_slab_census *census)
{
	struct ks_record_census *state = ctx;

	(void)objects;
	(void)census;
	state->refused = true;
	return ks_diag_set(&state->why, -EOPNOTSUPP, "this program reads no kernel memory");
}

void ks_record_census_deinit(struct ks_record_census *state)
{
	(void)state;
}

int main(int argc, char **argv)
{
	static char name[] = KS_RECORD_NAME;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts(KS_RECORD_NAME " " KS_VERSION);
		return 0;
	}
	argv[0] = name;
	return ks_cmd_record(argc, argv);
}
