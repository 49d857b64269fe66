// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap: finds the subcommand and reads the options. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/heap.h"
#include "heap/census-doc.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope heap [SUBCOMMAND] [OPTION...]\n"
	"\n"
	"Counts the objects in the memory of the running kernel: by cache, by type, by the\n"
	"cgroup that they are charged to, or by NUMA node. Reads the kernel's own structures, without\n"
	"tracing, and changes nothing. Needs root, but for a dump or a guest of one's own.\n"
	"\n"
	"  heap                 counts objects by cache, type, cgroup or node\n"
	"  heap types           what the objects are, and how that is known\n"
	"  heap show WHAT       objects of a type or cache; all about the one at an address\n"
	"  heap holders WHAT    who holds the objects of a type or cache, or the one at an address\n"
	"  heap unreachable     objects that nobody holds\n"
	"  heap save -o FILE    a snapshot as a file, which all of them read with --from\n"
	"  heap diff A B        what changed between two such files\n";

static const char examples[] =
	"examples:\n"
	"  kmemscope heap\n"
	"  kmemscope heap types --top 20\n"
	"  kmemscope heap save -o before.heap   # later: heap save -o after.heap; heap diff before.heap after.heap\n";

enum { ONE_OR_NONE = -1 }; /* a number of operands that is none */

/* The subcommands, as bits: for the options that they have. */
enum {
	CENSUS = 1 << 0,
	TYPES = 1 << 1,
	SHOW = 1 << 2,
	HOLDERS = 1 << 3,
	UNREACHABLE = 1 << 4,
	SAVE = 1 << 8,
	DIFF = 1 << 9,

	FROM_FILE = CENSUS | TYPES | SHOW | HOLDERS | UNREACHABLE,
	OF_A_KERNEL = FROM_FILE | SAVE,
};

static const struct subcommand {
	const char *name;
	int (*run)(struct ks_heap_args *args);
	int operands;
	const char *usage;
	unsigned int part;
} subcommands[] = {
	{ "", ks_heap_census, 0, "", CENSUS },
	{ "types", ks_heap_types, 0, "", TYPES },
	{ "show", ks_heap_show, 1, "TYPE|CACHE|ADDRESS", SHOW },
	{ "holders", ks_heap_holders, 1, "TYPE|CACHE|ADDRESS", HOLDERS },
	{ "unreachable", ks_heap_unreachable, ONE_OR_NONE, "[--from FILE FILE]", UNREACHABLE },
	{ "save", ks_heap_save, 0, "-o FILE", SAVE },
	{ "diff", ks_heap_diff, 2, "FIRST SECOND", DIFF },
};

/* === Internals ============================================================================ */

/* A heap has one source. 0, or the exit code. */
static int check_source(const struct ks_heap_args *args)
{
	const struct ks_heap_source *source = &args->source;

	if (source->memory != KS_HEAP_AUTO && (source->vmcore || source->guest))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--memory is of the running kernel, %s of another",
				    source->vmcore ? "--vmcore" : "--guest");
	if (!!source->vmcore + !!source->guest + !!source->from > 1)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--vmcore is a dump, --guest a guest, --from a snapshot: only "
				    "one of them");
	return 0;
}

static int run(struct ks_heap_args *args, const struct ks_option *own,
	       const struct subcommand *subcommand, int argc, char **argv)
{
	struct ks_cli *cli = &args->cli;
	int code;

	cli->command = argv[0];
	cli->part = subcommand->part;
	code = ks_cli_parse(cli, own, argc, argv);
	if (code >= 0)
		return code;
	code = check_source(args);
	if (code)
		return code;
	args->operands = argv + optind;
	args->nr_operands = argc - optind;
	if (args->nr_operands == subcommand->operands ||
	    (subcommand->operands == ONE_OR_NONE && args->nr_operands <= 1))
		return subcommand->run(args);
	if (!subcommand->operands)
		return ks_cli_error(cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    args->operands[0]);
	return ks_cli_error(cli, KS_EXIT_USAGE, "usage: kmemscope heap %s %s", subcommand->name,
			    subcommand->usage);
}

/* === Public =============================================================================== */

int ks_cmd_heap(int argc, char **argv)
{
	struct ks_heap_args args = {
		.cli = { .usage = usage,
			 .epilogue = examples,
			 .shared = KS_WITH_TOP | KS_WITH_JSON | KS_WITH_CSV | KS_WITH_COMMON |
				   KS_WITH_BYTES,
			 .rows = &args.rows },
		.by = KS_HEAP_BY_CACHE,
		.source = { .memory = KS_HEAP_AUTO },
		.wait_ns = 30000000000,
	};
	const struct ks_option own[] = {
		{ 0, "by", "WHAT", "a row for each cache, type, cgroup or node", .choice = &args.by,
		  .choices = KS_HEAP_BYS, .name_of = ks_heap_by_name, .parts = CENSUS },
		{ 0, "from", "FILE", "a snapshot instead of the running kernel",
		  .string = &args.source.from, .parts = FROM_FILE },
		{ 'o', "output", "FILE", "save: the snapshot to make", .string = &args.output,
		  .parts = SAVE },
		{ 0, "no-graph", NULL, "save: without references and roots", .flag = &args.no_graph,
		  .parts = SAVE },
		{ 0, "memory", "HOW",
		  "read memory by bpf or kcore; auto takes the first that works",
		  .choice = &args.source.memory, .choices = KS_HEAP_MEMORIES,
		  .name_of = ks_heap_memory_name, .parts = OF_A_KERNEL },
		{ 0, "vmcore", "FILE", "read a dump of a kernel instead",
		  .string = &args.source.vmcore, .parts = OF_A_KERNEL },
		{ 0, "guest", "PID",
		  "read a guest of QEMU or User Mode Linux instead, by its process",
		  .number = &args.source.guest, .min = 1, .max = INT32_MAX, .parts = OF_A_KERNEL },
		{ 0, "btf", "FILE", "take the kernel's types from this file (BTF, or a vmlinux)",
		  .string = &args.source.btf, .parts = OF_A_KERNEL },
		{ 0, "wait", "TIME", "unreachable: look again after 30s (default), 5m, ...",
		  .parse = ks_cli_parse_time, .value = &args.wait_ns, .parts = UNREACHABLE },
		{ 0, "capture", "FILE",
		  "unreachable: who allocated them, by a capture that goes on to now",
		  .string = &args.sites, .parts = UNREACHABLE },
		{ 0, "each", NULL, "unreachable: a row for each object, not for groups of them",
		  .flag = &args.each, .parts = UNREACHABLE },
		{ 0, "contents", NULL,
		  "show: values too, which may be secrets: keys, names, data of users",
		  .flag = &args.contents, .parts = SHOW },
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &args.cli.output.strict },
		{ 0 },
	};
	char name[64];
	size_t i;

	for (i = 1; argc > 1 && i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(argv[1], subcommands[i].name))
			continue;
		snprintf(name, sizeof(name), "kmemscope heap %s", subcommands[i].name);
		argv[1] = name;
		return run(&args, own, &subcommands[i], argc - 1, argv + 1);
	}
	if (argc > 1 && argv[1][0] != '-') {
		struct ks_nearest nearest = ks_nearest_to(argv[1]);

		for (i = 1; i < ARRAY_SIZE(subcommands); i++)
			ks_nearest_offer(&nearest, subcommands[i].name);
		return ks_cli_unknown_subcommand(&args.cli, "heap", &nearest);
	}
	return run(&args, own, &subcommands[0], argc, argv);
}
