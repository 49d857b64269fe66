/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options as tables: a row has the name, what --help says of it, and where its argument goes. A command
 * has rows of its own and names the sets of shared ones that it wants.
 */
#ifndef KS_CLI_OPTION_H
#define KS_CLI_OPTION_H

#include "base/types.h"

struct ks_cli;
struct ks_option;

/* Makes sense of an argument. -1 to go on, or the exit code of the program. */
typedef int ks_option_fn(struct ks_cli *cli, const struct ks_option *option, const char *arg);

struct ks_option {
	char letter;	  /* 0 = none */
	const char *name; /* without the dashes; NULL ends a table */
	const char *arg;  /* "FILE"; "[=NAME]" where it may be left out; NULL = there is none */
	const char *help; /* a new line goes on below the text */

	/* Where it goes: one of these. */
	bool *flag;
	const char **string;
	u64 *number;	      /* of min to max; max 0 = of min or more */
	unsigned int *choice; /* an enum: the number of one of the names */
	ks_option_fn *parse;

	u64 min, max;
	unsigned int choices;
	const char *(*name_of)(unsigned int choice);
	void *value;	    /* for parse */
	unsigned int set;   /* of shared options: KS_WITH_* */
	unsigned int parts; /* bits of the subcommands that have it; 0 = all of them */
};

/* Sets of shared options. A row of the command's own stands in for the shared one of its name. */
enum {
	KS_WITH_FILE = 1 << 0,	  /* -f */
	KS_WITH_DB_FILE = 1 << 1, /* --db-file */
	KS_WITH_KERNEL = 1 << 2,  /* -k */
	KS_WITH_BRANCH = 1 << 3,  /* -b */
	KS_WITH_FILTER = 1 << 4,  /* which objects and which time, --pages, helpers, --verbose */
	KS_WITH_ORDER = 1 << 5,	  /* -o */
	KS_WITH_TOP = 1 << 6,
	KS_WITH_JSON = 1 << 7,
	KS_WITH_CSV = 1 << 8,
	KS_WITH_COMMON = 1 << 9, /* --strict, --no-pager, --color */
	KS_WITH_MARKDOWN = 1 << 11,
	KS_WITH_BYTES = 1 << 10, /* --bytes; without it, text has units */

	KS_WITH_INPUT = KS_WITH_FILE | KS_WITH_DB_FILE | KS_WITH_KERNEL,
	/* What all have that analyse one capture. */
	KS_WITH_CAPTURE = KS_WITH_INPUT | KS_WITH_BRANCH | KS_WITH_FILTER | KS_WITH_COMMON,
};

/* All shared options, in the order of --help: returns how many. The small recorder has none. */
enum { KS_SHARED_OPTIONS = 32 };
size_t ks_cli_shared_options(struct ks_cli *cli, struct ks_option *ret_rows);

/*
 * Takes the options; operands begin at optind. @own ends with an empty row, or is NULL. -1 to go on, or
 * the exit code of the program.
 */
int ks_cli_parse(struct ks_cli *cli, const struct ks_option *own, int argc, char **argv);

/* Takes the options and one capture, which an option or the only operand names. */
int ks_cli_parse_capture(struct ks_cli *cli, const struct ks_option *own, int argc, char **argv);

/* Sets an option of @own by its long name, as a line of a file says it; a flag takes yes or no. -1 or an exit code. */
int ks_cli_set(struct ks_cli *cli, const struct ks_option *own, const char *name,
	       const char *value);

/* Prints the text of --help. */
void ks_cli_help(struct ks_cli *cli, const struct ks_option *own);

/* For parse: a capture; a kernel tree, or the kallsyms that go with one. */
ks_option_fn ks_cli_parse_input, ks_cli_parse_kernel;

/* A struct ks_when: "415.2" is the trace's own time, "+1.5" counts from its first event. */
ks_option_fn ks_cli_parse_when;

/* A u64 of nanoseconds, at least min: "1.5", "200ms"; of bytes: "500M". */
ks_option_fn ks_cli_parse_time, ks_cli_parse_size;

/* For parse: a number of the filter, whose struct is the value. */
ks_option_fn ks_cli_parse_cpu, ks_cli_parse_task, ks_cli_parse_bytes;

/* For parse: --cache, alone or with the name of a cache. */
ks_option_fn ks_cli_parse_cache;

/* An enum ks_order: "live", or as trace_analyze says "current_dynamic", ... */
ks_option_fn ks_cli_parse_order;

/* An enum ks_live_level, by its name or its number. */
ks_option_fn ks_cli_parse_level;

/* A u32: the number of a process, at least min. */
ks_option_fn ks_cli_parse_pid;

#endif
