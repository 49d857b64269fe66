/* SPDX-License-Identifier: GPL-2.0-only */
/* The account by site, which three commands print. */
#ifndef KS_CLI_ACCOUNT_H
#define KS_CLI_ACCOUNT_H

#include "cli/cli.h"

/* Where the account goes: file names, "-" for standard output, NULL for nowhere. */
struct ks_account_outputs {
	const char *account, *callers, *save_db;
};

/* Analyses cli->capture->input by site and writes what is asked for. Returns the exit code. */
int ks_cli_account(struct ks_cli *cli, const struct ks_account_outputs *outputs);

#endif
