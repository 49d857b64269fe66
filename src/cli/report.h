/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports: commands that analyse one capture and print a document of tables. A report says what it needs
 * and how its document is made; ks_cli_run_report() does the rest: options, progress, the analysis, text, JSON
 * or CSV, the capture quality and the exit status. CONTRIBUTING.md shows how to add one.
 */
#ifndef KS_CLI_REPORT_H
#define KS_CLI_REPORT_H

#include "analysis/analysis.h"
#include "cli/cli.h"

struct ks_report {
	const char *usage;    /* above the options in --help */
	const char *examples; /* below them */
	unsigned int shared;  /* KS_WITH_*: the shared options that it has */

	/*
	 * Its own options: a struct of this size, zeroed, and the rows that say which option goes to
	 * which of its fields. At most KS_REPORT_OPTIONS rows; the array is zeroed. May be NULL.
	 */
	size_t opts_size;
	void (*options)(struct ks_cli *cli, void *opts, struct ks_option *rows);

	/* Whether options contradict each other: 0 or an exit code. May be NULL. */
	int (*check)(const struct ks_cli *cli, const void *opts);

	/* Prints what is no capture: -1 when the input is one, or the exit code. May be NULL. */
	int (*other)(const struct ks_cli *cli);

	/* Adds the accounts and views that it needs. NULL = the account by site. */
	int (*ask)(struct ks_analysis *analysis, const void *opts, struct ks_diag *diag);

	bool timeless_text; /* its text, unlike JSON and CSV, has no times of groups */

	/* Makes the document; NULL when there is no memory. */
	struct ks_doc *(*make)(const struct ks_model *model, const struct ks_cli *cli,
			       const void *opts);
};

enum { KS_REPORT_OPTIONS = 32 };

/* Returns the exit code. */
int ks_cli_run_report(const struct ks_report *report, int argc, char **argv);

extern const struct ks_report ks_report_info, ks_report_leaks, ks_report_report;

#endif
