// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope serve: metrics, profiles and a page of the running kernel's memory, for as long as it runs. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "base/io.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/long-run.h"
#include "cli/signals.h"
#include "live/worker.h"
#include "serve/notify.h"
#include "serve/server.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope serve [OPTION...]\n"
	"\n"
	"Serves what is in the kernel's memory over HTTP until it is stopped: metrics for Prometheus at\n"
	"/metrics, profiles for pprof at /debug/pprof/heap and /debug/pprof/allocs, and a page at /.\n"
	"Listens on this machine alone unless it is told otherwise. Needs root.\n";

static const char epilogue[] = "\n"
			       "example: kmemscope serve --level growth --listen 127.0.0.1:9155\n";

enum { OTLP_NONE, OTLP_V1DEVELOPMENT, OTLPS };

enum { TOKEN_MIN = 16, TOKEN_MAX = 256 };

struct serve {
	struct ks_cli cli;
	const struct ks_option *own; /* its options */
	struct ks_live_opts opts;
	struct ks_server_opts server;
	const char *config, *token_file, *cache;
	unsigned int otlp;
	u64 interval_ns, duration_ns; /* of the run: 0 = no end */
	char token[TOKEN_MAX + 1];
};

/* === Internals: options =================================================================== */

static const char *otlp_name(unsigned int otlp)
{
	return otlp == OTLP_NONE ? "none" : "v1development";
}

/* The settings of the file are the options of the command. */
static int take_setting(void *ctx, const char *name, const char *value, struct ks_diag *diag)
{
	struct serve *serve = ctx;
	int code = ks_cli_set(&serve->cli, serve->own, name, value);

	if (code < 0)
		return 0;
	return ks_diag_set(diag, KS_EBADINPUT, "'%s = %s' can't be set", name, value);
}

/* The token is in a file, since a command line can be seen by everybody. */
static int read_token(struct serve *serve, struct ks_diag *diag)
{
	const char *path = serve->token_file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t len;

	if (fd < 0 || fstat(fd, &st)) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return ks_diag_set(diag, err, "%s: %s", path, strerror(-err));
	}
	len = ks_pread_full(fd, serve->token, TOKEN_MAX, 0);
	close(fd);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return ks_diag_set(diag, -EPERM, "%s: others may read the token; chmod 600", path);
	if (len < 0)
		return ks_diag_set(diag, (int)len, "%s: %s", path, strerror((int)-len));
	serve->token[len] = '\0';
	serve->token[strcspn(serve->token, "\r\n")] = '\0';
	if (strlen(serve->token) < TOKEN_MIN)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: a token has %d characters or more",
				   path, TOKEN_MIN);
	serve->server.token = serve->token;
	return 0;
}

/* === Internals: running =================================================================== */

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/*
 * Until a signal comes. systemd hears that all is well only while the thread gets its looks done: a program that hangs
 * is started anew.
 */
static void run(const struct serve *s, struct ks_server *server, struct ks_live_worker *worker,
		int signals)
{
	u64 every = ks_notify_watchdog_ns() / 3, start = now_ns(), said = 0, looks = 0;
	int pause = s->duration_ns && s->duration_ns < 1000000000 ? (int)(s->duration_ns / 1000000)
								  : 1000;
	struct pollfd fd = { .fd = signals, .events = POLLIN };

	ks_notify("READY=1\nSTATUS=serving");
	while (poll(&fd, 1, pause) == 0 || (fd.revents == 0 && errno == EINTR)) {
		u64 now = now_ns(), done = ks_live_worker_looks(worker);

		if (s->duration_ns && now - start >= s->duration_ns)
			break;

		ks_server_tend(server);
		if (every && now - said >= every && done != looks) {
			ks_notify("WATCHDOG=1");
			said = now;
			looks = done;
		}
	}
	ks_notify("STOPPING=1");
}

static int serve(struct serve *s, int signals)
{
	struct ks_live_worker *worker = NULL;
	struct ks_server *server = NULL;
	struct ks_diag diag = { 0 };
	int err = 0;

	if (s->token_file)
		err = read_token(s, &diag);
	if (!err)
		err = ks_live_worker_start(&s->opts, s->interval_ns, &worker, &diag);
	if (!err)
		err = ks_server_start(&s->server, worker, &server, &diag);
	if (!err) {
		fprintf(stderr, "serving at port %u\n", ks_server_port(server));
		run(s, server, worker, signals);
	}
	ks_server_stop(server);
	ks_live_worker_stop(worker);
	explicit_bzero(s->token, sizeof(s->token));
	return err ? ks_cli_fail(&s->cli, err, &diag) : KS_EXIT_OK;
}

/* The command line comes after the file, and wins. */
static int parse(struct serve *s, int argc, char **argv, char **ret_text)
{
	struct ks_diag diag = { 0 };
	int code = ks_cli_parse(&s->cli, s->own, argc, argv), err;

	if (code >= 0 || !s->config)
		return code;
	err = ks_config_read(s->config, take_setting, s, ret_text, &diag);
	if (err)
		return ks_cli_fail(&s->cli, err, &diag);
	optind = 0; /* getopt begins anew */
	return ks_cli_parse(&s->cli, s->own, argc, argv);
}

/* === Public =============================================================================== */

int ks_cmd_serve(int argc, char **argv)
{
	struct serve s = {
		.cli = { .command = argv[0], .usage = usage, .epilogue = epilogue },
		.server = { .address = "127.0.0.1:9155", .top = 50 },
		.interval_ns = 10000000000,
	};
	const struct ks_option own[] = {
		{ 0, "listen", "ADDRESS", "address and port (127.0.0.1:9155)",
		  .string = &s.server.address },
		{ 0, "remote", NULL,
		  "permit an address that others reach; needs --token-file or\n--tls-clients",
		  .flag = &s.server.remote },
		{ 0, "token-file", "FILE", "a file with what clients must say",
		  .string = &s.token_file },
		{ 0, "tls-cert", "FILE", "serve by HTTPS, with this certificate (PEM)",
		  .string = &s.server.tls.certificate },
		{ 0, "tls-key", "FILE", "and its key", .string = &s.server.tls.key },
		{ 0, "tls-clients", "FILE",
		  "answer only clients with a certificate that one of these signed",
		  .string = &s.server.tls.clients },
		{ 0, "level", "LEVEL",
		  "how closely to look: census (default), growth, sampled,\nexact, or 0 to 3",
		  .parse = ks_cli_parse_level, .value = &s.opts.level },
		{ 0, "cache", "NAME", "levels above 1: only allocations from this cache",
		  .string = &s.cache },
		{ 0, "interval", "TIME", "look again after 10s (default), 1m, ...",
		  .parse = ks_cli_parse_time, .value = &s.interval_ns, .min = 100000000 },
		{ 0, "top", "N", "names in metrics, the rest is \"other\" (50)",
		  .number = &s.server.top, .min = 1, .max = 1000 },
		{ 0, "otlp", "VERSION", "OpenTelemetry profiles: none (default) or v1development",
		  .choice = &s.otlp, .choices = OTLPS, .name_of = otlp_name },
		{ 0, "duration", "TIME", "end after 1h, 10, 500ms, ...", .parse = ks_cli_parse_time,
		  .value = &s.duration_ns, .min = 1 },
		{ 0, "config", "FILE", "settings; see kmemscope-serve.conf(5)",
		  .string = &s.config },
		{ 0 },
	};
	static const int none[] = { 0 };
	struct ks_diag diag = { 0 };
	char *text = NULL;
	sigset_t blocked;
	int code, signals;

	s.own = own;
	code = parse(&s, argc, argv, &text);
	if (code < 0 && optind < argc)
		code = ks_cli_error(&s.cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    argv[optind]);
	if (code < 0) {
		s.server.otlp = s.otlp == OTLP_V1DEVELOPMENT;
		s.opts.filter.caches = &s.cache;
		s.opts.filter.nr_caches = s.cache != NULL;
		ks_cli_long_run();
		ks_cli_block_signals(none, &blocked);
		signals = ks_cli_signal_fd(&blocked, &diag);
		code = signals < 0 ? ks_cli_fail(&s.cli, signals, &diag) : serve(&s, signals);
		if (signals >= 0)
			close(signals);
	}
	free(text);
	return code;
}
