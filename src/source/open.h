/* SPDX-License-Identifier: LGPL-2.1-only */
/* The door to captures of all formats. A file is recognised by its content, never by its name. */
#ifndef KS_SOURCE_OPEN_H
#define KS_SOURCE_OPEN_H

#include "trace/reader.h"

/*
 * Opens a capture; "-" is standard input, a directory holds the files of a kmemtrace capture.
 * Compressed files are read as they are.
 */
int ks_trace_open(const char *path, struct ks_trace **ret_trace, struct ks_diag *diag);
int ks_trace_open_with(const char *path, const struct ks_trace_opts *opts,
		       struct ks_trace **ret_trace, struct ks_diag *diag);

/* The same for a list of files: the per-CPU files of one kmemtrace capture, or a single path. */
int ks_trace_open_files(const char *const *paths, size_t len, struct ks_trace **ret_trace,
			struct ks_diag *diag);

#endif
