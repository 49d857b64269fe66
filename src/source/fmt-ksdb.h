/* SPDX-License-Identifier: LGPL-2.1-only */
/* The events of a DB, as a capture. */
#ifndef KS_SOURCE_FMT_KSDB_H
#define KS_SOURCE_FMT_KSDB_H

#include "input/input.h"
#include "trace/reader.h"

/* Takes over the input, even on error. */
int ks_ksdb_trace_open(struct ks_input *input, struct ks_trace **ret_trace, struct ks_diag *diag);

#endif
