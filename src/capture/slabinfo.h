/* SPDX-License-Identifier: LGPL-2.1-only */
/* What /proc/slabinfo and /sys/kernel/slab say of the kernel's caches. */
#ifndef KS_CAPTURE_SLABINFO_H
#define KS_CAPTURE_SLABINFO_H

#include "trace/slab-census.h"

/* Adds the caches. -EACCES where it is not permitted, -ENOENT where the kernel has no such file. */
int ks_slabinfo_read(const char *path, const char *sysfs, struct ks_slab_census *census);

#endif
