// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap listen: receives live maps, a process a sender. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/kmap-token.h"
#include "cli/kmap.h"

/* === Data ================================================================================= */

static const char default_bind[] = "127.0.0.1:9999";

/* A greeting is some 70 bytes, a frame at most a MiB. */
static const struct ks_wire_patience patience = { .hello_ns = 10000000000ull,
						  .frame_ns = 60000000000ull };

struct listener {
	const struct ks_kmap_args *args;
	int fd, dir_fd;
	const char *token; /* NULL = whoever connects is served */
	u64 peers;
	bool full_told, error_told; /* once in a row */
};

/* === Internals ============================================================================ */

/* A process a sender: one that hangs or dies hurts nobody else. */
static void serve(const struct listener *listener, int fd)
{
	struct ks_diag diag = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (ks_wire_serve(fd, listener->dir_fd, listener->token, &patience, &diag))
		ks_cli_error(&listener->args->cli, 0, "%s", diag.text);
	_exit(0);
}

static void reap(struct listener *listener)
{
	while (listener->peers && waitpid(-1, NULL, WNOHANG) > 0)
		listener->peers--;
}

/* No error ends the listener: descriptors, memory and networks come back. */
static void on_error(struct listener *listener, int err)
{
	struct timespec pause = { .tv_nsec = 100000000 };

	if (err == EINTR || err == ECONNABORTED)
		return;
	if (!listener->error_told)
		ks_cli_error(&listener->args->cli, 0, "cannot accept: %s; trying again",
			     strerror(err));
	listener->error_told = true;
	nanosleep(&pause, NULL);
}

static bool has_room(struct listener *listener)
{
	if (listener->peers < listener->args->listen.max_peers) {
		listener->full_told = false;
		return true;
	}
	if (!listener->full_told)
		ks_cli_error(&listener->args->cli, 0,
			     "%llu senders are connected: others are turned away (--max-peers)",
			     (unsigned long long)listener->peers);
	listener->full_told = true;
	return false;
}

static void take_peer(struct listener *listener, int fd)
{
	pid_t pid;

	if (!has_room(listener))
		return;
	pid = fork();
	if (!pid) {
		close(listener->fd);
		serve(listener, fd);
	}
	if (pid < 0)
		ks_cli_error(&listener->args->cli, 0, "cannot serve a sender: %s", strerror(errno));
	else
		listener->peers++;
}

static _Noreturn void accept_all(struct listener *listener)
{
	for (;;) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
		int err = fd < 0 ? errno : 0; /* before waitpid() has an error of its own */

		reap(listener);
		if (err) {
			on_error(listener, err);
			continue;
		}
		listener->error_told = false;
		take_peer(listener, fd);
		close(fd);
	}
}

/* Beyond this machine, whoever can reach the port could write maps here. */
static int check_bound(const struct ks_kmap_args *args, const struct ks_wire_bound *bound)
{
	if (bound->loopback)
		return 0;
	if (!args->listen.token)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "other machines can reach this address: give a --token FILE, "
				    "which senders need, too; it is made where there is none");
	fprintf(stderr,
		"%s: warning: other machines can reach this address. Senders need the token, but "
		"nothing is encrypted: use a tunnel where the network is not yours.\n",
		args->cli.command);
	return 0;
}

static int listen_on(const struct ks_kmap_args *args, int dir_fd, const char *token)
{
	struct listener listener = { .args = args, .dir_fd = dir_fd, .token = token };
	struct ks_diag diag = { 0 };
	struct ks_wire_bound bound;
	int code;

	listener.fd =
		ks_wire_listen(args->listen.bind ? args->listen.bind : default_bind, &bound, &diag);
	if (listener.fd < 0)
		return ks_cli_fail(&args->cli, listener.fd, &diag);
	code = check_bound(args, &bound);
	if (code) {
		close(listener.fd);
		return code;
	}
	fprintf(stderr, "%s: port %u\n", args->cli.command, bound.port);
	accept_all(&listener);
}

/* === Public =============================================================================== */

int ks_kmap_listen(struct ks_kmap_args *args)
{
	char token[KS_WIRE_TOKEN_LEN + 1];
	struct ks_diag diag = { 0 };
	bool made = false;
	int dir_fd, code, err = 0;

	if (!args->listen.output)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "name the directory for received maps with -o");
	if (args->listen.token)
		err = ks_kmap_token_make(args->listen.token, token, &made, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	if (made)
		fprintf(stderr, "%s: made the token %s; senders need a copy of it\n",
			args->cli.command, args->listen.token);
	dir_fd = open(args->listen.output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "%s: cannot open: %s",
				    args->listen.output, strerror(errno));
	code = listen_on(args, dir_fd, args->listen.token ? token : NULL);
	close(dir_fd);
	return code;
}
