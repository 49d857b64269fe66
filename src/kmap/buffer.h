/* SPDX-License-Identifier: LGPL-2.1-only */
/* A buffer that moves over an input: what is in it can be looked at before it is used up. */
#ifndef KS_KMAP_BUFFER_H
#define KS_KMAP_BUFFER_H

#include "base/diag.h"

struct ks_input;

#define KS_KMAP_BUFFER_SIZE (1u << 20)

struct ks_kmap_buffer {
	struct ks_input *input;
	char *buf;
	size_t pos, len; /* bytes not yet used are [pos, len) */
	u64 offset;	 /* of buf[0] in the input */
	bool at_end;	 /* the input has no more */
};

int ks_kmap_buffer_init(struct ks_kmap_buffer *buffer, struct ks_input *input);
void ks_kmap_buffer_deinit(struct ks_kmap_buffer *buffer);

/* Moves what is left to the front and fills the buffer up. */
int ks_kmap_buffer_fill(struct ks_kmap_buffer *buffer, struct ks_diag *diag);

/*
 * The next line, followed by a newline even where the input ends without. *ret_line is NULL at the
 * end. Of a line longer than the buffer, *ret_len is SIZE_MAX and nothing is seen.
 */
int ks_kmap_buffer_line(struct ks_kmap_buffer *buffer, const char **ret_line, size_t *ret_len,
			struct ks_diag *diag);

#endif
