/* SPDX-License-Identifier: GPL-2.0-only */
/* The verdict on the file of a capture, for the commands that give one. */
#ifndef KS_CLI_CHECK_H
#define KS_CLI_CHECK_H

#include "analysis/check.h"

/* Content that no reader accepts is a finding, not an error: see ks_check_source(). */
int ks_cli_check_file(const char *path, struct ks_check *ret_check, struct ks_diag *diag);

#endif
