/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The readers of the single formats: for source/open.c, which knows which of them to call. Each takes
 * over the input, even on error. @opts may be NULL.
 */
#ifndef KS_TRACE_FORMATS_H
#define KS_TRACE_FORMATS_H

#include "input/input.h"
#include "trace/source.h"

int ks_text_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag);

/*
 * A text log in pieces of @chunk_size bytes, read by up to @workers threads, or by the caller's where there
 * are none. Neither makes a difference to what is read, but for lines that are longer than a piece.
 */
int ks_text_source_open_cut(struct ks_input *input, const struct ks_source_opts *opts,
			    size_t chunk_size, u32 workers, struct ks_source **ret_source,
			    struct ks_diag *diag);
int ks_tracedat_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			    struct ks_source **ret_source, struct ks_diag *diag);

/*
 * A trace.dat whose pages are loaded ahead by up to @workers threads, or by the caller's where there are
 * none, and read in pieces of @read_size bytes where pages are not compressed. Neither makes a difference to what
 * is read.
 */
int ks_tracedat_source_open_cut(struct ks_input *input, const struct ks_source_opts *opts,
				u32 read_size, u32 workers, struct ks_source **ret_source,
				struct ks_diag *diag);
int ks_perfdata_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			    struct ks_source **ret_source, struct ks_diag *diag);

/* One per-CPU file, which may be one of many; all of a directory; a list. */
int ks_relay_file_open(struct ks_input *input, const struct ks_source_opts *opts,
		       struct ks_source **ret_source, struct ks_diag *diag);
int ks_relay_dir_open(const char *dir, const struct ks_source_opts *opts,
		      struct ks_source **ret_source, struct ks_diag *diag);
int ks_relay_files_open(const char *const *paths, size_t len, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag);

#endif
