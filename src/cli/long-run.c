// SPDX-License-Identifier: GPL-2.0-only
/* What commands that run for months do first. */
#include "cli/long-run.h"

#include <features.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* === Public =============================================================================== */

void ks_cli_long_run(void)
{
#ifdef __GLIBC__
	enum { LARGE = 256 * 1024 };

	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, 4 * LARGE);
#endif
}
