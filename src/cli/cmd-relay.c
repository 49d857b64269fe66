// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope relay: takes batches from agents, keeps them on disk, and stores them in the database. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/commands.h"
#include "cli/fleet.h"
#include "cli/signals.h"
#include "fleet/agent.h"
#include "fleet/relay.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope relay --to URL --tokens FILE [OPTION...]\n"
	"\n"
	"Takes what agents send, keeps it on disk, and stores it in a ClickHouse server, many hosts\n"
	"with one request. Adds it up by minute and hour. Ends with a signal.\n"
	"\n"
	"example: kmemscope relay --to http://localhost:8123 --tokens /etc/kmemscope/tokens\n";

static const char state_dir[] = "/var/lib/kmemscope";
static const char default_spool[] = "/var/lib/kmemscope/relay";

enum {
	SHARDS_MAX = 64,
	FILE_MAX = 16 << 20,
	TICK_MS = 500, /* what came is stored this often */
	ROLLUP_MS = 60000,
	ROLLUP_SECS = 7 * 86400, /* rows that come later than this change no sum */
	ROLLUP_LIMIT = 2000,
};

struct relay {
	struct ks_cli cli;
	struct ks_fleet_server server;
	const char *urls[SHARDS_MAX];
	size_t nr_urls;
	const char *bind, *tokens, *spool, *tls_cert, *tls_key, *tls_clients;
	u64 spool_bytes, rate, oldest_ns;
	bool no_rollup;

	struct ks_fleet_config config;
	char *settings; /* what the file of --config has */
	struct ks_queue *queue;
	struct ks_store shards[SHARDS_MAX];
	size_t nr_shards;
	struct ks_store sums; /* a connection of its own, for the sums */
	struct ks_relay *relay;
	struct ks_sender *sender;
	int ended; /* readable from then on */
};

/* === Internals ============================================================================ */

static int parse_to(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct relay *relay = option->value;

	if (relay->nr_urls == SHARDS_MAX)
		return ks_cli_error(cli, KS_EXIT_USAGE, "more than %d shards", (int)SHARDS_MAX);
	relay->urls[relay->nr_urls++] = arg;
	return -1;
}

static void say_trouble(void *ctx, const struct ks_diag *diag)
{
	const struct relay *relay = ctx;

	ks_cli_error(&relay->cli, 0, "%s; it is kept and tried again", diag->text);
}

/* A whole file as text. 0 or an exit code, with a message. */
static int read_text(const struct relay *relay, const char *path, char **ret_text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = errno;
	struct stat st = { 0 };
	char *text = NULL;
	ssize_t got = -1;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size <= FILE_MAX) {
		text = malloc((size_t)st.st_size + 1);
		got = text ? ks_pread_full(fd, text, (size_t)st.st_size, 0) : -ENOMEM;
		err = (int)-got;
	}
	if (fd >= 0)
		close(fd);
	if (got < 0) {
		free(text);
		return ks_cli_error(&relay->cli, KS_EXIT_FAILED, "%s: cannot read: %s", path,
				    st.st_size > FILE_MAX ? "too large" : strerror(err));
	}
	text[got] = '\0';
	*ret_text = text;
	return 0;
}

static int connect_shards(struct relay *relay)
{
	int code = 0;

	for (; !code && relay->nr_shards < relay->nr_urls; relay->nr_shards++) {
		relay->server.http.url = relay->urls[relay->nr_shards];
		code = ks_fleet_connect(&relay->cli, &relay->server,
					&relay->shards[relay->nr_shards]);
		if (code)
			break;
	}
	relay->server.http.url = relay->urls[0];
	relay->server.http.timeout_secs = KS_FLEET_ROLLUP_SECS;
	return code ? code : ks_fleet_connect(&relay->cli, &relay->server, &relay->sums);
}

static int start_server(struct relay *relay)
{
	struct ks_relay_opts opts = { .bind = relay->bind,
				      .rate = relay->rate,
				      .oldest_secs = relay->oldest_ns / 1000000000 };
	struct ks_forward forward = { .queue = relay->queue,
				      .shards = relay->shards,
				      .nr_shards = relay->nr_shards };
	char *tokens = NULL, *cert = NULL, *key = NULL, *clients = NULL;
	struct ks_diag diag = { 0 };
	int code, err = 0;

	code = relay->tokens ? read_text(relay, relay->tokens, &tokens) : 0;
	if (!code && relay->tls_clients)
		code = read_text(relay, relay->tls_clients, &clients);
	if (!code && relay->tls_cert)
		code = read_text(relay, relay->tls_cert, &cert);
	if (!code && relay->tls_key)
		code = read_text(relay, relay->tls_key, &key);
	if (!code) {
		opts.tokens = tokens;
		opts.cert = cert;
		opts.key = key;
		opts.clients = clients;
		err = ks_sender_start(&forward, 0, say_trouble, relay, &relay->sender, &diag);
		if (!err)
			err = ks_relay_start(&opts, relay->queue, &relay->relay, &diag);
	}
	if (tokens)
		explicit_bzero(tokens, strlen(tokens));
	if (key)
		explicit_bzero(key, strlen(key));
	free(tokens);
	free(cert);
	free(key);
	free(clients);
	return err ? ks_cli_fail(&relay->cli, err, &diag) : code;
}

/* In a thread of its own, since it may take minutes. What can't be added up now is added up the next time. */
static void *add_up(void *arg)
{
	struct relay *relay = arg;
	struct pollfd end = { .fd = relay->ended, .events = POLLIN };
	struct ks_rollup_result result;
	struct ks_diag diag, last = { 0 };
	int err;

	while (!poll(&end, 1, ROLLUP_MS)) {
		diag = (struct ks_diag){ 0 };
		err = ks_store_rollup(&relay->sums, (u32)(time(NULL) - ROLLUP_SECS), ROLLUP_LIMIT,
				      &result, &diag);
		if (err && strcmp(diag.text, last.text) && !poll(&end, 1, 0))
			ks_cli_error(&relay->cli, 0, "adding up: %s", diag.text);
		last = diag;
	}
	return NULL;
}

/* Until a signal comes. */
static int serve(struct relay *relay, int signals)
{
	struct pollfd wait = { .fd = signals, .events = POLLIN };
	pthread_t adding;
	int err;

	relay->ended = eventfd(0, EFD_CLOEXEC);
	if (relay->ended < 0)
		return ks_cli_error(&relay->cli, KS_EXIT_FAILED, "eventfd: %s", strerror(errno));
	ks_http_stop_on(relay->sums.http, relay->ended);
	err = relay->no_rollup ? 0 : pthread_create(&adding, NULL, add_up, relay);
	while (!err && !poll(&wait, 1, TICK_MS))
		if (ks_relay_has_news(relay->relay))
			ks_sender_wake(relay->sender);
	if (!err && !relay->no_rollup) {
		eventfd_write(relay->ended, 1);
		pthread_join(adding, NULL);
	}
	close(relay->ended);
	return err ? ks_cli_error(&relay->cli, KS_EXIT_FAILED, "a thread: %s", strerror(err)) : 0;
}

static int run(struct relay *relay)
{
	static const int none[] = { 0 };
	struct ks_diag diag = { 0 };
	sigset_t blocked;
	int code, fd;

	ks_cli_block_signals(none, &blocked); /* before there are threads */
	fd = ks_cli_signal_fd(&blocked, &diag);
	if (fd < 0)
		return ks_cli_fail(&relay->cli, fd, &diag);
	code = start_server(relay);
	if (!code) {
		fprintf(stderr, "%s: port %u\n", relay->cli.command, ks_relay_port(relay->relay));
		code = serve(relay, fd);
	}
	ks_relay_stop(relay->relay);
	ks_sender_stop(relay->sender);
	close(fd);
	return code;
}

static int check(struct relay *relay)
{
	if (!relay->nr_urls || (!relay->tokens && !relay->tls_clients))
		return ks_cli_error(
			&relay->cli, KS_EXIT_USAGE,
			"say where to store it and who may send: --to URL --tokens FILE");
	if (relay->tls_clients && !relay->tls_cert)
		return ks_cli_error(&relay->cli, KS_EXIT_USAGE,
				    "--tls-clients needs --tls-cert and --tls-key");
	if (!relay->tls_cert != !relay->tls_key)
		return ks_cli_error(&relay->cli, KS_EXIT_USAGE,
				    "--tls-cert and --tls-key go together");
	if (relay->nr_urls > 1)
		relay->no_rollup =
			true; /* sums of all shards are made through the cluster's tables */
	return 0;
}

/* === Public =============================================================================== */

int ks_cmd_relay(int argc, char **argv)
{
	struct relay relay = {
		.cli = { .usage = usage, .shared = KS_WITH_COMMON },
		.bind = "127.0.0.1:9400",
		.spool = default_spool,
		.spool_bytes = 10ull << 30,
		.rate = 120,
		.oldest_ns = 30 * 86400000000000ull,
	};
	const struct ks_option own[] = {
		{ 0, "to", "URL", "the ClickHouse server; may be repeated, once for each shard",
		  .parse = parse_to, .value = &relay },
		{ 0, "tokens", "FILE", "who may send: a line with a token and a host, or *",
		  .string = &relay.tokens },
		{ 0, "bind", "ADDRESS:PORT", "listen here; 127.0.0.1:9400 unless given",
		  .string = &relay.bind },
		{ 0, "tls-cert", "FILE", "serve https with this certificate",
		  .string = &relay.tls_cert },
		{ 0, "tls-key", "FILE", "the key of that certificate", .string = &relay.tls_key },
		{ 0, "tls-clients", "FILE",
		  "who signs certificates of hosts, which need no token then",
		  .string = &relay.tls_clients },
		{ 0, "rate", "N", "requests a minute for each token; 120 unless given",
		  .number = &relay.rate, .min = 1, .max = 1000000 },
		{ 0, "oldest", "TIME", "refuse intervals that are older; 720h unless given",
		  .parse = ks_cli_parse_time, .value = &relay.oldest_ns, .min = 3600000000000 },
		{ 0, "spool", "DIR", "where to keep what is not stored yet",
		  .string = &relay.spool },
		{ 0, "spool-size", "BYTES", "its bound: more is not taken; 10G unless given",
		  .parse = ks_cli_parse_size, .value = &relay.spool_bytes, .min = 65536 },
		{ 0, "no-rollup", NULL, "do not add up: fleet rollup does that elsewhere",
		  .flag = &relay.no_rollup },
		{ 0, "config", "FILE", "settings: the options above, as lines NAME = VALUE",
		  .string = &relay.config.path },
		KS_FLEET_ACCESS_OPTIONS(&relay.server, 0),
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &relay.cli.output.strict },
		{ 0 },
	};
	struct ks_diag diag = { 0 };
	int code, err;
	size_t i;

	relay.cli.command = argv[0];
	relay.config.nr = &relay.nr_urls;
	code = ks_fleet_parse(&relay.cli, own, &relay.config, argc, argv, &relay.settings);
	if (code < 0 && optind < argc)
		code = ks_cli_error(&relay.cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    argv[optind]);
	if (code < 0 && check(&relay))
		code = KS_EXIT_USAGE; /* it has said why */
	if (code >= 0) {
		free(relay.settings);
		return code;
	}
	if (relay.spool == default_spool)
		mkdir(state_dir, 0700); /* if it can't be made, the spool's error says why */
	err = ks_queue_open(
		&(struct ks_queue_opts){ .dir = relay.spool, .max_bytes = relay.spool_bytes },
		&relay.queue, &diag);
	code = err ? ks_cli_fail(&relay.cli, err, &diag) : connect_shards(&relay);
	if (!code)
		code = run(&relay);
	for (i = 0; i < relay.nr_shards; i++)
		ks_http_free(relay.shards[i].http);
	ks_fleet_disconnect(&relay.server, &relay.sums);
	ks_queue_close(relay.queue);
	free(relay.settings);
	return code;
}
