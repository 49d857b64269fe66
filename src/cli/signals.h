/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that are waited for, not handled: none can come between a recording and its end. */
#ifndef KS_CLI_SIGNALS_H
#define KS_CLI_SIGNALS_H

#include <signal.h>

#include "base/diag.h"

/*
 * Blocks SIGINT, SIGTERM, SIGQUIT, SIGHUP where nohup does not keep it away, and those of the list, which
 * ends with 0. A reader that left its pipe and a limit of file sizes are errors of write() from then on,
 * and kill nobody.
 */
void ks_cli_block_signals(const int *also, sigset_t *ret_blocked);

/* Takes that back, for a child that becomes another program. */
void ks_cli_unblock_signals(const sigset_t *blocked);

bool ks_cli_hangup_is_ignored(void);

/* A file to read them from, or -errno. */
int ks_cli_signal_fd(const sigset_t *blocked, struct ks_diag *diag);

#endif
