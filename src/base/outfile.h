/* SPDX-License-Identifier: LGPL-2.1-only */
/* Output files that appear whole or not at all: written under a temporary name, then renamed. */
#ifndef KS_BASE_OUTFILE_H
#define KS_BASE_OUTFILE_H

#include "base/diag.h"

struct ks_outfile {
	int fd;
	char *path;	/* where it will be */
	char *tmp_path; /* where it is now */
};

/* Mode 0600: what comes out of a trace holds kernel addresses. */
int ks_outfile_open(struct ks_outfile *out, const char *path, struct ks_diag *diag);

/* Standard output as such a file, written to as it is. */
int ks_outfile_open_stdout(struct ks_outfile *out, struct ks_diag *diag);

int ks_outfile_write(struct ks_outfile *out, const void *data, size_t len, struct ks_diag *diag);
int ks_outfile_write_at(struct ks_outfile *out, u64 offset, const void *data, size_t len,
			struct ks_diag *diag);

/* Flushes and renames; after it, or after abort, the struct owns nothing. */
int ks_outfile_commit(struct ks_outfile *out, struct ks_diag *diag);
void ks_outfile_abort(struct ks_outfile *out);

#endif
