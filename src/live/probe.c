// SPDX-License-Identifier: LGPL-2.1-only
/* Chooses the probe of a level. */
#include "live/probe.h"

#include <errno.h>

int ks_probe_open(const struct ks_live_opts *opts, struct ks_census_level *census,
		  struct ks_probe **ret_probe, struct ks_diag *diag)
{
	switch (opts->level) {
	case KS_LIVE_CENSUS:
		*ret_probe = NULL;
		return 0;
	case KS_LIVE_GROWTH:
		return ks_growth_open(census, ret_probe, diag);
	case KS_LIVE_SAMPLED:
		return ks_sample_open(opts, census, ret_probe, diag);
	case KS_LIVE_EXACT:
		return ks_exact_open(opts, census, ret_probe, diag);
	default:
		return ks_diag_set(diag, -EINVAL, "there is no such level");
	}
}

void ks_probe_close(struct ks_probe *probe)
{
	if (probe)
		probe->ops->close(probe);
}
