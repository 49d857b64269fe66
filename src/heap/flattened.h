/* SPDX-License-Identifier: LGPL-2.1-only */
/* Dumps that were written into a pipe ("flattened"): pieces, each with the place that it belongs to. */
#ifndef KS_HEAP_FLATTENED_H
#define KS_HEAP_FLATTENED_H

#include "base/diag.h"

bool ks_is_flattened(int fd);

/*
 * Puts the pieces in their places, in a file without a name in $TMPDIR, which only this process can open. @path: for
 * messages.
 */
int ks_unflatten(int fd, const char *path, int *ret_fd, struct ks_diag *diag);

#endif
