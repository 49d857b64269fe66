/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/live: a level above the census is a probe in the kernel, which is asked at every look. */
#ifndef KS_LIVE_PROBE_H
#define KS_LIVE_PROBE_H

#include "live/build.h"
#include "live/live.h"

struct ks_probe;
struct ks_census_level;

struct ks_probe_ops {
	/* Adds the part of what was traced, and its share of the quality. */
	int (*poll)(struct ks_probe *probe, struct ks_live_snapshot *s, struct ks_diag *diag);
	/* Detaches. */
	void (*close)(struct ks_probe *probe);
};

struct ks_probe {
	const struct ks_probe_ops *ops;
};

/*
 * Attaches what the level needs; a level below has none, and *@ret_probe is NULL. @census stays as long as the probe.
 */
int ks_probe_open(const struct ks_live_opts *opts, struct ks_census_level *census,
		  struct ks_probe **ret_probe, struct ks_diag *diag);

/* Those that there are. */
int ks_growth_open(struct ks_census_level *census, struct ks_probe **ret_probe,
		   struct ks_diag *diag);
int ks_sample_open(const struct ks_live_opts *opts, struct ks_census_level *census,
		   struct ks_probe **ret_probe, struct ks_diag *diag);
int ks_exact_open(const struct ks_live_opts *opts, struct ks_census_level *census,
		  struct ks_probe **ret_probe, struct ks_diag *diag);
void ks_probe_close(struct ks_probe *probe); /* accepts NULL */

#endif
