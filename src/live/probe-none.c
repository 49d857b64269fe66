// SPDX-License-Identifier: LGPL-2.1-only
/* No probes: this program was built for a machine of another byte order, and has no BPF programs. */
#include "live/probe.h"

#include <errno.h>

int ks_probe_open(const struct ks_live_opts *opts, struct ks_census_level *census,
		  struct ks_probe **ret_probe, struct ks_diag *diag)
{
	(void)census;
	if (opts->level != KS_LIVE_CENSUS)
		return ks_diag_set(diag, -EOPNOTSUPP,
				   "this program was built without BPF programs");
	*ret_probe = NULL;
	return 0;
}

void ks_probe_close(struct ks_probe *probe)
{
	(void)probe;
}
