/* SPDX-License-Identifier: LGPL-2.1-only */
/* Whether this process may read the kernel's memory, and if not, why. */
#ifndef KS_HEAP_RIGHTS_H
#define KS_HEAP_RIGHTS_H

#include "base/diag.h"

/* In a kernel that is locked down for confidentiality, nobody may. False where the kernel does not show it. */
bool ks_is_locked_down(void);

/* Whether a capability is effective, a number of <linux/capability.h>. */
bool ks_is_capable(unsigned int capability);

/*
 * Says what forbids it, if it can be told: the lockdown, or the first capability that is missing. CAP_SYS_ADMIN stands
 * in for those that it once included. True: @diag has the message.
 */
bool ks_explain_refusal(const char *what, const unsigned int *needed, size_t count, int err,
			struct ks_diag *diag);

#endif
