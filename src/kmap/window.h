/* SPDX-License-Identifier: LGPL-2.1-only */
/* A window that moves over an input: what is in it can be looked at before it is used up. */
#ifndef KS_KMAP_WINDOW_H
#define KS_KMAP_WINDOW_H

#include "base/diag.h"

struct ks_input;

#define KS_WINDOW_SIZE (1u << 20)

struct ks_window {
	struct ks_input *input;
	char *buf;
	size_t pos, len; /* bytes not yet used are [pos, len) */
	u64 offset;	 /* of buf[0] in the input */
	bool at_end;	 /* the input has no more */
};

int ks_window_init(struct ks_window *window, struct ks_input *input);
void ks_window_deinit(struct ks_window *window);

/* Moves what is left to the front and fills the window up. */
int ks_window_fill(struct ks_window *window, struct ks_diag *diag);

/*
 * The next line, followed by a newline even where the input ends without. *ret_line is NULL at the
 * end. Of a line longer than the window, *ret_len is SIZE_MAX and nothing is seen.
 */
int ks_window_line(struct ks_window *window, const char **ret_line, size_t *ret_len,
		   struct ks_diag *diag);

#endif
