/* SPDX-License-Identifier: GPL-2.0-only */
/* For commands that run for months. */
#ifndef KS_CLI_LONG_RUN_H
#define KS_CLI_LONG_RUN_H

/*
 * What a count of the kernel's objects needs for a second is given back to the system after it. Left alone, the C library
 * learns from the first large block that is freed to keep those that follow.
 */
void ks_cli_long_run(void);

#endif
