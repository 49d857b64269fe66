// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap stream: a live map into a file, or through a spool to a listener. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/kmap-token.h"
#include "cli/kmap.h"
#include "kmap/framing.h"
#include "net/wire.h"

/* === Data ================================================================================= */

static const char default_source[] = "/sys/kernel/debug/memorizer/kmap_stream";
static const char default_spool[] = "kmap-stream.spool";

struct pump {
	struct ks_spool *spool;
	int source_fd;
};

/* === Internals: the sender ================================================================ */

static void *run_pump(void *arg)
{
	struct pump *pump = arg;
	struct ks_kmap_framing map = { 0 };
	struct ks_framing framing = ks_kmap_spool_framing(&map);

	ks_spool_pump(pump->spool, pump->source_fd, &framing);
	return NULL;
}

static void on_wake(int signal)
{
	(void)signal;
}

/* The source may block for ever. A signal may come just before its read: it is sent until it works. */
static void stop_pump(struct ks_spool *spool, pthread_t thread)
{
	struct sigaction action = { .sa_handler = on_wake };
	struct timespec until;

	sigaction(SIGUSR1, &action, NULL);
	__atomic_store_n(&spool->stop, true, __ATOMIC_RELAXED);
	do {
		pthread_kill(thread, SIGUSR1);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	} while (pthread_timedjoin_np(thread, NULL, &until));
}

static void pause_for(unsigned int tenths)
{
	struct timespec time = { tenths / 10, (long)(tenths % 10) * 100000000 };

	nanosleep(&time, NULL);
}

/* What was acknowledged must still be there, and nothing that was never sent. */
static int check_receiver(struct ks_spool *spool, u64 have, struct ks_diag *diag)
{
	u64 len;

	/* The pump may append meanwhile. Nobody else writes "acked". */
	pthread_mutex_lock(&spool->lock);
	len = spool->len;
	pthread_mutex_unlock(&spool->lock);
	if (have >= spool->acked && have <= len)
		return 0;
	return ks_diag_set(diag, KS_EBADINPUT,
			   "the receiver has %llu bytes of this stream, but acknowledged %llu of "
			   "%llu bytes; its file was changed",
			   (unsigned long long)have, (unsigned long long)spool->acked,
			   (unsigned long long)len);
}

static int read_spool(struct ks_spool *spool, char *buf, u32 len, u64 offset, struct ks_diag *diag)
{
	ssize_t n = ks_pread_full(spool->fd, buf, len, offset);

	if (n == (ssize_t)len)
		return 0;
	return ks_diag_set(diag, n < 0 ? (int)n : KS_EBADINPUT, "%s: cannot read: %s", spool->path,
			   n < 0 ? strerror((int)-n) : "the file is truncated");
}

/* One connection. 0: all is delivered; -EAGAIN: connect again; else an error of our own. */
static int deliver(struct ks_spool *spool, int fd, const char *token, char *buf,
		   struct ks_diag *diag)
{
	u64 have, there;
	bool ended = false;
	int err = ks_wire_hello(fd, spool->id, token, &have);

	if (err == -EACCES)
		return ks_diag_set(diag, err, "the listener wants %s token: see --token",
				   token ? "another" : "a");
	if (err)
		return -EAGAIN;
	err = check_receiver(spool, have, diag);
	if (!err)
		err = ks_spool_ack(spool, have, diag);
	while (!err) {
		u32 len;

		there = ks_spool_wait(spool, have, &ended);
		if (!there && ended)
			return 0;
		if (!there)
			continue;
		len = (u32)ks_min(there, (u64)KS_WIRE_FRAME);
		err = read_spool(spool, buf, len, have, diag);
		if (!err && ks_wire_send(fd, have, buf, len, &have))
			return -EAGAIN;
		if (!err)
			err = ks_spool_ack(spool, have, diag);
	}
	return err;
}

/* Tries until all is delivered; of failures in a row, only the first is reported. */
static int deliver_all(struct ks_kmap_args *args, struct ks_spool *spool, const char *address,
		       const char *token, struct ks_diag *diag)
{
	char *buf = malloc(KS_WIRE_FRAME);
	unsigned int wait = 1;
	bool reported = false;
	int err = buf ? -EAGAIN : ks_diag_nomem(diag, "sending");

	while (err == -EAGAIN) {
		struct ks_diag why = { 0 };
		int fd = ks_wire_connect(address, &why);

		if (fd == -EINVAL) {
			*diag = why;
			err = fd;
			break;
		}
		if (fd >= 0) {
			u64 before = spool->acked;

			err = deliver(spool, fd, token, buf, diag);
			close(fd);
			if (err == -EAGAIN && spool->acked > before) {
				wait = 1;
				reported = false;
			}
		}
		if (err != -EAGAIN)
			break;
		if (!reported)
			ks_cli_error(&args->cli, 0, "%s; trying again, nothing is lost",
				     why.err ? why.text : "the connection broke");
		reported = true;
		pause_for(wait);
		wait = ks_min(wait * 2, 50u);
	}
	free(buf);
	return err;
}

static int wait_for_end(struct ks_spool *spool)
{
	bool ended = false;

	while (!ended)
		ks_spool_wait(spool, UINT64_MAX, &ended);
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_stream(struct ks_kmap_args *args)
{
	const char *source = args->nr_operands ? args->operands[0] : default_source;
	const char *address = args->stream.to && !strncmp(args->stream.to, "tcp:", 4)
				      ? args->stream.to + 4
				      : NULL;
	const char *path = address ? (args->stream.spool ? args->stream.spool : default_spool)
				   : args->stream.to;
	struct ks_diag diag = { 0 };
	struct ks_spool spool;
	struct pump pump = { &spool, STDIN_FILENO };
	char token[KS_WIRE_TOKEN_LEN + 1];
	pthread_t thread;
	int err;

	if (!args->stream.to)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--to: give a FILE or tcp:HOST:PORT");
	if (args->stream.token) {
		err = ks_kmap_token_read(args->stream.token, token, &diag);
		if (err)
			return ks_cli_fail(&args->cli, err, &diag);
	}
	if (strcmp(source, "-"))
		pump.source_fd = open(source, O_RDONLY | O_CLOEXEC);
	if (pump.source_fd < 0)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "%s: cannot open: %s", source,
				    strerror(errno));
	err = ks_spool_open(&spool, path, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	if (pthread_create(&thread, NULL, run_pump, &pump)) {
		ks_spool_close(&spool, false);
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "cannot start a thread");
	}
	err = address ? deliver_all(args, &spool, address, args->stream.token ? token : NULL, &diag)
		      : wait_for_end(&spool);
	if (err)
		stop_pump(&spool, thread);
	else
		pthread_join(thread, NULL);
	if (!err) {
		err = spool.err;
		diag = spool.diag;
	}
	if (spool.skipped)
		ks_cli_error(
			&args->cli, 0,
			"the sender before was killed: %llu bytes at the beginning, which may be "
			"of records whose front is lost, are left out",
			(unsigned long long)spool.skipped);
	if (!address && !err)
		unlink(spool.state_path);
	ks_spool_close(&spool, address && !err);
	close(pump.source_fd);
	return err ? ks_cli_fail(&args->cli, err, &diag) : 0;
}
