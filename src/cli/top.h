/* SPDX-License-Identifier: GPL-2.0-only */
/* kmemscope top: what its files share. */
#ifndef KS_CLI_TOP_H
#define KS_CLI_TOP_H

#include <signal.h>

#include "cli/cli.h"
#include "live/live.h"

/* What the options said. */
struct ks_top_args {
	struct ks_cli cli;
	struct ks_rows_opts rows;
	struct ks_live_opts opts;
	unsigned int by; /* enum ks_live_by */
	const char *cache, *site;
	u64 interval_ns, count;
	bool once;
};

/* One look as a document, with the sums of memory above the rows. NULL: no memory. */
struct ks_doc *ks_top_doc(const struct ks_live_snapshot *snapshot, enum ks_live_by by,
			  const struct ks_live_within *within, u64 top);

/* The screen, until it is left. @signals is where those that are blocked come in. Returns the exit code. */
int ks_top_run(struct ks_top_args *args, int signals, const sigset_t *blocked);

#endif
