/* SPDX-License-Identifier: GPL-2.0-only */
/* Ring charts and the static footprint that they draw. */
#ifndef KS_CLI_RINGS_H
#define KS_CLI_RINGS_H

#include "cli/cli.h"

/* What a ring chart shows of each directory; the names are trace_analyze's. */
enum ks_ring_attr {
	KS_RING_DEFAULT, /* live allocations with a capture, else the static footprint */
	KS_RING_CURRENT, /* static and live */
	KS_RING_STATIC,
	KS_RING_WASTE,
	KS_RING_CURRENT_DYNAMIC,
	KS_RING_TOTAL_DYNAMIC,
};

struct ks_rings_args {
	const char *file; /* .png or .svg; NULL = none */
	enum ks_ring_attr attr;
	bool show; /* in a window */
};

/* For parse: an enum ks_ring_attr. */
ks_option_fn ks_cli_parse_ring_attr;

/* Draws the chart. Returns the exit code. */
int ks_cli_rings(struct ks_cli *cli, const struct ks_rings_args *args);

/* Measures cli->capture->kernel, and names the objects that cannot be read. 0 or an exit code. */
struct ks_static_model;
int ks_cli_static_model(const struct ks_cli *cli, bool symbols, struct ks_static_model **ret_model);

#endif
