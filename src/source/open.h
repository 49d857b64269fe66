/* SPDX-License-Identifier: LGPL-2.1-only */
/* The door to sources of all kinds. A file is recognised once, by its content, never by its name. */
#ifndef KS_SOURCE_OPEN_H
#define KS_SOURCE_OPEN_H

#include "trace/source.h"

/*
 * Opens what is at @path; "-" is standard input, a directory holds the files of a kmemtrace capture.
 * Compressed files are read as they are. @opts may be NULL.
 */
int ks_source_open(const char *path, const struct ks_source_opts *opts,
		   struct ks_source **ret_source, struct ks_diag *diag);

/* Opens a list of files: the per-CPU files of one kmemtrace capture, or a single path. */
int ks_source_open_files(const char *const *paths, size_t len, const struct ks_source_opts *opts,
			 struct ks_source **ret_source, struct ks_diag *diag);

/* Opens what @fd gives, which is the source's from now on, even on error. @name is for messages. */
int ks_source_open_fd(int fd, const char *name, const struct ks_source_opts *opts,
		      struct ks_source **ret_source, struct ks_diag *diag);

/*
 * A source that the caller makes, live or from a place that only the caller knows. The functions do
 * what those of struct ks_source_ops do, with @ctx; next or sums may be NULL, and so may the rest.
 */
struct ks_source_callbacks {
	const char *format; /* what to call it in reports */
	unsigned int gives; /* enum ks_gives */
	enum ks_clock clock;
	/*
	 * Called before all else: the tables that events and sums take their numbers from, and what the
	 * source says of itself, which stay as long as the source. 0 or a negative errno.
	 */
	int (*start)(void *ctx, struct ks_names *names, struct ks_source_info *info,
		     struct ks_diag *diag);
	int (*next)(void *ctx, struct ks_batch *ret_batch, struct ks_diag *diag);
	int (*sums)(void *ctx, ks_sum_fn *fn, void *fn_ctx, struct ks_diag *diag);
	void (*close)(void *ctx);
};

int ks_source_open_callbacks(const struct ks_source_callbacks *callbacks, void *ctx,
			     const struct ks_source_opts *opts, struct ks_source **ret_source,
			     struct ks_diag *diag);

#endif
