/* SPDX-License-Identifier: GPL-2.0-only */
/* What all commands share: exit codes, common options, messages, output. */
#ifndef KS_CLI_CLI_H
#define KS_CLI_CLI_H

#include <getopt.h>
#include <signal.h>
#include <time.h>

#include "analysis/analysis.h"
#include "analysis/objects.h"
#include "analysis/timeline.h"
#include "report/report.h"

enum {
	KS_EXIT_OK = 0,
	KS_EXIT_FAILED = 1,
	KS_EXIT_USAGE = 2,
	KS_EXIT_BAD_INPUT = 3,
	KS_EXIT_LOST = 4, /* with --strict */
	KS_EXIT_BUDGET = 5,
	KS_EXIT_INTERRUPTED = 130,
};

struct ks_command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

/* The commands, ending with a name of NULL (main.c). */
extern const struct ks_command ks_commands[];

enum ks_color { KS_COLOR_AUTO, KS_COLOR_ALWAYS, KS_COLOR_NEVER };

/* The options that commands have in common, and what they said. */
struct ks_cli {
	const char *command;	/* for messages: "kmemscope account" */
	const char *help;	/* the text of --help */
	const char *input;	/* -f, --db-file, or the file argument */
	struct ks_trace *trace; /* events in its place; NULL = none */
	const char *kernel;	/* -k */
	const char *kallsyms;	/* the second -k: of the boot that was traced */
	const char *helpers;	/* --helpers: a file with more of them */
	bool json, csv, no_pager, strict, pages, skip_helpers;
	enum ks_color color;
	struct ks_filter filter;
	enum ks_order order;
	u64 top; /* rows; 0 = all */
};

/* Long options without a letter. Commands count their own from KS_OPT_OWN on. */
enum {
	KS_OPT_JSON = 256,
	KS_OPT_CSV,
	KS_OPT_NO_PAGER,
	KS_OPT_COLOR,
	KS_OPT_STRICT,
	KS_OPT_PAGES,
	KS_OPT_MALLOC,
	KS_OPT_CACHE,
	KS_OPT_SINCE,
	KS_OPT_UNTIL,
	KS_OPT_DB_FILE,
	KS_OPT_TOP,
	KS_OPT_SKIP_HELPERS,
	KS_OPT_HELPERS,
	KS_OPT_OWN,
};

/* clang-format off */
#define KS_LONG_COMMON                                            \
	{ "json", no_argument, NULL, KS_OPT_JSON },               \
	KS_LONG_PLAIN
#define KS_LONG_PLAIN                                             \
	{ "help", no_argument, NULL, 'h' },                       \
	{ "no-pager", no_argument, NULL, KS_OPT_NO_PAGER },       \
	{ "color", required_argument, NULL, KS_OPT_COLOR },       \
	{ "strict", no_argument, NULL, KS_OPT_STRICT }
#define KS_SHORT_COMMON "h"

#define KS_LONG_INPUT                                             \
	{ "file", required_argument, NULL, 'f' },                 \
	{ "db-file", required_argument, NULL, KS_OPT_DB_FILE },   \
	{ "kernel", required_argument, NULL, 'k' }
#define KS_SHORT_INPUT "f:k:"

#define KS_LONG_FILTER                                            \
	{ "malloc", no_argument, NULL, KS_OPT_MALLOC },           \
	{ "cache", no_argument, NULL, KS_OPT_CACHE },             \
	{ "start-branch", required_argument, NULL, 'b' },         \
	{ "since", required_argument, NULL, KS_OPT_SINCE },       \
	{ "until", required_argument, NULL, KS_OPT_UNTIL },       \
	{ "skip-helpers", no_argument, NULL, KS_OPT_SKIP_HELPERS }, \
	{ "helpers", required_argument, NULL, KS_OPT_HELPERS }
#define KS_SHORT_FILTER "b:"

#define KS_LONG_ROWS                                              \
	{ "order-by", required_argument, NULL, 'o' },             \
	{ "top", required_argument, NULL, KS_OPT_TOP },           \
	{ "csv", no_argument, NULL, KS_OPT_CSV },                 \
	{ "pages", no_argument, NULL, KS_OPT_PAGES }
#define KS_SHORT_ROWS "o:"
/* clang-format on */

/*
 * Handles one of the options above, or says that it is none. Returns -1 to go on, else the exit code
 * of the program.
 */
int ks_cli_option(struct ks_cli *cli, int opt);

/* A time: "415.2" is the trace's own, "+1.5" counts from its first event. -1 or an exit code. */
int ks_cli_when(const struct ks_cli *cli, const char *option, const char *arg,
		struct ks_when *when);

/* The argument of --by. -1 or an exit code. */
int ks_cli_by(const struct ks_cli *cli, const char *arg, enum ks_by *ret_by);

/* The argument of --measure. -1 or an exit code. */
int ks_cli_measure(const struct ks_cli *cli, const char *arg, enum ks_measure *ret_measure);

/*
 * The argument of --frames: whether profiles are by recorded stack, where there are any, or by place in
 * the source. -1 or an exit code.
 */
int ks_cli_frames(const struct ks_cli *cli, const char *arg, bool *ret_by_stack);

/* Takes the one file argument, where no option named it. -1 or an exit code. */
int ks_cli_input(struct ks_cli *cli, int argc, char **argv);

/* Prints "COMMAND: message" to standard error and returns the code. */
int ks_cli_error(const struct ks_cli *cli, int code, const char *fmt, ...) ks_printf(3, 4);

/* The same from a library error, with the exit code that fits it. */
int ks_cli_fail(const struct ks_cli *cli, int err, const struct ks_diag *diag);

/* Opens what -k and -b ask for. *ret_resolver may be NULL. 0 or an exit code. */
int ks_cli_resolver(struct ks_cli *cli, struct ks_resolver **ret_resolver);

/* A long run for a person: a line on standard error where that is a terminal, and Ctrl-C. */
struct ks_progress {
	const char *what;
	bool tty, shown;
	struct timespec start, last;
};

void ks_cli_progress_start(struct ks_progress *progress, const char *what);

/* To be called now and then; shown from the second second on. Non-zero: stop, Ctrl-C was hit. */
int ks_cli_progress(void *progress, u64 done, u64 total);
void ks_cli_progress_end(const struct ks_progress *progress);

/*
 * For those who record: the signals that end it in good order are blocked, to be waited for, and a
 * reader that left its pipe is no reason to end. A child that becomes a command takes that back.
 */
void ks_cli_block_stops(sigset_t *ret_stops);
void ks_cli_unblock_stops(const sigset_t *stops);

/* Analyses cli->input. 0 or an exit code. */
int ks_cli_analyze(struct ks_cli *cli, enum ks_by by, struct ks_model **ret_model);

/* The same with the view of fragmentation, or of what lives at the end. */
int ks_cli_frag(struct ks_cli *cli, struct ks_frag *ret_frag, struct ks_model **ret_model);
int ks_cli_leaks(struct ks_cli *cli, u64 min_age, bool stacks, struct ks_leaks *ret_leaks,
		 struct ks_model **ret_model);

/* The same, handing out every object. */
int ks_cli_objects(struct ks_cli *cli, ks_object_fn *fn, void *ctx, struct ks_model **ret_model);

/* The same over time. */
int ks_cli_timeline(struct ks_cli *cli, struct ks_timeline **ret_timeline,
		    struct ks_model **ret_model);

/* The same, writing a DB too. */
int ks_cli_import(struct ks_cli *cli, const char *db_path, struct ks_model **ret_model);

/* Prints to standard output, through a pager where that is a terminal. 0 or an exit code. */
int ks_cli_print(const struct ks_cli *cli, const struct ks_strbuf *text);

/* Writes a file ("-" = standard output); mode 0600. 0 or an exit code. */
int ks_cli_write(const struct ks_cli *cli, const char *path, const struct ks_strbuf *text);

/* Prints the capture quality alone, when the report went to a file. 0 or an exit code. */
int ks_cli_print_quality(const struct ks_cli *cli, const struct ks_model *model);

/* KS_EXIT_LOST if --strict was given and events were lost, else 0. */
int ks_cli_verdict(const struct ks_cli *cli, const struct ks_model *model);

/* Where the account goes: file names, "-" for standard output, NULL for nowhere. */
struct ks_account_outputs {
	const char *account, *callers, *save_db;
};

/* Analyses cli->input by site and writes what is asked for. Returns the exit code. */
int ks_cli_account(struct ks_cli *cli, const struct ks_account_outputs *outputs);

/* What a ring chart shows of each directory; the names are trace_analyze's. */
enum ks_ring_attr {
	KS_RING_DEFAULT, /* live allocations with a capture, else the static footprint */
	KS_RING_CURRENT, /* static and live */
	KS_RING_STATIC,
	KS_RING_WASTE,
	KS_RING_CURRENT_DYNAMIC,
	KS_RING_TOTAL_DYNAMIC,
};

struct ks_rings_args {
	const char *file; /* .png or .svg; NULL = none */
	enum ks_ring_attr attr;
	bool show; /* in a window */
};

/* -1 to go on, or an exit code. */
int ks_cli_ring_attr(const struct ks_cli *cli, const char *name, enum ks_ring_attr *ret_attr);

/* Draws the chart. Returns the exit code. */
int ks_cli_rings(struct ks_cli *cli, const struct ks_rings_args *args);

/* Measures cli->kernel, and names the objects that cannot be read. 0 or an exit code. */
struct ks_static_model;
int ks_cli_static_model(const struct ks_cli *cli, bool symbols, struct ks_static_model **ret_model);

int ks_cmd_static(int argc, char **argv);
int ks_cmd_kmap(int argc, char **argv);
int ks_cmd_lab(int argc, char **argv);
int ks_cmd_rings(int argc, char **argv);
int ks_cmd_account(int argc, char **argv);
int ks_cmd_report(int argc, char **argv);
int ks_cmd_info(int argc, char **argv);
int ks_cmd_import(int argc, char **argv);
int ks_cmd_record(int argc, char **argv);
int ks_cmd_check(int argc, char **argv);
int ks_cmd_doctor(int argc, char **argv);
int ks_cmd_leaks(int argc, char **argv);
int ks_cmd_html(int argc, char **argv);
int ks_cmd_diff(int argc, char **argv);
int ks_cmd_gate(int argc, char **argv);
int ks_cmd_export(int argc, char **argv);
int ks_cmd_flame(int argc, char **argv);
int ks_cmd_timeline(int argc, char **argv);

/* The ancestors' commands under their own names. */
int ks_trace_analyze(int argc, char **argv);
int ks_kmemtraced(int argc, char **argv);
int ks_kmemtrace_check(int argc, char **argv);
int ks_kmemtrace_report(int argc, char **argv);

#endif
