// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope fleet: finds the subcommand and reads the options. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/fleet.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope fleet SUBCOMMAND [OPTION...]\n"
	"\n"
	"Keeps the memory of many kernels in a ClickHouse server, and asks them like one.\n"
	"\n"
	"  fleet setup          makes the tables, and says what N hosts will cost\n"
	"  fleet push FILE...   stores captures, heap snapshots, and batches from an agent's spool\n"
	"  fleet rollup         adds up what came since the last time, by minute and by hour\n"
	"  fleet top            what grows over the fleet, by type, cache, site, stack, label ...\n"
	"  fleet leaks          what grows on the hosts of one build and not on the others\n"
	"  fleet diff A B       two builds: bytes a host, and growth\n"
	"  fleet host NAME      one host, and the mean of its build\n"
	"  fleet types          what the objects are, and since when they are seen\n"
	"  fleet history        hour by hour, by build\n"
	"  fleet quality        which hosts are silent, late or lossy\n"
	"  fleet html QUESTION  the answer as a page: fleet html leaks -o leaks.html\n"
	"  fleet export QUESTION  the answer for other tools: Parquet or pprof\n"
	"\n"
	"example: kmemscope fleet setup --server http://localhost:8123 --hosts 10000\n";

/* The subcommands, as bits: for the options that they have. */
enum {
	SET_UP = 1 << 0,
	PUSH = 1 << 1,
	ROLLUP = 1 << 2,
	TOP = 1 << 3,
	LEAKS = 1 << 4,
	DIFF = 1 << 5,
	HOST = 1 << 6,
	TYPES = 1 << 7,
	HISTORY = 1 << 8,
	QUALITY = 1 << 9,

	HTML = 1 << 10, /* beside a question */
	EXPORT = 1 << 11,

	OF_SERIES = TOP | LEAKS | DIFF | HOST | TYPES | HISTORY,
	QUESTIONS = OF_SERIES | QUALITY,
};

enum { ANY_BUT_NONE = -1 };

#define HOUR_NS 3600000000000ull

static const struct subcommand {
	const char *name;
	int (*run)(struct ks_fleet_args *args);
	int operands;
	const char *usage;
	unsigned int part;
	enum ks_question_kind ask;
} subcommands[] = {
	{ "setup", ks_fleet_set_up, 0, "", SET_UP, 0 },
	{ "push", ks_fleet_push, ANY_BUT_NONE, "FILE...", PUSH, 0 },
	{ "rollup", ks_fleet_rollup, 0, "", ROLLUP, 0 },
	{ "top", ks_fleet_ask, 0, "", TOP, KS_ASK_TOP },
	{ "leaks", ks_fleet_ask, 0, "", LEAKS, KS_ASK_LEAKS },
	{ "diff", ks_fleet_ask, 2, "BUILD BUILD", DIFF, KS_ASK_DIFF },
	{ "host", ks_fleet_ask, 1, "NAME", HOST, KS_ASK_HOST },
	{ "types", ks_fleet_ask, 0, "", TYPES, KS_ASK_TYPES },
	{ "history", ks_fleet_ask, 0, "", HISTORY, KS_ASK_HISTORY },
	{ "quality", ks_fleet_ask, 0, "", QUALITY, KS_ASK_QUALITY },
};

/* === Internals ============================================================================ */

static int parse_by(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	static const char label[] = "label:";
	struct ks_fleet_args *args = option->value;
	unsigned int by;

	if (!strncmp(arg, label, strlen(label)) && arg[strlen(label)]) {
		args->by = KS_FLEET_BY_LABEL;
		args->question.by_label = arg + strlen(label);
		return -1;
	}
	for (by = 0; by < KS_FLEET_BY_LABEL; by++)
		if (!strcmp(arg, ks_fleet_by_name(by))) {
			args->by = by;
			return -1;
		}
	return ks_cli_error(
		cli, KS_EXIT_USAGE,
		"--by '%s': cache, type, site, build, stack, cgroup, host or label:NAME", arg);
}

static int parse_label(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	if (*arg == '=' || !strchr(arg, '='))
		return ks_cli_error(cli, KS_EXIT_USAGE, "--label '%s': give NAME=VALUE", arg);
	*(const char **)option->value = arg;
	return -1;
}

static int run(struct ks_fleet_args *args, const struct ks_option *own,
	       const struct subcommand *subcommand, int argc, char **argv)
{
	struct ks_cli *cli = &args->cli;
	int code;

	cli->command = argv[0];
	cli->part = subcommand->part | (args->report == KS_FLEET_HTML	  ? HTML
					: args->report == KS_FLEET_EXPORT ? EXPORT
									  : 0);
	args->question.kind = subcommand->ask;
	code = ks_cli_parse(cli, own, argc, argv);
	if (code >= 0)
		return code;
	args->operands = argv + optind;
	args->nr_operands = argc - optind;
	if (args->nr_operands == subcommand->operands ||
	    (subcommand->operands == ANY_BUT_NONE && args->nr_operands))
		return subcommand->run(args);
	return ks_cli_error(cli, KS_EXIT_USAGE, "usage: kmemscope fleet %s %s", subcommand->name,
			    subcommand->usage);
}

/* === Public =============================================================================== */

int ks_cmd_fleet(int argc, char **argv)
{
	struct ks_fleet_args args = {
		.cli = { .usage = usage,
			 .shared = KS_WITH_TOP | KS_WITH_JSON | KS_WITH_CSV | KS_WITH_COMMON |
				   KS_WITH_BYTES,
			 .rows = &args.rows },
		.since_ns = 24 * HOUR_NS,
		.by = KS_FLEET_BY_TYPE,
		.least = 8192,
		.sigmas = 6,
		.hosts = 1000,
	};
	const struct ks_option own[] = {
		{ 0, "server", "URL", "the ClickHouse server; else $KMEMSCOPE_FLEET",
		  .string = &args.server.http.url },
		KS_FLEET_ACCESS_OPTIONS(&args.server, 0),
		{ 0, "from", "DIR", "questions: ask a directory that agents wrote, not a server",
		  .string = &args.from, .parts = QUESTIONS },
		{ 0, "hosts", "N", "setup: estimate the cost for this many hosts",
		  .number = &args.hosts, .min = 1, .max = 10000000, .parts = SET_UP },
		{ 0, "keep", "DAYS", "setup: remove rows after this time; rollup: leave older ones",
		  .number = &args.keep_days, .min = 1, .max = 36500, .parts = SET_UP | ROLLUP },
		{ 0, "cluster", "NAME",
		  "setup: on all servers of this cluster, replicated and in shards",
		  .string = &args.cluster, .parts = SET_UP },
		{ 0, "dry-run", NULL, "setup: print the statements and do nothing",
		  .flag = &args.dry_run, .parts = SET_UP },
		{ 0, "every", "TIME", "rollup: again and again, with this much time between",
		  .parse = ks_cli_parse_time, .value = &args.every_ns, .min = 1000000000,
		  .parts = ROLLUP },
		{ 0, "since", "TIME", "this much time up to the last hour: 24h (default), 168h",
		  .parse = ks_cli_parse_time, .value = &args.since_ns, .min = HOUR_NS,
		  .parts = QUESTIONS },
		{ 0, "by", "WHAT",
		  "top: a row for each cache, type, site, build, stack, cgroup,\nhost, or value of a label: label:NAME",
		  .parse = parse_by, .value = &args, .parts = TOP },
		{ 0, "label", "NAME=VALUE", "of hosts whose label has this value only",
		  .parse = parse_label, .value = &args.question.label,
		  .parts = QUESTIONS & ~(unsigned int)HOST },
		{ 0, "hosts-alone", NULL,
		  "leaks: what grows on one host and not on others of its build",
		  .flag = &args.by_host, .parts = LEAKS },
		{ 0, "build", "NAME", "of this kernel build only; push: that a capture is of",
		  .string = &args.question.build,
		  .parts = (QUESTIONS & ~(unsigned int)DIFF) | PUSH },
		{ 0, "host", "NAME", "push: the host that a capture is of",
		  .string = &args.question.host, .parts = PUSH },
		{ 0, "at", "SECONDS", "push: when a capture began, since 1970, if it does not say",
		  .number = &args.at, .min = 1, .max = UINT32_MAX, .parts = PUSH },
		{ 0, "cache", "NAME", "of this cache only", .string = &args.question.cache,
		  .parts = OF_SERIES },
		{ 0, "type", "NAME", "of this type only", .string = &args.question.type,
		  .parts = OF_SERIES },
		{ 0, "site", "NAME", "of this call site only", .string = &args.question.site,
		  .parts = OF_SERIES },
		{ 0, "least", "BYTES",
		  "leaks: growth an hour and a host that matters; 8k unless given",
		  .parse = ks_cli_parse_size, .value = &args.least, .parts = LEAKS },
		{ 0, "sigmas", "N", "leaks: how far above the others to be named; 6 unless given",
		  .number = &args.sigmas, .min = 1, .max = 1000, .parts = LEAKS },
		{ 'o', "output", "FILE", "html, export: the file to write; - is standard output",
		  .string = &args.output, .parts = HTML | EXPORT },
		{ 0, "format", "NAME", "export: parquet (default) or pprof, of top --by stack",
		  .choice = &args.format, .choices = KS_FLEET_FORMATS,
		  .name_of = ks_fleet_format_name, .parts = EXPORT },
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &args.cli.output.strict },
		{ 0 },
	};
	char name[64];
	const char *how = "";
	size_t i;

	if (argc > 2 && (!strcmp(argv[1], "html") || !strcmp(argv[1], "export")) &&
	    argv[2][0] != '-') {
		how = argv[1][0] == 'h' ? "html " : "export ";
		args.report = argv[1][0] == 'h' ? KS_FLEET_HTML : KS_FLEET_EXPORT;
		argc--;
		argv++;
	}
	for (i = 0; argc > 1 && i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(argv[1], subcommands[i].name) ||
		    (args.report && !(subcommands[i].part & QUESTIONS)))
			continue;
		snprintf(name, sizeof(name), "kmemscope fleet %s%s", how, subcommands[i].name);
		argv[1] = name;
		return run(&args, own, &subcommands[i], argc - 1, argv + 1);
	}
	args.cli.command = argv[0];
	if (argc > 1 && argv[1][0] == '-') {
		int code = ks_cli_parse(&args.cli, own, argc, argv);

		if (code >= 0)
			return code;
	}
	if (argc > 1 && argv[1][0] != '-') {
		struct ks_nearest nearest = ks_nearest_to(argv[1]);

		for (i = 0; i < ARRAY_SIZE(subcommands); i++)
			ks_nearest_offer(&nearest, subcommands[i].name);
		return ks_cli_unknown_subcommand(&args.cli, "fleet", &nearest);
	}
	return ks_cli_error(&args.cli, KS_EXIT_USAGE,
			    "say what to do; see 'kmemscope fleet --help'");
}
