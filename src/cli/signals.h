/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that are waited for, not handled: none can come between a recording and its end. */
#ifndef KS_CLI_SIGNALS_H
#define KS_CLI_SIGNALS_H

#include <signal.h>

#include "base/diag.h"

/* Blocks SIGINT, SIGTERM, SIGHUP and those of the list, which ends with 0. */
void ks_cli_block_signals(const int *also, sigset_t *ret_blocked);

/* A file to read them from, or -errno. */
int ks_cli_signal_fd(const sigset_t *blocked, struct ks_diag *diag);

#endif
