// SPDX-License-Identifier: LGPL-2.1-only
/* On whose behalf a helper allocated, for the shapes of a block. */
#include "db/ksdb.h"

#include <errno.h>

/* === Public =============================================================================== */

int ks_db_skip_helpers(const struct ks_frame_filter *filter, struct ks_names *names,
		       struct ks_db_shape *shapes, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++) {
		if (shapes[i].stack == KS_NONE || shapes[i].site == KS_NONE)
			continue;
		shapes[i].site = ks_helper_caller(filter, names, shapes[i].site, shapes[i].stack);
		if (shapes[i].site == KS_NONE)
			return -ENOMEM;
	}
	return 0;
}
