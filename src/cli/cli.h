/* SPDX-License-Identifier: GPL-2.0-only */
/* What all commands share: exit codes, common options, messages. */
#ifndef KS_CLI_CLI_H
#define KS_CLI_CLI_H

#include "analysis/filter.h"
#include "base/diag.h"
#include "cli/option.h"
#include "report/report.h"

struct ks_source;

enum {
	KS_EXIT_OK = 0,
	KS_EXIT_FAILED = 1,
	KS_EXIT_USAGE = 2,
	KS_EXIT_BAD_INPUT = 3,
	KS_EXIT_LOST = 4, /* with --strict */
	KS_EXIT_BUDGET = 5,
	KS_EXIT_INTERRUPTED = 130,
};

enum ks_color { KS_COLOR_AUTO, KS_COLOR_ALWAYS, KS_COLOR_NEVER, KS_COLORS };

/* How a command speaks to its user: --json, --csv, --markdown, --bytes, --no-pager, --strict, --verbose, --color. */
struct ks_output_opts {
	bool json, csv, markdown, bytes, no_pager, strict, verbose;
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
enum ks_frames {
	KS_FRAMES_STACK,
	KS_FRAMES_PLACE,
	KS_FRAMES,
	KS_FRAMES_PROCESS = KS_FRAMES,
	KS_FLAMES
};

const char *ks_frames_name(unsigned int frames);

/* Takes the one file argument, where no option named it. -1 or an exit code. */
int ks_cli_input(struct ks_cli *cli, int argc, char **argv);

/* Prints "COMMAND: message" to standard error and returns the code. */
int ks_cli_error(const struct ks_cli *cli, int code, const char *fmt, ...) ks_printf(3, 4);

/* Says that "kmemscope COMMAND" has no such subcommand, and which one may have been meant. KS_EXIT_USAGE. */
struct ks_nearest;
int ks_cli_unknown_subcommand(struct ks_cli *cli, const char *command,
			      const struct ks_nearest *nearest);

/* Prints an error of the library. Returns the exit code that fits it. */
int ks_cli_fail(const struct ks_cli *cli, int err, const struct ks_diag *diag);

#endif
