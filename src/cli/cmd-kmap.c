// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap: finds the question, reads the options, opens maps. */
#include <stdio.h>
#include <string.h>

#include "cli/kmap.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope kmap QUESTION [OPTION...] FILE\n"
	"\n"
	"Access maps: which code read and wrote which objects, and how often.\n"
	"\n"
	"  kmap record [-- COMMAND...]  records a map of the running kernel with the module memorizer\n"
	"  kmap report FILE             objects by site, cache or type; the hottest objects\n"
	"  kmap accesses SITE FILE      which code reads and writes the objects of a site\n"
	"  kmap touches CODE FILE       whose objects a function reads and writes\n"
	"  kmap matrix FILE             which code touches whose objects, as table or heat map\n"
	"  kmap privilege FILE          least-privilege measures\n"
	"  kmap diff OLD NEW            what appeared, vanished or changed\n"
	"  kmap convert --to FORM FILE  writes the map in another form\n"
	"  kmap stream --to WHERE [FILE]   sends a live map to a file or a listener\n"
	"  kmap listen -o DIR           receives live maps\n";

/* Numbers of operands that are none. */
enum { ONE_OR_NONE = -1, A_COMMAND = -2 };

static const struct question {
	const char *name;
	int (*run)(struct ks_kmap_args *args);
	int operands; /* or one of the numbers above */
	const char *usage;
	const char *options; /* that it has beside the common ones */
} questions[] = {
	{ "report", ks_kmap_report, 1, "FILE", "by order-by accesses dialect with kernel top" },
	{ "accesses", ks_kmap_accesses, 2, "SITE FILE", "by accesses dialect kernel top" },
	{ "touches", ks_kmap_touches, 2, "CODE FILE", "by accesses dialect kernel top" },
	{ "matrix", ks_kmap_matrix, 1, "FILE", "by accesses dialect output kernel top" },
	{ "privilege", ks_kmap_privilege, 1, "FILE", "accesses dialect kernel" },
	{ "diff", ks_kmap_diff, 2, "OLD NEW", "by dialect kernel top" },
	{ "convert", ks_kmap_convert_command, 1, "--to FORM FILE",
	  "accesses dialect kernel output to" },
	{ "stream", ks_kmap_stream, ONE_OR_NONE, "--to WHERE [FILE]", "to spool" },
	{ "listen", ks_kmap_listen, 0, "-o DIR", "output bind" },
	{ "record", ks_kmap_record, A_COMMAND, "[-- COMMAND...]",
	  "output pid mode duration text live clear" },
};

/* === Internals ============================================================================ */

static bool fits(const struct question *question, int operands)
{
	if (question->operands == A_COMMAND)
		return true;
	return question->operands == ONE_OR_NONE ? operands <= 1 : operands == question->operands;
}

static int ask(struct ks_kmap_args *args, const struct ks_option *own,
	       const struct question *question, int argc, char **argv)
{
	int code;

	args->cli.command = argv[0];
	args->cli.only = question->options;
	args->cli.runs_command = question->operands == A_COMMAND;
	code = ks_cli_parse(&args->cli, own, argc, argv);
	if (code >= 0)
		return code;
	args->operands = argv + optind;
	args->nr_operands = argc - optind;
	if (!fits(question, args->nr_operands))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "usage: kmemscope kmap %s %s",
				    question->name, question->usage);
	if (args->cli.json && args->cli.csv)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "--json and --csv: choose one");
	return question->run(args);
}

/* === Public =============================================================================== */

int ks_cmd_kmap(int argc, char **argv)
{
	struct ks_kmap_args args = {
		.cli = { .usage = usage, .shared = KS_WITH_KERNEL | KS_WITH_COMMON, .top = 20 },
	};
	const struct ks_option own[] = {
		{ 0, "by", "WHAT", "site, function, file, dir, topdir, module; report: cache, type",
		  .string = &args.by_name },
		{ 0, "order-by", "WHAT", "bytes, objects, live, mean, cold, accesses, foreign",
		  .string = &args.order_name },
		{ 0, "top", "N", "at most N rows per table (default 20; 0 = all)",
		  .number = &args.cli.top },
		{ 0, "accesses", "FILE", "the second file of a CSV pair",
		  .string = &args.accesses },
		{ 0, "dialect", "N", "8, 9, 10 or 11 fields in an object's line",
		  .number = &args.fields, .min = 8, .max = 11 },
		{ 0, "with", "FILE", "a capture of the same run: adds the waste of each site",
		  .string = &args.with },
		{ 0, "to", "WHERE",
		  "convert: seed, uscope, iti, csv, json, binary, ksdb;\n"
		  "stream: FILE or tcp:HOST:PORT",
		  .string = &args.to },
		{ 0, "spool", "FILE", "stream: file for unacknowledged data (kmap-stream.spool)",
		  .string = &args.spool },
		{ 0, "bind", "ADDRESS", "listen: the address (127.0.0.1:9999)",
		  .string = &args.bind },
		{ 'o', "output", "FILE",
		  "matrix: the heat map (.png, .svg); convert: the map; listen:\n"
		  "the directory; record: the map (trace.kmap)",
		  .string = &args.output },
		/* The kernel takes smaller numbers for modes. */
		{ 'p', "pid", "PID", "record: this process and its future children",
		  .parse = ks_cli_parse_pid, .value = &args.pid, .min = 4 },
		{ 0, "mode", "N",
		  "record: 1 the whole system (default), 2 COMMAND and\n"
		  "interrupts, 3 COMMAND (default with COMMAND)",
		  .number = &args.mode, .min = 1, .max = 3 },
		{ 0, "duration", "TIME", "record: stop after 10, 1.5, 200ms, 5m, ...",
		  .parse = ks_cli_parse_time, .value = &args.duration_ns, .min = 1 },
		{ 0, "text", NULL, "record: lines instead of binary records", .flag = &args.text },
		{ 0, "live", NULL, "record: also the objects that are live at the end",
		  .flag = &args.live },
		{ 0, "clear", NULL, "record: first discard the objects that have ended",
		  .flag = &args.clear },
		{ 0, "json", NULL, "one JSON document", .flag = &args.cli.json,
		  .set = KS_WITH_COMMON },
		{ 0, "csv", NULL, "the first table as CSV", .flag = &args.cli.csv,
		  .set = KS_WITH_COMMON },
		{ 0, "strict", NULL, "exit with 4 when lines of the map were not understood",
		  .flag = &args.cli.strict, .set = KS_WITH_COMMON },
		{ 0 },
	};
	char name[64];
	size_t i;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		ks_cli_help(&args.cli, own);
		return KS_EXIT_OK;
	}
	for (i = 0; argc > 1 && i < ARRAY_SIZE(questions); i++) {
		if (strcmp(argv[1], questions[i].name))
			continue;
		snprintf(name, sizeof(name), "kmemscope kmap %s", questions[i].name);
		argv[1] = name;
		return ask(&args, own, &questions[i], argc - 1, argv + 1);
	}
	if (argc > 1)
		fprintf(stderr, "kmemscope kmap: unknown question '%s'\n", argv[1]);
	fprintf(stderr, "Try 'kmemscope kmap --help'.\n");
	return KS_EXIT_USAGE;
}
