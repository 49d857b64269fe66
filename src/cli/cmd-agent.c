// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope agent: what is live in this kernel, once an interval, to a database or a relay. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/fleet.h"
#include "cli/long-run.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "fleet/agent.h"
#include "fleet/files.h"
#include "live/live.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope agent --to URL [OPTION...]\n"
	"\n"
	"Counts what is live in the memory of this kernel once an interval, and sends it to a\n"
	"ClickHouse server or a relay, or keeps it in a directory. What can't be sent waits in a spool. Needs root.\n"
	"\n"
	"example: kmemscope agent --to http://clickhouse:8123 --label role=web\n";

enum {
	LABELS_MAX = 32,
	BUDGET = 10, /* what exact counts may use, in 1/10000 of a CPU */
};

static const char state_dir[] = "/var/lib/kmemscope";
static const char default_spool[] = "/var/lib/kmemscope/agent";

struct agent {
	struct ks_cli cli;
	struct ks_fleet_server server;
	const char *token_file;
	const char *spool, *host;
	u64 interval_ns, spool_bytes;
	const char *labels[LABELS_MAX + 1]; /* the first is the machine's own */
	size_t nr_labels;
	bool types, once, drain;
	enum ks_live_level level;
	char *token;
	struct ks_fleet_config config;
	char *settings; /* what the file of --config has */

	struct ks_queue *queue;
	struct ks_store store;
	struct ks_forward forward;
	struct ks_files *files;
};

/* === Internals ============================================================================ */

static int parse_label(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct agent *agent = option->value;

	if (!strchr(arg, '=') || *arg == '=')
		return ks_cli_error(cli, KS_EXIT_USAGE, "'%s' is no label: NAME=VALUE", arg);
	if (agent->nr_labels > LABELS_MAX)
		return ks_cli_error(cli, KS_EXIT_USAGE, "more than %d labels", (int)LABELS_MAX);
	agent->labels[agent->nr_labels++] = arg;
	return -1;
}

static void say_trouble(void *ctx, const struct ks_diag *diag)
{
	const struct agent *agent = ctx;

	ks_cli_error(&agent->cli, 0, "%s; it is kept and tried again", diag->text);
}

/* A relay is an address of its own kind; the token goes with each request. */
static int connect_out(struct agent *agent)
{
	static const char relay[] = "relay+", dir[] = "file:";
	struct ks_diag diag = { 0 };
	bool to_relay;
	int code, err;

	if (!agent->server.http.url)
		return ks_cli_error(
			&agent->cli, KS_EXIT_USAGE,
			"name the receiver: --to http://HOST:8123, relay+http://HOST:9400, or file:DIR");
	if (!strncmp(agent->server.http.url, dir, strlen(dir))) {
		err = ks_files_open(agent->server.http.url + strlen(dir), true, &agent->files,
				    &diag);
		agent->forward =
			(struct ks_forward){ .queue = agent->queue, .files = agent->files };
		return err ? ks_cli_fail(&agent->cli, err, &diag) : 0;
	}
	to_relay = !strncmp(agent->server.http.url, relay, strlen(relay));
	if (to_relay)
		agent->server.http.url += strlen(relay);
	if (agent->token_file) {
		struct ks_fleet_server file = { .password_file = agent->token_file };

		code = ks_fleet_read_secret(&agent->cli, &file);
		if (code)
			return code;
		agent->token = file.password;
		agent->server.http.token = agent->token;
	}
	code = ks_fleet_connect(&agent->cli, &agent->server, &agent->store);
	if (code)
		return code;
	agent->forward = (struct ks_forward){ .queue = agent->queue };
	if (to_relay) {
		agent->forward.relay = agent->store.http;
	} else {
		agent->forward.shards = &agent->store;
		agent->forward.nr_shards = 1;
	}
	return 0;
}

static void read_boot(char boot[64])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file || !fgets(boot, 64, file))
		boot[0] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* What is not sent in a minute waits for the next start. */
static int send_all(struct agent *agent, struct ks_queue_state *state, struct ks_diag *diag)
{
	u64 sent;
	int err;

	do
		err = ks_forward_some(&agent->forward, &sent, diag);
	while (!err && sent);
	ks_queue_state(agent->queue, state);
	return err;
}

static int report(const struct agent *agent, const struct ks_queue_state *state)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-agent-1");

	if (!doc)
		return ks_cli_error(&agent->cli, KS_EXIT_FAILED, "out of memory");
	ks_doc_note(doc, "spooled", state->messages, "intervals are in the spool", true);
	ks_doc_note(doc, "dropped", state->dropped, "intervals were dropped: the spool was full",
		    false);
	ks_doc_note(doc, "refused", state->set_aside, "intervals were refused and set aside",
		    false);
	return ks_cli_print_doc(&agent->cli, doc);
}

/* Looks at the beginning of each interval, until a signal comes. Intervals that went by meanwhile are counted. */
static int run_on(struct agent *agent, struct ks_agent *looks, int signals)
{
	struct pollfd wait = { .fd = signals, .events = POLLIN };
	struct ks_diag diag = { 0 };
	struct ks_sender *sender;
	u64 interval = agent->interval_ns, last = 0, at;
	u32 delay = (u32)(ks_fleet_id(KS_FLEET_HOST, agent->host, strlen(agent->host)) %
			  (interval / 2000000 + 1));
	int err = ks_sender_start(&agent->forward, delay, say_trouble, agent, &sender, &diag);

	if (err)
		return ks_cli_fail(&agent->cli, err, &diag);
	for (;;) {
		at = ks_clock_ns(CLOCK_BOOTTIME);
		if (last)
			ks_agent_skip(looks, ks_agent_missed(last, at, interval));
		last = at;
		err = ks_agent_sample(looks, &diag);
		if (err) {
			ks_cli_fail(&agent->cli, err, &diag);
			ks_agent_skip(looks, 1);
		}
		ks_sender_wake(sender);
		at = ks_clock_ns(CLOCK_REALTIME);
		if (poll(&wait, 1, (int)((interval - at % interval) / 1000000 + 1)))
			break;
	}
	ks_sender_stop(sender);
	return KS_EXIT_OK;
}

static int look(struct agent *agent, const struct ks_agent_opts *opts, struct ks_live *live)
{
	static const int none[] = { 0 };
	struct ks_queue_state state;
	struct ks_diag diag = { 0 };
	struct ks_agent *looks;
	sigset_t blocked;
	int err = ks_agent_new(opts, agent->queue, live, &looks, &diag), code, fd;

	if (err)
		return ks_cli_fail(&agent->cli, err, &diag);
	if (agent->once) {
		err = ks_agent_sample(looks, &diag);
		if (!err)
			err = send_all(agent, &state, &diag);
		code = err ? ks_cli_fail(&agent->cli, err, &diag) : report(agent, &state);
	} else {
		ks_cli_block_signals(none, &blocked);
		fd = ks_cli_signal_fd(&blocked, &diag);
		code = fd < 0 ? ks_cli_fail(&agent->cli, fd, &diag) : run_on(agent, looks, fd);
		if (fd >= 0)
			close(fd);
	}
	ks_agent_free(looks);
	return code;
}

static int start(struct agent *agent)
{
	struct ks_live_opts live_opts = { .level = agent->level,
					  .types_ns = agent->types ? 0 : KS_LIVE_NEVER,
					  .budget = BUDGET,
					  .census_first = true };
	struct ks_agent_opts opts = { .types = agent->types,
				      .span = (u32)(agent->interval_ns / 1000000000),
				      .labels = agent->labels,
				      .nr_labels = agent->nr_labels };
	char boot[64], build[256], machine[80];
	struct ks_diag diag = { 0 };
	struct ks_live *live;
	struct utsname name;
	int err, code;

	uname(&name);
	read_boot(boot);
	snprintf(build, sizeof(build), "%s %s", name.release, name.version);
	snprintf(machine, sizeof(machine), "machine=%s", name.machine);
	agent->labels[0] = machine;
	if (!agent->host)
		agent->host = name.nodename;
	opts.host = agent->host;
	opts.boot = boot;
	opts.build = build;
	ks_cli_long_run();
	err = ks_live_open(&live_opts, &live, &diag);
	if (err)
		return ks_cli_fail(&agent->cli, err, &diag);
	code = look(agent, &opts, live);
	ks_live_close(live);
	return code;
}

static int drain(struct agent *agent)
{
	struct ks_queue_state state;
	struct ks_diag diag = { 0 };
	int err = send_all(agent, &state, &diag);

	return err ? ks_cli_fail(&agent->cli, err, &diag) : report(agent, &state);
}

/* === Public =============================================================================== */

int ks_cmd_agent(int argc, char **argv)
{
	struct agent agent = {
		.cli = { .usage = usage, .shared = KS_WITH_JSON | KS_WITH_COMMON },
		.spool = default_spool,
		.interval_ns = 60000000000,
		.spool_bytes = 256 << 20,
		.nr_labels = 1,
	};
	const struct ks_option own[] = {
		{ 0, "to", "URL",
		  "a ClickHouse server, http://HOST:8123; relay+http://HOST:9400;\n"
		  "or file:DIR, a directory of Parquet files",
		  .string = &agent.server.http.url },
		{ 0, "interval", "TIME", "look at the kernel this often; 60s unless given",
		  .parse = ks_cli_parse_time, .value = &agent.interval_ns, .min = 1000000000 },
		{ 0, "level", "LEVEL",
		  "how closely to look: census (default), growth, sampled,\nexact, or 0 to 3",
		  .parse = ks_cli_parse_level, .value = &agent.level },
		{ 0, "types", NULL, "rows by type and cache, which costs more",
		  .flag = &agent.types },
		{ 0, "host", "NAME", "the name of this host; its own unless given",
		  .string = &agent.host },
		{ 0, "label", "NAME=VALUE", "what is to be known of this host; may be repeated",
		  .parse = parse_label, .value = &agent },
		{ 0, "spool", "DIR", "where to keep what is not sent yet", .string = &agent.spool },
		{ 0, "spool-size", "BYTES", "its bound: the oldest are dropped; 256M unless given",
		  .parse = ks_cli_parse_size, .value = &agent.spool_bytes, .min = 65536 },
		{ 0, "once", NULL, "look once, send what there is, and end", .flag = &agent.once },
		{ 0, "drain", NULL, "send what is in the spool, and end", .flag = &agent.drain },
		{ 0, "token-file", "FILE", "a file with this agent's token, for a relay",
		  .string = &agent.token_file },
		{ 0, "config", "FILE", "settings: the options above, as lines NAME = VALUE",
		  .string = &agent.config.path },
		KS_FLEET_ACCESS_OPTIONS(&agent.server, 0),
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &agent.cli.output.strict },
		{ 0 },
	};
	struct ks_diag diag = { 0 };
	int code, err;

	agent.cli.command = argv[0];
	agent.config.nr = &agent.nr_labels;
	agent.config.least = agent.nr_labels;
	code = ks_fleet_parse(&agent.cli, own, &agent.config, argc, argv, &agent.settings);
	if (code < 0 && optind < argc)
		code = ks_cli_error(&agent.cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    argv[optind]);
	if (code < 0 && (agent.interval_ns % 1000000000 || agent.interval_ns > 86400000000000))
		code = ks_cli_error(&agent.cli, KS_EXIT_USAGE,
				    "an interval is a number of seconds, a day at most");
	if (code >= 0) {
		free(agent.settings);
		return code;
	}
	if (agent.spool == default_spool)
		mkdir(state_dir, 0700); /* if it can't be made, the spool's error says why */
	err = ks_queue_open(&(struct ks_queue_opts){ .dir = agent.spool,
						     .max_bytes = agent.spool_bytes,
						     .drop_oldest = true },
			    &agent.queue, &diag);
	code = err ? ks_cli_fail(&agent.cli, err, &diag) : connect_out(&agent);
	if (!code)
		code = agent.drain ? drain(&agent) : start(&agent);
	ks_fleet_disconnect(&agent.server, &agent.store);
	ks_files_close(agent.files);
	free(agent.token);
	free(agent.settings);
	ks_queue_close(agent.queue);
	return code;
}
