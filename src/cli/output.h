/* SPDX-License-Identifier: GPL-2.0-only */
/* How a command ends: what it prints, which files it writes, and its verdict. */
#ifndef KS_CLI_OUTPUT_H
#define KS_CLI_OUTPUT_H

#include "cli/cli.h"
#include "report/report.h"

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

#endif
