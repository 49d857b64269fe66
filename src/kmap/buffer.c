// SPDX-License-Identifier: LGPL-2.1-only
/* A buffer that moves over an input. */
#include "kmap/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/input.h"

/* === Internals ============================================================================ */

/* Drops a line that does not fit. */
static int skip_long_line(struct ks_kmap_buffer *buffer, struct ks_diag *diag)
{
	const char *newline = NULL;
	int err;

	while (!newline) {
		buffer->pos = buffer->len;
		err = ks_kmap_buffer_fill(buffer, diag);
		if (err)
			return err;
		if (buffer->pos == buffer->len)
			return 0;
		newline = memchr(buffer->buf, '\n', buffer->len);
	}
	buffer->pos = (size_t)(newline - buffer->buf) + 1;
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_buffer_init(struct ks_kmap_buffer *buffer, struct ks_input *input)
{
	*buffer = (struct ks_kmap_buffer){ .input = input };
	buffer->buf = malloc(KS_KMAP_BUFFER_SIZE + 1);
	return buffer->buf ? 0 : -ENOMEM;
}

void ks_kmap_buffer_deinit(struct ks_kmap_buffer *buffer)
{
	free(buffer->buf);
	buffer->buf = NULL;
}

int ks_kmap_buffer_fill(struct ks_kmap_buffer *buffer, struct ks_diag *diag)
{
	size_t left = buffer->len - buffer->pos, got = 0;
	int err = 0;

	memmove(buffer->buf, buffer->buf + buffer->pos, left);
	buffer->offset += buffer->pos;
	buffer->pos = 0;
	buffer->len = left;
	if (!buffer->at_end && left < KS_KMAP_BUFFER_SIZE) {
		err = ks_input_read(buffer->input, buffer->buf + left, KS_KMAP_BUFFER_SIZE - left,
				    &got, diag);
		if (err)
			return err;
		buffer->at_end = got < KS_KMAP_BUFFER_SIZE - left;
		buffer->len += got;
	}
	buffer->buf[buffer->len] = '\n';
	return 0;
}

int ks_kmap_buffer_line(struct ks_kmap_buffer *buffer, const char **ret_line, size_t *ret_len,
			struct ks_diag *diag)
{
	const char *line = buffer->buf + buffer->pos;
	const char *newline = memchr(line, '\n', buffer->len - buffer->pos);
	int err;

	if (!newline && !buffer->at_end) {
		err = ks_kmap_buffer_fill(buffer, diag);
		if (err)
			return err;
		line = buffer->buf;
		newline = memchr(line, '\n', buffer->len);
		if (!newline && buffer->len == KS_KMAP_BUFFER_SIZE) {
			err = skip_long_line(buffer, diag);
			if (err)
				return err;
			*ret_line = line;
			*ret_len = SIZE_MAX;
			return 0;
		}
	}
	if (buffer->pos == buffer->len) {
		*ret_line = NULL;
		return 0;
	}
	if (!newline)
		newline = buffer->buf + buffer->len;
	*ret_line = line;
	*ret_len = (size_t)(newline - line);
	buffer->pos = ks_min((size_t)(newline - buffer->buf) + 1, buffer->len);
	return 0;
}
