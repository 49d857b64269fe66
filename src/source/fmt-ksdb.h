/* SPDX-License-Identifier: LGPL-2.1-only */
/* The events of a DB, as a capture. */
#ifndef KS_SOURCE_FMT_KSDB_H
#define KS_SOURCE_FMT_KSDB_H

#include "input/input.h"
#include "trace/source.h"

/* Takes over the input, even on error. */
int ks_ksdb_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag);

#endif
