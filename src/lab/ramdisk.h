/* SPDX-License-Identifier: LGPL-2.1-only */
/* The RAM disk that a guest starts from: an archive in memory, with no name in any file system. */
#ifndef KS_LAB_RAMDISK_H
#define KS_LAB_RAMDISK_H

#include "base/diag.h"
#include "base/strbuf.h"

/* Has the program @init as /init, and @orders as LAB_ORDERS. The descriptor stays open over exec. */
int ks_lab_ramdisk(const char *init, const struct ks_strbuf *orders, const char *root, int *ret_fd,
		   struct ks_diag *diag);

#endif
