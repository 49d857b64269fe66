// SPDX-License-Identifier: GPL-2.0-only
/* Signals that are waited for, not handled: none can come between a recording and its end. */
#include "cli/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>

/* === Public =============================================================================== */

bool ks_cli_hangup_is_ignored(void)
{
	struct sigaction action;

	return !sigaction(SIGHUP, NULL, &action) && action.sa_handler == SIG_IGN;
}

void ks_cli_block_signals(const int *also, sigset_t *ret_blocked)
{
	sigemptyset(ret_blocked);
	sigaddset(ret_blocked, SIGINT);
	sigaddset(ret_blocked, SIGTERM);
	sigaddset(ret_blocked, SIGQUIT);
	/* A blocked signal waits for us even where it is ignored: this one must not be asked for. */
	if (!ks_cli_hangup_is_ignored())
		sigaddset(ret_blocked, SIGHUP);
	for (; *also; also++)
		sigaddset(ret_blocked, *also);
	sigprocmask(SIG_BLOCK, ret_blocked, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void ks_cli_unblock_signals(const sigset_t *blocked)
{
	sigprocmask(SIG_UNBLOCK, blocked, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
}

int ks_cli_signal_fd(const sigset_t *blocked, struct ks_diag *diag)
{
	int fd = signalfd(-1, blocked, SFD_CLOEXEC | SFD_NONBLOCK);

	if (fd >= 0)
		return fd;
	return ks_diag_set(diag, -errno, "cannot wait for signals: %s", strerror(errno));
}
