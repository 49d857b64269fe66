/* SPDX-License-Identifier: LGPL-2.1-only */
/* The context of an error: library code fills one of these and returns -errno; it never prints. */
#ifndef KS_BASE_DIAG_H
#define KS_BASE_DIAG_H

#include "base/types.h"

struct ks_diag {
	int err;	/* what was returned with it: a negative errno, or KS_EBADINPUT */
	char text[512]; /* one line for a person: what, where, how to fix it */
};

/* Records the message (if @diag is not NULL) and returns @err, so that callers can return it. */
int ks_diag_set(struct ks_diag *diag, int err, const char *fmt, ...) ks_printf(3, 4);

/* Records that memory ran out while doing @what, and returns -ENOMEM. */
int ks_diag_nomem(struct ks_diag *diag, const char *what);

/*
 * Input that is damaged, hostile or of no known format; the command line turns it into exit 3. No errno
 * has this number, on any architecture: a disk that fails a checksum of its own (EBADMSG) is a disk
 * error, and not bad input.
 */
#define KS_EBADINPUT (-100000)

#endif
