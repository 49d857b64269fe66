// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap: finds the question, reads the options, opens maps. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "cli/kmap.h"

/* === Data ================================================================================= */

static const char help[] =
	"usage: kmemscope kmap QUESTION [OPTION...] FILE\n"
	"\n"
	"Access maps: which code read and wrote which objects, and how often.\n"
	"\n"
	"  kmap record [-- COMMAND...]  a map of the running kernel, from its module memorizer\n"
	"  kmap report FILE             objects by site, cache or type; the hottest\n"
	"  kmap accesses SITE FILE      who reads and writes the objects of a site\n"
	"  kmap touches CODE FILE       whose objects a function reads and writes\n"
	"  kmap matrix FILE             who touches whose objects, as table or heat map\n"
	"  kmap privilege FILE          least-privilege measures\n"
	"  kmap diff OLD NEW            what appeared, vanished or changed\n"
	"  kmap convert --to FORM FILE  the map in another form\n"
	"  kmap stream --to WHERE [FILE]   a live map, to a file or a listener\n"
	"  kmap listen -o DIR           receive live maps\n"
	"\n"
	"  -k, --kernel PATH    kernel tree, vmlinux, System.map or kallsyms for symbols\n"
	"      --by WHAT        site, function, file, dir, topdir, module; report: cache, type\n"
	"      --order-by WHAT  bytes, objects, live, mean, cold, accesses, foreign\n"
	"      --top N          so many rows a table (default 20; 0 = all)\n"
	"      --accesses FILE  the second file of a CSV pair\n"
	"      --dialect N      8, 9, 10 or 11 fields in an object's line\n"
	"      --with FILE      an allocation capture of the same run: waste beside access\n"
	"      --to WHERE       convert: seed, uscope, iti, csv, json, binary, ksdb;\n"
	"                       stream: FILE or tcp:HOST:PORT\n"
	"      --spool FILE     stream: what was not acknowledged (kmap-stream.spool)\n"
	"      --bind ADDRESS   listen: where (127.0.0.1:9999)\n"
	"  -o, --output FILE    the heat map (.png, .svg), the converted map, where to put\n"
	"                       what arrives; record: the map (trace.kmap)\n"
	"  -p, --pid PID        record: this process and the children it will have\n"
	"      --mode N         record: 1 the whole system (default), 2 COMMAND and\n"
	"                       interrupts, 3 COMMAND (default with one)\n"
	"      --duration TIME  record: stop after 10, 1.5, 200ms, 5m, ...\n"
	"      --text           record: lines, not binary records\n"
	"      --live           record: also what lives at the end\n"
	"      --clear          record: first forget objects that have ended\n"
	"      --json           one JSON document\n"
	"      --csv            the first table as CSV\n"
	"      --strict         exit 4 when lines of the map were not understood\n"
	"      --no-pager       never use a pager\n"
	"      --color WHEN     auto, always, never\n"
	"  -h, --help           this text\n";

enum {
	OPT_BY = KS_OPT_OWN,
	OPT_ORDER,
	OPT_ACCESSES,
	OPT_DIALECT,
	OPT_WITH,
	OPT_TO,
	OPT_SPOOL,
	OPT_BIND,
	OPT_MODE,
	OPT_DURATION,
	OPT_TEXT,
	OPT_LIVE,
	OPT_CLEAR
};

/* Numbers of operands that are none. */
enum { ONE_OR_NONE = -1, A_COMMAND = -2 };

static const struct question {
	const char *name;
	int (*run)(struct ks_kmap_args *args);
	int operands; /* or one of the numbers below */
	const char *usage;
	const char *options; /* that it has beside the common ones: letters of own_options */
} questions[] = {
	{ "report", ks_kmap_report, 1, "FILE", "bocdwkt" },
	{ "accesses", ks_kmap_accesses, 2, "SITE FILE", "bcdkt" },
	{ "touches", ks_kmap_touches, 2, "CODE FILE", "bcdkt" },
	{ "matrix", ks_kmap_matrix, 1, "FILE", "bcdOkt" },
	{ "privilege", ks_kmap_privilege, 1, "FILE", "cdk" },
	{ "diff", ks_kmap_diff, 2, "OLD NEW", "bdkt" },
	{ "convert", ks_kmap_convert_command, 1, "--to FORM FILE", "cdkOT" },
	{ "stream", ks_kmap_stream, ONE_OR_NONE, "--to WHERE [FILE]", "TS" },
	{ "listen", ks_kmap_listen, 0, "-o DIR", "OB" },
	{ "record", ks_kmap_record, A_COMMAND, "[-- COMMAND...]", "Or" },
};

/* === Internals ============================================================================ */

static char letter_of(int opt)
{
	switch (opt) {
	case OPT_BY:
		return 'b';
	case OPT_ORDER:
		return 'o';
	case OPT_ACCESSES:
		return 'c';
	case OPT_DIALECT:
		return 'd';
	case OPT_WITH:
		return 'w';
	case OPT_TO:
		return 'T';
	case OPT_SPOOL:
		return 'S';
	case OPT_BIND:
		return 'B';
	case OPT_MODE:
	case OPT_DURATION:
	case OPT_TEXT:
	case OPT_LIVE:
	case OPT_CLEAR:
	case 'p':
		return 'r';
	case 'o':
		return 'O';
	case 'k':
		return 'k';
	case KS_OPT_TOP:
		return 't';
	default:
		return 0; /* common */
	}
}

static int parse_dialect(struct ks_kmap_args *args, const char *arg)
{
	u64 fields;

	if (ks_parse_u64(arg, &fields) || fields < 8 || fields > 11)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--dialect '%s': give the number of fields, 8 to 11", arg);
	args->fields = (unsigned int)fields;
	return -1;
}

static int parse_mode(struct ks_kmap_args *args, const char *arg)
{
	if (ks_parse_u64(arg, &args->mode) || args->mode < 1 || args->mode > 3)
		return ks_cli_error(
			&args->cli, KS_EXIT_USAGE,
			"--mode '%s': give 1, 2 or 3; 'kmemscope kmap --help' says what "
			"they mean",
			arg);
	return -1;
}

static int parse_pid(struct ks_kmap_args *args, const char *arg)
{
	u64 pid;

	/* The kernel takes smaller numbers for modes. */
	if (ks_parse_u64(arg, &pid) || pid < 4 || pid > INT32_MAX)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--pid '%s': give the number of a process, 4 or above", arg);
	args->pid = (u32)pid;
	return -1;
}

static int parse_duration(struct ks_kmap_args *args, const char *arg)
{
	if (ks_parse_time(arg, &args->duration_ns) || !args->duration_ns)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--duration '%s': give seconds, or 200ms, 5m, 1h", arg);
	return -1;
}

static bool fits(const struct question *question, int operands)
{
	if (question->operands == A_COMMAND)
		return true;
	return question->operands == ONE_OR_NONE ? operands <= 1 : operands == question->operands;
}

static int take_option(struct ks_kmap_args *args, const struct question *question, int opt)
{
	char letter = letter_of(opt);

	if (letter && !strchr(question->options, letter))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "'%s' has no such option; see 'kmemscope kmap --help'",
				    question->name);
	switch (opt) {
	case OPT_BY:
		args->by_name = optarg;
		return -1;
	case OPT_ORDER:
		args->order_name = optarg;
		return -1;
	case OPT_ACCESSES:
		args->accesses = optarg;
		return -1;
	case OPT_DIALECT:
		return parse_dialect(args, optarg);
	case OPT_WITH:
		args->with = optarg;
		return -1;
	case OPT_TO:
		args->to = optarg;
		return -1;
	case OPT_SPOOL:
		args->spool = optarg;
		return -1;
	case OPT_BIND:
		args->bind = optarg;
		return -1;
	case 'o':
		args->output = optarg;
		return -1;
	case 'p':
		return parse_pid(args, optarg);
	case OPT_MODE:
		return parse_mode(args, optarg);
	case OPT_DURATION:
		return parse_duration(args, optarg);
	case OPT_LIVE:
		args->live = true;
		return -1;
	case OPT_TEXT:
		args->text = true;
		return -1;
	case OPT_CLEAR:
		args->clear = true;
		return -1;
	default:
		return ks_cli_option(&args->cli, opt);
	}
}

static int ask(const struct question *question, int argc, char **argv)
{
	static const struct option options[] = {
		KS_LONG_COMMON,
		{ "kernel", required_argument, NULL, 'k' },
		{ "by", required_argument, NULL, OPT_BY },
		{ "order-by", required_argument, NULL, OPT_ORDER },
		{ "top", required_argument, NULL, KS_OPT_TOP },
		{ "csv", no_argument, NULL, KS_OPT_CSV },
		{ "accesses", required_argument, NULL, OPT_ACCESSES },
		{ "dialect", required_argument, NULL, OPT_DIALECT },
		{ "with", required_argument, NULL, OPT_WITH },
		{ "to", required_argument, NULL, OPT_TO },
		{ "spool", required_argument, NULL, OPT_SPOOL },
		{ "bind", required_argument, NULL, OPT_BIND },
		{ "output", required_argument, NULL, 'o' },
		{ "pid", required_argument, NULL, 'p' },
		{ "mode", required_argument, NULL, OPT_MODE },
		{ "duration", required_argument, NULL, OPT_DURATION },
		{ "text", no_argument, NULL, OPT_TEXT },
		{ "live", no_argument, NULL, OPT_LIVE },
		{ "clear", no_argument, NULL, OPT_CLEAR },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_kmap_args args = { .cli = { .command = argv[0], .help = help, .top = 20 } };
	/* The plus sign: options behind a command are the command's. */
	const char *letters = question->operands == A_COMMAND ? "+" KS_SHORT_COMMON "k:o:p:"
							      : KS_SHORT_COMMON "k:o:p:";
	int opt, code;

	while ((opt = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		code = take_option(&args, question, opt);
		if (code >= 0)
			return code;
	}
	args.operands = argv + optind;
	args.nr_operands = argc - optind;
	if (!fits(question, args.nr_operands))
		return ks_cli_error(&args.cli, KS_EXIT_USAGE, "usage: kmemscope kmap %s %s",
				    question->name, question->usage);
	if (args.cli.json && args.cli.csv)
		return ks_cli_error(&args.cli, KS_EXIT_USAGE, "--json and --csv: choose one");
	return question->run(&args);
}

/* === Public =============================================================================== */

int ks_cmd_kmap(int argc, char **argv)
{
	char name[64];
	size_t i;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return KS_EXIT_OK;
	}
	for (i = 0; argc > 1 && i < ARRAY_SIZE(questions); i++) {
		if (strcmp(argv[1], questions[i].name))
			continue;
		snprintf(name, sizeof(name), "kmemscope kmap %s", questions[i].name);
		argv[1] = name;
		return ask(&questions[i], argc - 1, argv + 1);
	}
	if (argc > 1)
		fprintf(stderr, "kmemscope kmap: there is no question '%s'\n", argv[1]);
	fprintf(stderr, "Try 'kmemscope kmap --help'.\n");
	return KS_EXIT_USAGE;
}
