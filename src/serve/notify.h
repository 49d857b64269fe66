/* SPDX-License-Identifier: LGPL-2.1-only */
/* What a service tells systemd, over the socket that it names in the environment. */
#ifndef KS_SERVE_NOTIFY_H
#define KS_SERVE_NOTIFY_H

#include "base/types.h"

/* "READY=1", "WATCHDOG=1", ... Nobody listens where there is no socket, and that is fine. */
void ks_notify(const char *state);

/* How often WATCHDOG=1 is expected of this process, in nanoseconds; 0 = never. */
u64 ks_notify_watchdog_ns(void);

#endif
