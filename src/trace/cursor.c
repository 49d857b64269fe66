// SPDX-License-Identifier: LGPL-2.1-only
/* Bounded reads from a file or from memory. */
#include "trace/cursor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* === Internals ============================================================================ */

/* Whether so much is left. Most files that end too early were not copied whole. */
static bool has(struct ks_cursor *cur, u64 len)
{
	if (cur->err)
		return false;
	if (cur->pos <= cur->end && len <= cur->end - cur->pos)
		return true;
	cur->err = ks_diag_set(
		&cur->diag, KS_EBADINPUT,
		"%s: cut off or damaged: wanted %llu bytes at byte %llu%s, but the end is at "
		"%llu",
		cur->name, (unsigned long long)len, (unsigned long long)cur->pos,
		cur->fd < 0 ? " of a section" : "", (unsigned long long)cur->end);
	return false;
}

/* === Public =============================================================================== */

void ks_cursor_file(struct ks_cursor *cur, const char *name, int fd, u64 pos, u64 end)
{
	*cur = (struct ks_cursor){ .name = name, .fd = fd, .pos = pos, .end = end };
}

void ks_cursor_mem(struct ks_cursor *cur, const char *name, const void *mem, size_t len)
{
	*cur = (struct ks_cursor){ .name = name, .fd = -1, .mem = mem, .end = len };
}

int ks_cursor_fail(struct ks_cursor *cur, const char *what)
{
	if (!cur->err)
		cur->err = ks_diag_set(&cur->diag, KS_EBADINPUT,
				       "%s: damaged at byte %llu%s: wanted %s", cur->name,
				       (unsigned long long)cur->pos,
				       cur->fd < 0 ? " of a section" : "", what);
	return cur->err;
}

bool ks_cursor_read(struct ks_cursor *cur, void *buf, size_t len)
{
	ssize_t n;

	if (!has(cur, len))
		return false;
	if (cur->fd < 0) {
		memcpy(buf, cur->mem + cur->pos, len);
	} else {
		n = ks_pread_full(cur->fd, buf, len, cur->pos);
		if (n < 0) {
			cur->err = ks_diag_set(&cur->diag, (int)n, "%s: cannot read: %s", cur->name,
					       strerror((int)-n));
			return false;
		}
		if ((size_t)n < len) {
			ks_cursor_fail(cur, "more data, but the file ends there");
			return false;
		}
	}
	cur->pos += len;
	return true;
}

void ks_cursor_skip(struct ks_cursor *cur, u64 len)
{
	if (has(cur, len))
		cur->pos += len;
}

u64 ks_cursor_uint(struct ks_cursor *cur, unsigned int size)
{
	u8 bytes[8];
	u64 v = 0;
	unsigned int i;

	if (!ks_cursor_read(cur, bytes, size))
		return 0;
	for (i = 0; i < size; i++)
		v |= (u64)bytes[i] << 8 * (cur->big_endian ? size - 1 - i : i);
	return v;
}

bool ks_cursor_string(struct ks_cursor *cur, char *buf, size_t cap)
{
	size_t i;

	for (i = 0; i < cap; i++) {
		if (!ks_cursor_read(cur, &buf[i], 1))
			return false;
		if (!buf[i])
			return true;
	}
	ks_cursor_fail(cur, "the end of a string");
	return false;
}

char *ks_cursor_blob(struct ks_cursor *cur, u64 len)
{
	char *blob;

	if (!has(cur, len))
		return NULL;
	blob = len < SIZE_MAX ? malloc((size_t)len + 1) : NULL;
	if (!blob) {
		cur->err = ks_diag_nomem(&cur->diag, "reading a capture's header");
		return NULL;
	}
	if (!ks_cursor_read(cur, blob, (size_t)len)) {
		free(blob);
		return NULL;
	}
	blob[len] = '\0';
	return blob;
}

char *ks_cursor_take(struct ks_cursor *cur, u64 len, size_t *ret_start)
{
	char *memory = cur->to_give;
	size_t start = (size_t)cur->pos; /* used where it is a place in memory */

	if (memory) {
		ks_cursor_skip(cur, len);
		if (cur->err)
			return NULL;
		cur->to_give = NULL;
	} else {
		start = 0;
		memory = ks_cursor_blob(cur, len);
	}
	*ret_start = start;
	return memory;
}
