/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel that this program runs on, for captures that turn out to be of it. */
#ifndef KS_CLI_THIS_KERNEL_H
#define KS_CLI_THIS_KERNEL_H

#include <sys/utsname.h>

#include "trace/source.h"

struct ks_this_kernel {
	struct ks_known_kernel known;
	struct utsname uts;
};

/* The symbols are read only when a reader asks for them. */
void ks_this_kernel_init(struct ks_this_kernel *kernel);

#endif
