/* SPDX-License-Identifier: LGPL-2.1-only */
/* Files of settings: lines "name = value", empty lines, and comments behind '#'. */
#ifndef KS_BASE_CONFIG_H
#define KS_BASE_CONFIG_H

#include "base/diag.h"

/* Takes one setting. Returns 0, or -errno and why: the file and the line come in front of it. */
typedef int ks_config_fn(void *ctx, const char *name, const char *value, struct ks_diag *diag);

/*
 * Takes the text apart, which changes it; @path is for messages. Settings come in the order of the file, and the first
 * that is refused ends it. KS_EBADINPUT: a line is no setting.
 */
int ks_config_parse(char *text, size_t len, const char *path, ks_config_fn *fn, void *ctx,
		    struct ks_diag *diag);

/* The same of a file. Values stay as long as *@ret_text, which the caller frees. */
int ks_config_read(const char *path, ks_config_fn *fn, void *ctx, char **ret_text,
		   struct ks_diag *diag);

#endif
