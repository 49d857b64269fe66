/* SPDX-License-Identifier: LGPL-2.1-only */
/* For src/source: the readers of the single formats. Each takes over the input, even on error. */
#ifndef KS_TRACE_FORMATS_H
#define KS_TRACE_FORMATS_H

#include "input/input.h"
#include "trace/reader.h"

/* Starts to read at once, so it has to know what is wanted. */
int ks_text_trace_open(struct ks_input *input, const struct ks_trace_opts *opts,
		       struct ks_trace **ret_trace, struct ks_diag *diag);

/*
 * The same in pieces of @chunk_size bytes, read by up to @workers threads. Neither makes a difference
 * to what is read, but for lines that are longer than a piece.
 */
int ks_text_trace_open_cut(struct ks_input *input, const struct ks_trace_opts *opts,
			   size_t chunk_size, u32 workers, struct ks_trace **ret_trace,
			   struct ks_diag *diag);
int ks_tracedat_trace_open(struct ks_input *input, struct ks_trace **ret_trace,
			   struct ks_diag *diag);
int ks_perfdata_trace_open(struct ks_input *input, struct ks_trace **ret_trace,
			   struct ks_diag *diag);
/* One per-CPU file, which may be one of many; all of a directory; a list. */
int ks_relay_file_open(struct ks_input *input, struct ks_trace **ret_trace, struct ks_diag *diag);
int ks_relay_dir_open(const char *dir, struct ks_trace **ret_trace, struct ks_diag *diag);
int ks_relay_files_open(const char *const *paths, size_t len, struct ks_trace **ret_trace,
			struct ks_diag *diag);

#endif
