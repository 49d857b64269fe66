/* SPDX-License-Identifier: GPL-2.0-only */
/* kmemscope heap: what its subcommands share. */
#ifndef KS_CLI_HEAP_H
#define KS_CLI_HEAP_H

#include "cli/cli.h"
#include "cli/heap-source.h"

/* What the options said. */
struct ks_heap_args {
	struct ks_cli cli;
	struct ks_rows_opts rows;
	struct ks_heap_source source;
	unsigned int by;    /* enum ks_heap_by */
	u64 wait_ns;	    /* unreachable: between two snapshots */
	const char *sites;  /* unreachable: a capture that says who allocated them */
	bool each;	    /* unreachable: a row for each object */
	bool contents;	    /* show: the bytes, too */
	const char *output; /* save: the file */
	bool no_graph;	    /* save: no references */

	char **operands;
	int nr_operands;
};

int ks_heap_census(struct ks_heap_args *args);
int ks_heap_diff(struct ks_heap_args *args);
int ks_heap_save(struct ks_heap_args *args);
int ks_heap_types(struct ks_heap_args *args);
int ks_heap_show(struct ks_heap_args *args);
int ks_heap_holders(struct ks_heap_args *args);
int ks_heap_unreachable(struct ks_heap_args *args);

#endif
