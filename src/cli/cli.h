/* SPDX-License-Identifier: GPL-2.0-only */
/* What all commands share: exit codes, common options, messages, output. */
#ifndef KS_CLI_CLI_H
#define KS_CLI_CLI_H

#include <getopt.h>
#include <time.h>

#include "analysis/analysis.h"
#include "analysis/objects.h"
#include "analysis/timeline.h"
#include "cli/option.h"
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

struct ks_report;

struct ks_command {
	const char *name;
	int (*run)(int argc, char **argv); /* NULL = it is a report */
	const char *summary;
	const struct ks_report *report; /* see cli/report.h */
};

/* The commands, ending with a name of NULL (main.c). */
extern const struct ks_command ks_commands[];

enum ks_color { KS_COLOR_AUTO, KS_COLOR_ALWAYS, KS_COLOR_NEVER, KS_COLORS };

/* How a command speaks to its user: --json, --csv, --no-pager, --strict, --color. */
struct ks_output_opts {
	bool json, csv, no_pager, strict;
	enum ks_color color;
};

/* Which capture is analysed, what of it counts, and what names its code. */
struct ks_capture_opts {
	const char *input;	  /* -f, --db-file, or the file argument */
	struct ks_source *source; /* analysed in place of a file; NULL = none */
	const char *kernel;	  /* -k */
	const char *kallsyms;	  /* the second -k: of the boot that was traced */
	bool pages;		  /* --pages */
	bool skip_helpers;	  /* --skip-helpers */
	const char *helpers;	  /* --helpers: a file with more of them */
	struct ks_filter filter;
};

/* Which rows a table has. */
struct ks_rows_opts {
	enum ks_order order; /* --order-by */
	u64 top;	     /* --top; 0 = all */
};

/*
 * A command: what it is called, and which options it has. What they said is in the structs that the command
 * has for its options; those of the shared sets are named here.
 */
struct ks_cli {
	const char *command;  /* for messages: "kmemscope account" */
	const char *usage;    /* above the options in --help */
	const char *epilogue; /* and below; may be NULL */
	unsigned int shared;  /* KS_WITH_*: the shared options that it has */
	bool shared_hidden;   /* they are not in --help */
	bool runs_command;    /* options behind the first operand belong to that command */
	unsigned int part;    /* of a command with subcommands: the bit of the one that runs */

	struct ks_output_opts output;
	struct ks_capture_opts *capture; /* NULL = the command analyses no capture */
	struct ks_rows_opts *rows;	 /* NULL = the command has no --order-by and no --top */
};

/* What the frames of a profile are: recorded stacks, where there are any, or places in the source. */
enum ks_frames { KS_FRAMES_STACK, KS_FRAMES_PLACE, KS_FRAMES };

const char *ks_frames_name(unsigned int frames);

/* Takes the one file argument, where no option named it. -1 or an exit code. */
int ks_cli_input(struct ks_cli *cli, int argc, char **argv);

/* Prints "COMMAND: message" to standard error and returns the code. */
int ks_cli_error(const struct ks_cli *cli, int code, const char *fmt, ...) ks_printf(3, 4);

/* Prints an error of the library. Returns the exit code that fits it. */
int ks_cli_fail(const struct ks_cli *cli, int err, const struct ks_diag *diag);

/* Opens what -k and -b ask for. *ret_resolver may be NULL. 0 or an exit code. */
int ks_cli_resolver(struct ks_cli *cli, struct ks_resolver **ret_resolver);

/* A clock for measuring time; its start has no meaning. */
u64 ks_cli_now_ns(void);

/* A long run for a person: a line on standard error where that is a terminal, and Ctrl-C. */
struct ks_progress {
	const char *what;
	bool tty, shown;
	struct timespec start, last;
};

void ks_cli_progress_start(struct ks_progress *progress, const char *what);

/* To be called often; shown after the first second. Non-zero: stop, Ctrl-C was pressed. */
int ks_cli_progress(void *progress, u64 done, u64 total);
void ks_cli_progress_end(const struct ks_progress *progress);

/* An analysis of the capture or source of the options, with their filter and symbols. */
struct ks_cli_analysis {
	struct ks_cli *cli;
	struct ks_analysis *analysis; /* for accounts and views */
	const char *what;	      /* for the line of progress: "reading" */
	struct ks_progress progress;
	struct ks_helpers helpers;
	struct ks_resolver *resolver;
};

/* With the filter of cli->capture->filter, or with another. 0 or an exit code. */
int ks_cli_analysis_open(struct ks_cli_analysis *run, struct ks_cli *cli,
			 const struct ks_filter *filter);
void ks_cli_analysis_close(struct ks_cli_analysis *run);

/*
 * Opens the source, runs, and closes both. @err and @diag are of the adding of accounts and views: where
 * that failed, so does this. 0 or an exit code.
 */
int ks_cli_analysis_run(struct ks_cli_analysis *run, int err, struct ks_diag *diag,
			struct ks_model **ret_model);

/* The analysis by one grouping. 0 or an exit code. */
int ks_cli_analyze(struct ks_cli *cli, enum ks_by by, struct ks_model **ret_model);

/* By site, with one of the views (analysis/views.h), whose result is in the model. */
int ks_cli_frag(struct ks_cli *cli, struct ks_model **ret_model);
int ks_cli_timeline(struct ks_cli *cli, struct ks_model **ret_model);

/* By site, handing out every object. */
int ks_cli_objects(struct ks_cli *cli, ks_object_fn *fn, void *ctx, struct ks_model **ret_model);

/* By site, without the filter, writing a DB too. */
int ks_cli_import(struct ks_cli *cli, const char *db_path, struct ks_model **ret_model);

/* Prints to standard output, through a pager where that is a terminal. 0 or an exit code. */
int ks_cli_print(const struct ks_cli *cli, const struct ks_strbuf *text);

/* Prints a document as the options ask: text, --json or --csv. Frees it. 0 or an exit code. */
int ks_cli_print_doc(const struct ks_cli *cli, struct ks_doc *doc);

/* Writes a file ("-" = standard output); mode 0600. 0 or an exit code. */
int ks_cli_write(const struct ks_cli *cli, const char *path, const struct ks_strbuf *text);

/* Prints the capture quality alone, when the report went to a file. 0 or an exit code. */
int ks_cli_print_quality(const struct ks_cli *cli, const struct ks_model *model);

/* KS_EXIT_LOST if --strict was given and events were lost, else 0. */
int ks_cli_verdict(const struct ks_cli *cli, const struct ks_model *model);

/*
 * How commands end that write a file: writes the text, says so with ks_cli_print_written(), and gives the
 * verdict. Frees text and model. Returns the exit code.
 */
int ks_cli_conclude(const struct ks_cli *cli, struct ks_written *written, struct ks_strbuf *text,
		    struct ks_model *model);

/* How reports end: prints the document, gives the verdict, frees both. Returns the exit code. */
int ks_cli_conclude_doc(const struct ks_cli *cli, struct ks_doc *doc, struct ks_model *model);

/*
 * How commands end that have written a file: prints what was written with --json, else the capture
 * quality, unless the file is standard output, which then has no room for --json. 0 or an exit code.
 */
int ks_cli_check_written(const struct ks_cli *cli, const char *path);
int ks_cli_print_written(const struct ks_cli *cli, const struct ks_model *model,
			 const struct ks_written *written);

/* Where the account goes: file names, "-" for standard output, NULL for nowhere. */
struct ks_account_outputs {
	const char *account, *callers, *save_db;
};

/* Analyses cli->capture->input by site and writes what is asked for. Returns the exit code. */
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

/* For parse: an enum ks_ring_attr. */
ks_option_fn ks_cli_parse_ring_attr;

/* Draws the chart. Returns the exit code. */
int ks_cli_rings(struct ks_cli *cli, const struct ks_rings_args *args);

/* Measures cli->capture->kernel, and names the objects that cannot be read. 0 or an exit code. */
struct ks_static_model;
int ks_cli_static_model(const struct ks_cli *cli, bool symbols, struct ks_static_model **ret_model);

int ks_cmd_static(int argc, char **argv);
int ks_cmd_kmap(int argc, char **argv);
int ks_cmd_lab(int argc, char **argv);
int ks_cmd_rings(int argc, char **argv);
int ks_cmd_account(int argc, char **argv);
int ks_cmd_import(int argc, char **argv);
int ks_cmd_record(int argc, char **argv);
int ks_cmd_check(int argc, char **argv);
int ks_cmd_doctor(int argc, char **argv);
int ks_cmd_heap(int argc, char **argv);
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
