// SPDX-License-Identifier: LGPL-2.1-only
/* A window that moves over an input. */
#include "kmap/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/input.h"

/* === Internals ============================================================================ */

/* Drops a line that does not fit. */
static int skip_long_line(struct ks_window *window, struct ks_diag *diag)
{
	const char *newline = NULL;
	int err;

	while (!newline) {
		window->pos = window->len;
		err = ks_window_fill(window, diag);
		if (err)
			return err;
		if (window->pos == window->len)
			return 0;
		newline = memchr(window->buf, '\n', window->len);
	}
	window->pos = (size_t)(newline - window->buf) + 1;
	return 0;
}

/* === Public =============================================================================== */

int ks_window_init(struct ks_window *window, struct ks_input *input)
{
	*window = (struct ks_window){ .input = input };
	window->buf = malloc(KS_WINDOW_SIZE + 1);
	return window->buf ? 0 : -ENOMEM;
}

void ks_window_deinit(struct ks_window *window)
{
	free(window->buf);
	window->buf = NULL;
}

int ks_window_fill(struct ks_window *window, struct ks_diag *diag)
{
	size_t left = window->len - window->pos, got = 0;
	int err = 0;

	memmove(window->buf, window->buf + window->pos, left);
	window->offset += window->pos;
	window->pos = 0;
	window->len = left;
	if (!window->at_end && left < KS_WINDOW_SIZE) {
		err = ks_input_read(window->input, window->buf + left, KS_WINDOW_SIZE - left, &got,
				    diag);
		if (err)
			return err;
		window->at_end = got < KS_WINDOW_SIZE - left;
		window->len += got;
	}
	window->buf[window->len] = '\n';
	return 0;
}

int ks_window_line(struct ks_window *window, const char **ret_line, size_t *ret_len,
		   struct ks_diag *diag)
{
	const char *line = window->buf + window->pos;
	const char *newline = memchr(line, '\n', window->len - window->pos);
	int err;

	if (!newline && !window->at_end) {
		err = ks_window_fill(window, diag);
		if (err)
			return err;
		line = window->buf;
		newline = memchr(line, '\n', window->len);
		if (!newline && window->len == KS_WINDOW_SIZE) {
			err = skip_long_line(window, diag);
			if (err)
				return err;
			*ret_line = line;
			*ret_len = SIZE_MAX;
			return 0;
		}
	}
	if (window->pos == window->len) {
		*ret_line = NULL;
		return 0;
	}
	if (!newline)
		newline = window->buf + window->len;
	*ret_line = line;
	*ret_len = (size_t)(newline - line);
	window->pos = ks_min((size_t)(newline - window->buf) + 1, window->len);
	return 0;
}
