// SPDX-License-Identifier: LGPL-2.1-only
/* Chooses the probe of a level. */
#include "live/probe.h"

#include <errno.h>

int ks_probe_open(const struct ks_live_opts *opts, const struct ks_census_level *census,
		  struct ks_probe **ret_probe, struct ks_diag *diag)
{
	(void)census;
	if (opts->level != KS_LIVE_CENSUS)
		return ks_diag_set(diag, -EOPNOTSUPP, "no probe for level %s",
				   ks_live_level_name(opts->level));
	*ret_probe = NULL;
	return 0;
}

void ks_probe_close(struct ks_probe *probe)
{
	if (probe)
		probe->ops->close(probe);
}
