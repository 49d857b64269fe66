// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope: finds the command, or the ancestor whose name it was called by, and runs it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/report.h"

/* === Data ================================================================================= */

const struct ks_command ks_commands[] = {
	{ "record", ks_cmd_record, "capture the running kernel's allocations into a file", NULL },
	{ "account", ks_cmd_account,
	  "trace_analyze's account: bytes, waste and counts by call site", NULL },
	{ "report", NULL, "the same by function, module, cache, size, pid, cpu, ...",
	  &ks_report_report },
	{ "info", NULL, "what is in a capture, and how good it is", &ks_report_info },
	{ "import", ks_cmd_import, "make a DB file, from which reports come at once", NULL },
	{ "static", ks_cmd_static, "what a built kernel occupies before it allocates anything",
	  NULL },
	{ "kmap", ks_cmd_kmap, "access maps: which code touches which objects", NULL },
	{ "lab", ks_cmd_lab, "run a command in a kernel that counts every access", NULL },
	{ "rings", ks_cmd_rings, "ring charts: memory by directory, as PNG or SVG", NULL },
	{ "heap", ks_cmd_heap, "what is in the kernel's memory now, by cache, type, cgroup", NULL },
	{ "top", ks_cmd_top, "the same on a screen that refreshes: what grows, and how fast",
	  NULL },
	{ "serve", ks_cmd_serve, "the same over HTTP: metrics, profiles and a page", NULL },
	{ "watch", ks_cmd_watch, "says what grows without end, and who makes it grow", NULL },
	{ "leaks", NULL, "what is still allocated at the end of a capture, with ages",
	  &ks_report_leaks },
	{ "html", ks_cmd_html, "the report in one file, to open in a browser", NULL },
	{ "diff", ks_cmd_diff, "what changed between two captures", NULL },
	{ "export", ks_cmd_export, "a capture for pprof, speedscope, flame graphs, spreadsheets",
	  NULL },
	{ "flame", ks_cmd_flame, "a flame graph of a capture, as SVG", NULL },
	{ "timeline", ks_cmd_timeline, "memory over time: table, SVG, PNG", NULL },
	{ "agent", ks_cmd_agent, "send what is live in this kernel to a fleet's database", NULL },
	{ "relay", ks_cmd_relay, "take what agents send, and store it in a fleet's database",
	  NULL },
	{ "fleet", ks_cmd_fleet, "many kernels in a ClickHouse server, asked like one", NULL },
	{ "gate", ks_cmd_gate, "fail when a capture is over its budget", NULL },
	{ "check", ks_cmd_check, "validate captures; finish a capture whose recorder was killed",
	  NULL },
	{ "doctor", ks_cmd_doctor, "what can be captured here, and how to fix what cannot", NULL },
	{ 0 },
};

/* How --help lists them: by what one wants to do. */
static const struct {
	const char *title, *commands;
} groups[] = {
	{ "Look at the kernel as it is now", "heap top serve watch doctor" },
	{ "Record what it allocates", "record check import" },
	{ "Read a capture", "leaks report account info timeline" },
	{ "Pages and pictures", "html flame rings" },
	{ "Compare, and test automatically", "diff gate" },
	{ "A built kernel", "static" },
	{ "Who reads and writes which objects", "kmap lab" },
	{ "Other tools, other machines", "export fleet agent relay" },
};

/* Names that older systems gave these programs; links to this one. */
static const struct ks_command ancestors[] = {
	{ "trace_analyze", ks_trace_analyze, NULL, NULL },
	{ "trace_analyze.py", ks_trace_analyze, NULL, NULL },
	{ "kmemtraced", ks_kmemtraced, NULL, NULL },
	{ "kmemtrace_check", ks_kmemtrace_check, NULL, NULL },
	{ "kmemtrace-report", ks_kmemtrace_report, NULL, NULL },
};

/* === Internals ============================================================================ */

/* Whether the list, which has blanks between names, has this one. */
static bool has_word(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *at;

	for (at = strstr(list, name); at; at = strstr(at + 1, name))
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

static const struct ks_command *find_command(const char *name, size_t len)
{
	const struct ks_command *command;

	for (command = ks_commands; command->name; command++)
		if (strlen(command->name) == len && !strncmp(command->name, name, len))
			return command;
	return NULL;
}

static void print_command(FILE *to, const struct ks_command *command)
{
	fprintf(to, "  %-10s %s\n", command->name, command->summary);
}

static void print_groups(FILE *to)
{
	const struct ks_command *command;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		const char *at = groups[i].commands;

		fprintf(to, "%s:\n", groups[i].title);
		for (; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
			command = find_command(at, strcspn(at, " "));
			if (command)
				print_command(to, command);
		}
		fputs("\n", to);
	}
	/* What has no place above is not lost. */
	for (command = ks_commands; command->name; command++) {
		for (i = 0; i < ARRAY_SIZE(groups); i++)
			if (has_word(groups[i].commands, command->name))
				break;
		if (i == ARRAY_SIZE(groups))
			print_command(to, command);
	}
}

static void print_help(FILE *to)
{

	fputs("usage: kmemscope COMMAND [OPTION...] [FILE]\n"
	      "\n"
	      "Shows what the Linux kernel does with its memory.\n"
	      "\n",
	      to);
	print_groups(to);
	fputs("  -h, --help   print this help\n"
	      "  --version    print the version of kmemscope\n"
	      "\n"
	      "'kmemscope help COMMAND' lists the options of a command, with examples; its manual page is\n"
	      "kmemscope-COMMAND(1). A first look, as root:\n"
	      "\n"
	      "    kmemscope heap                                  what is in the slab now\n"
	      "    kmemscope record --duration 60                  what is allocated in a minute\n"
	      "    kmemscope leaks trace.dat                       what of that stays\n",
	      to);
}

static int run_command(int argc, char **argv)
{
	const struct ks_command *command = find_command(argv[0], strlen(argv[0]));
	struct ks_nearest nearest = ks_nearest_to(argv[0]);
	static char help[] = "--help";
	char name[64];

	if (command) {
		snprintf(name, sizeof(name), "kmemscope %s", command->name);
		argv[0] = name; /* what getopt puts in front of its messages */
		if (argc == 2 && !strcmp(argv[1], "help") && access(argv[1], F_OK))
			argv[1] = help;
		return command->report ? ks_cli_run_report(command->report, argc, argv)
				       : command->run(argc, argv);
	}
	for (command = ks_commands; command->name; command++)
		ks_nearest_offer(&nearest, command->name);
	fprintf(stderr, "kmemscope: unknown command '%s'; ", argv[0]);
	if (nearest.best)
		fprintf(stderr, "did you mean '%s'? ", nearest.best);
	fprintf(stderr, "%s 'kmemscope --help'\n", nearest.best ? "See" : "see");
	return KS_EXIT_USAGE;
}

/* "kmemscope help leaks" is "kmemscope leaks --help", and "help heap show" is "heap show --help". */
static int run_help(int argc, char **argv)
{
	static char help[] = "--help";
	char *swapped[] = { argv[0], argc > 1 ? argv[1] : help, argc > 1 ? help : NULL, NULL };

	if (!argc) {
		print_help(stdout);
		return KS_EXIT_OK;
	}
	return run_command(argc > 1 ? 3 : 2, swapped);
}

static int run(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *called = slash ? slash + 1 : argc ? argv[0] : "kmemscope";
	size_t i;

	/* Output is the same everywhere: no locale is set. */
	for (i = 0; i < ARRAY_SIZE(ancestors); i++)
		if (!strcmp(called, ancestors[i].name))
			return ancestors[i].run(argc, argv);
	if (argc < 2) {
		print_help(stderr);
		return KS_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
		return run_help(argc - 2, argv + 2);
	if (!strcmp(argv[1], "--version")) {
		puts("kmemscope " KS_VERSION);
		return KS_EXIT_OK;
	}
	return run_command(argc - 1, argv + 1);
}

/* === Public =============================================================================== */

int main(int argc, char **argv)
{
	int code = run(argc, argv);

	/* Reports see to that themselves; this is for help texts and the like. */
	if (fflush(stdout) && errno != EPIPE && !code) {
		fprintf(stderr, "kmemscope: standard output: cannot write: %s\n", strerror(errno));
		code = KS_EXIT_FAILED;
	}
	return code;
}
