/* SPDX-License-Identifier: LGPL-2.1-only */
/* A stream of bytes from a file or standard input, decompressed where its content says so. */
#ifndef KS_INPUT_INPUT_H
#define KS_INPUT_INPUT_H

#include "base/diag.h"

struct ks_input;

/* Opens @path ("-" = standard input) and finds out about gzip, zstd and xz by the first bytes. */
int ks_input_open(const char *path, struct ks_input **ret_input, struct ks_diag *diag);

/* Reads @fd, which is the input's from now on, even on error; @name is for messages. */
int ks_input_open_fd(int fd, const char *name, struct ks_input **ret_input, struct ks_diag *diag);
void ks_input_close(struct ks_input *input);

/* For messages: the path as given, or "standard input". */
const char *ks_input_name(const struct ks_input *input);

/* The first bytes of the (decompressed) content, up to 4 KiB, without consuming them. */
int ks_input_peek(struct ks_input *input, const void **ret_data, size_t *ret_len,
		  struct ks_diag *diag);

/* Up to @len bytes; *ret_got is less only at the end. */
int ks_input_read(struct ks_input *input, void *buf, size_t len, size_t *ret_got,
		  struct ks_diag *diag);

/*
 * For formats that are read at random: a descriptor for pread() and the number of bytes behind it.
 * A pipe or a compressed file is copied into an unnamed temporary file first. The descriptor stays
 * the input's.
 */
int ks_input_random(struct ks_input *input, int *ret_fd, u64 *ret_size, struct ks_diag *diag);

/*
 * How far the file was read, compressed or not, of how much (0 = not known). May be called from
 * another thread than the reading one.
 */
void ks_input_progress(const struct ks_input *input, u64 *ret_done, u64 *ret_total);

/* The size of the content, where it is known before it is read: a file that is not compressed; else 0. */
u64 ks_input_size(const struct ks_input *input);

#endif
