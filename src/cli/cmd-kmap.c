// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap: finds the subcommand, reads the options, opens maps. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/kmap.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope kmap SUBCOMMAND [OPTION...] FILE\n"
	"\n"
	"Access maps: which code read and wrote which objects, and how often.\n"
	"\n"
	"  kmap record [-- COMMAND...]  records a map of the running kernel with the module memorizer\n"
	"  kmap report FILE             objects by site, cache or type; the hottest objects\n"
	"  kmap accesses SITE FILE      which code reads and writes the objects of a site\n"
	"  kmap touches CODE FILE       whose objects a function reads and writes\n"
	"  kmap fields [TYPE] FILE      what was done to each field of the objects of a type\n"
	"  kmap matrix FILE             which code touches whose objects, as table or heat map\n"
	"  kmap calls FILE              which code calls which, as table or heat map\n"
	"  kmap lives FILE              how long objects live and how large they are: percentiles\n"
	"  kmap sharing FILE            which processes and processors use what others allocated\n"
	"  kmap privilege FILE          least-privilege measures\n"
	"  kmap compartments FILE       divides the code, and writes or scores the division\n"
	"  kmap score FILE              what a compartmentalization (CPM-IF) grants\n"
	"  kmap diff OLD NEW            what appeared, vanished or changed\n"
	"  kmap convert --to FORM FILE  writes the map in another form\n"
	"  kmap stream --to WHERE [FILE]   sends a live map to a file or a listener\n"
	"  kmap listen -o DIR           receives live maps\n";

static const char examples[] = "examples:\n"
			       "  kmemscope kmap record -o ls.kmap -- ls -l /\n"
			       "  kmemscope kmap report -k vmlinux --by file ls.kmap\n"
			       "  kmemscope kmap accesses alloc_inode ls.kmap\n"
			       "  kmemscope kmap calls -k build --by dir ls.kmap\n"
			       "  kmemscope kmap fields -k build --types types file ls.kmap\n"
			       "  kmemscope kmap sharing --by function -k vmlinux ls.kmap\n"
			       "  kmemscope kmap privilege --model uscope -k vmlinux ls.kmap\n"
			       "  kmemscope kmap compartments --number 20 -o cut.yaml ls.kmap\n";

/* Numbers of operands that are none. */
enum { ONE_OR_NONE = -1, A_COMMAND = -2, ONE_OR_TWO = -3 };

/* The subcommands, as bits: for the options that they have. */
enum {
	REPORT = 1 << 0,
	ACCESSES = 1 << 1,
	TOUCHES = 1 << 2,
	MATRIX = 1 << 3,
	PRIVILEGE = 1 << 4,
	DIFF = 1 << 5,
	CONVERT = 1 << 6,
	STREAM = 1 << 7,
	LISTEN = 1 << 8,
	RECORD = 1 << 9,
	COMPARTMENTS = 1 << 10,
	SCORE = 1 << 11,
	FIELDS = 1 << 12,
	LIVES = 1 << 13,
	SHARING = 1 << 14,
	CALLS = 1 << 15,

	BY_UNIT = REPORT | ACCESSES | TOUCHES | MATRIX | CALLS | LIVES | SHARING | DIFF |
		  COMPARTMENTS,
	WITH_CUT = REPORT | ACCESSES | TOUCHES | MATRIX | CALLS | LIVES | SHARING | PRIVILEGE |
		   COMPARTMENTS,
	ONE_MAP = WITH_CUT | CONVERT | FIELDS,
	ANY_MAP = ONE_MAP | DIFF,
};

static const struct subcommand {
	const char *name;
	int (*run)(struct ks_kmap_args *args);
	int operands; /* or one of the numbers above */
	const char *usage;
	unsigned int part;
} subcommands[] = {
	{ "report", ks_kmap_report, 1, "FILE", REPORT },
	{ "accesses", ks_kmap_accesses, 2, "SITE FILE", ACCESSES },
	{ "touches", ks_kmap_touches, 2, "CODE FILE", TOUCHES },
	{ "fields", ks_kmap_fields_command, ONE_OR_TWO, "[TYPE] FILE", FIELDS },
	{ "matrix", ks_kmap_matrix, 1, "FILE", MATRIX },
	{ "calls", ks_kmap_calls_command, 1, "FILE", CALLS },
	{ "lives", ks_kmap_lives, 1, "FILE", LIVES },
	{ "sharing", ks_kmap_sharing, 1, "FILE", SHARING },
	{ "privilege", ks_kmap_privilege, 1, "FILE", PRIVILEGE },
	{ "compartments", ks_kmap_compartments, 1, "FILE", COMPARTMENTS },
	{ "score", ks_kmap_score, 1, "FILE", SCORE },
	{ "diff", ks_kmap_diff, 2, "OLD NEW", DIFF },
	{ "convert", ks_kmap_convert_command, 1, "--to FORM FILE", CONVERT },
	{ "stream", ks_kmap_stream, ONE_OR_NONE, "--to WHERE [FILE]", STREAM },
	{ "listen", ks_kmap_listen, 0, "-o DIR", LISTEN },
	{ "record", ks_kmap_record, A_COMMAND, "[-- COMMAND...]", RECORD },
};

/* === Internals ============================================================================ */

static bool fits(const struct subcommand *subcommand, int operands)
{
	if (subcommand->operands == A_COMMAND)
		return true;
	if (subcommand->operands == ONE_OR_TWO)
		return operands == 1 || operands == 2;
	return subcommand->operands == ONE_OR_NONE ? operands <= 1
						   : operands == subcommand->operands;
}

/* -o means something else to each subcommand that has it. */
static int take_output(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_kmap_args *args = option->value;

	switch (cli->part) {
	case MATRIX:
	case CALLS:
		args->view.heat_map = arg;
		break;
	case FIELDS:
		args->fields.drawing = arg;
		break;
	case COMPARTMENTS:
		args->privilege.output = arg;
		break;
	case CONVERT:
		args->convert.output = arg;
		break;
	case LISTEN:
		args->listen.output = arg;
		break;
	default:
		args->record.output = arg;
		break;
	}
	return -1;
}

static int take_to(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_kmap_args *args = option->value;

	*(cli->part == CONVERT ? &args->convert.to : &args->stream.to) = arg;
	return -1;
}

static int take_token(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_kmap_args *args = option->value;

	*(cli->part == STREAM ? &args->stream.token : &args->listen.token) = arg;
	return -1;
}

static const char *order_name(unsigned int order)
{
	return ks_kmap_order_name((enum ks_kmap_order)order);
}

static int run(struct ks_kmap_args *args, const struct ks_option *own,
	       const struct subcommand *subcommand, int argc, char **argv)
{
	int code;

	args->cli.command = argv[0];
	args->cli.part = subcommand->part;
	args->cli.runs_command = subcommand->operands == A_COMMAND;
	code = ks_cli_parse(&args->cli, own, argc, argv);
	if (code >= 0)
		return code;
	args->operands = argv + optind;
	args->nr_operands = argc - optind;
	if (!fits(subcommand, args->nr_operands))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "usage: kmemscope kmap %s %s",
				    subcommand->name, subcommand->usage);
	if (args->cli.output.json && args->cli.output.csv)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "--json and --csv: choose one");
	return subcommand->run(args);
}

/* === Public =============================================================================== */

int ks_cmd_kmap(int argc, char **argv)
{
	struct ks_kmap_args args = {
		.cli = { .usage = usage,
			 .epilogue = examples,
			 .shared = KS_WITH_COMMON,
			 .capture = &args.capture,
			 .rows = &args.rows },
		.rows = { .top = 20 },
		.listen = { .max_peers = 64 },
		.view = { .by = KS_KMAP_BYS },
	};
	const struct ks_option own[] = {
		{ 0, "by", "WHAT",
		  "site, function, file, dir, topdir, module, compartment;\n"
		  "report: cache, type",
		  .choice = &args.view.by, .choices = KS_KMAP_BYS, .name_of = ks_kmap_by_name,
		  .parts = BY_UNIT },
		{ 0, "order-by", "WHAT", "bytes, objects, live, mean, cold, accesses, foreign",
		  .choice = &args.view.order, .choices = KS_KMAP_ORDERS, .name_of = order_name,
		  .parts = REPORT },
		{ 0, "top", "N", "at most N rows per table (default 20; 0 = all)",
		  .number = &args.rows.top, .parts = BY_UNIT | FIELDS },
		{ 0, "types", "PATH",
		  "fields: debug information (DWARF): a directory of object\n"
		  "files, a module, a vmlinux; may be given several times",
		  .parse = ks_kmap_take_types, .value = &args.fields, .parts = FIELDS },
		{ 0, "cut", "FILE", "compartments of the code (CPM-IF): --by compartment",
		  .string = &args.view.cut, .parts = WITH_CUT },
		{ 0, "model", "MODEL", "privilege: kmemscope (default), or uscope, as published",
		  .choice = &args.privilege.model, .choices = KS_KMAP_MODELS,
		  .name_of = ks_kmap_model_name, .parts = PRIVILEGE },
		{ 0, "number", "N", "compartments: find this many",
		  .number = &args.privilege.number, .min = 1, .parts = COMPARTMENTS },
		{ 0, "size", "N", "compartments: find some of at most N functions",
		  .number = &args.privilege.size, .min = 1, .parts = COMPARTMENTS },
		{ 0, "weights", "FILE", "score: lines NAME, READ, WRITE, CALL, RETURN",
		  .string = &args.privilege.weights, .parts = SCORE },
		{ 0, "accesses", "FILE", "the second file of a CSV pair",
		  .string = &args.file.accesses, .parts = ONE_MAP },
		{ 0, "dialect", "N", "8, 9, 10 or 11 fields in an object's line",
		  .number = &args.file.fields, .min = 8, .max = 11, .parts = ANY_MAP },
		{ 0, "slab-pages", NULL, "add up the pages of slabs beside the objects in them",
		  .flag = &args.file.slab_pages, .parts = WITH_CUT | FIELDS | DIFF },
		{ 0, "with", "FILE", "a capture of the same run: adds the waste of each site",
		  .string = &args.view.with, .parts = REPORT },
		{ 0, "to", "WHERE",
		  "convert: seed, uscope, iti, csv, json, binary, ksdb;\n"
		  "stream: FILE or tcp:HOST:PORT",
		  .parse = take_to, .value = &args, .parts = CONVERT | STREAM },
		{ 0, "spool", "FILE", "stream: file for unacknowledged data (kmap-stream.spool)",
		  .string = &args.stream.spool, .parts = STREAM },
		{ 0, "bind", "ADDRESS", "listen: the address (127.0.0.1:9999)",
		  .string = &args.listen.bind, .parts = LISTEN },
		{ 0, "max-peers", "N", "listen: at most this many senders at once (64)",
		  .number = &args.listen.max_peers, .min = 1, .max = 65535, .parts = LISTEN },
		{ 0, "token", "FILE",
		  "stream, listen: a secret that both have; needed beyond\n"
		  "this machine; listen makes it where there is none",
		  .parse = take_token, .value = &args, .parts = STREAM | LISTEN },
		{ 'o', "output", "FILE",
		  "fields, matrix, calls: a drawing (.png, .svg); compartments: CPM-IF;\n"
		  "convert: the map; listen: the directory; record: the map\n"
		  "(trace.kmap)",
		  .parse = take_output, .value = &args,
		  .parts = FIELDS | MATRIX | CALLS | COMPARTMENTS | CONVERT | LISTEN | RECORD },
		/* The kernel takes smaller numbers for modes. */
		{ 'p', "pid", "PID", "record: this process and its future children",
		  .parse = ks_cli_parse_pid, .value = &args.record.pid, .min = 4, .parts = RECORD },
		{ 0, "mode", "N",
		  "record: 1 the whole system (default), 2 COMMAND and\n"
		  "interrupts, 3 COMMAND (default with COMMAND)",
		  .number = &args.record.mode, .min = 1, .max = 3, .parts = RECORD },
		{ 0, "duration", "TIME", "record: stop after 10, 1.5, 200ms, 5m, ...",
		  .parse = ks_cli_parse_time, .value = &args.record.duration_ns, .min = 1,
		  .parts = RECORD },
		{ 0, "text", NULL, "record: lines instead of binary records",
		  .flag = &args.record.text, .parts = RECORD },
		{ 0, "live", NULL, "record: also the objects that are live at the end",
		  .flag = &args.record.live, .parts = RECORD },
		{ 0, "clear", NULL, "record: first discard the objects that have ended",
		  .flag = &args.record.clear, .parts = RECORD },
		{ 0, "json", NULL, "one JSON document", .flag = &args.cli.output.json,
		  .set = KS_WITH_COMMON },
		{ 0, "csv", NULL, "the first table as CSV", .flag = &args.cli.output.csv,
		  .set = KS_WITH_COMMON },
		{ 0, "strict", NULL, "exit with 4 when lines of the map were not understood",
		  .flag = &args.cli.output.strict, .set = KS_WITH_COMMON },
		{ 'k', "kernel", "PATH", "kernel tree, vmlinux, System.map or kallsyms for symbols",
		  .parse = ks_cli_parse_kernel, .parts = ANY_MAP },
		{ 0 },
	};
	struct ks_nearest nearest;
	char name[64];
	size_t i;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		ks_cli_help(&args.cli, own);
		return KS_EXIT_OK;
	}
	for (i = 0; argc > 1 && i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(argv[1], subcommands[i].name))
			continue;
		snprintf(name, sizeof(name), "kmemscope kmap %s", subcommands[i].name);
		argv[1] = name;
		return run(&args, own, &subcommands[i], argc - 1, argv + 1);
	}
	if (argc < 2) {
		fprintf(stderr, "%s\nTry 'kmemscope kmap --help' for the options.\n", usage);
		return KS_EXIT_USAGE;
	}
	nearest = ks_nearest_to(argv[1]);
	for (i = 0; i < ARRAY_SIZE(subcommands); i++)
		ks_nearest_offer(&nearest, subcommands[i].name);
	return ks_cli_unknown_subcommand(&args.cli, "kmap", &nearest);
}
