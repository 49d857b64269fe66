/* SPDX-License-Identifier: LGPL-2.1-only */
/* Memory that the kernel keeps because it may: the page cache, inodes, and what allocators need themselves. */
#ifndef KS_ANALYSIS_KEPT_H
#define KS_ANALYSIS_KEPT_H

#include "base/types.h"

/*
 * Whether growth of what this function allocates from this cache is no leak. Either may be "". @reclaimable: the
 * kernel says so of the cache; the list knows exceptions.
 */
bool ks_is_kept(const char *func, const char *cache, bool reclaimable);

#endif
