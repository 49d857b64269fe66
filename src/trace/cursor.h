/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A bounded place in a file or in memory, for the parts of a capture that are read once. As in
 * base/bytes.h a read past the end sets a flag that stays set; the first failure is explained in
 * the cursor's diag, with the file's name and the offset.
 */
#ifndef KS_TRACE_CURSOR_H
#define KS_TRACE_CURSOR_H

#include "base/diag.h"
#include "base/io.h"

struct ks_cursor {
	const char *name; /* of the file, for messages */
	int fd;		  /* -1: in memory */
	const u8 *mem;
	char *to_give; /* the start of mem, where ks_cursor_take() may give it away; else NULL */
	u64 pos, end;
	bool big_endian;
	int err; /* of the first failure */
	struct ks_diag diag;
};

void ks_cursor_file(struct ks_cursor *cur, const char *name, int fd, u64 pos, u64 end);
void ks_cursor_mem(struct ks_cursor *cur, const char *name, const void *mem, size_t len);

/* Fails with what was expected there: "wanted @what". Returns the error. */
int ks_cursor_fail(struct ks_cursor *cur, const char *what);

bool ks_cursor_read(struct ks_cursor *cur, void *buf, size_t len);
void ks_cursor_skip(struct ks_cursor *cur, u64 len);
u64 ks_cursor_uint(struct ks_cursor *cur, unsigned int size);

/* A NUL-terminated string of less than @cap bytes. */
bool ks_cursor_string(struct ks_cursor *cur, char *buf, size_t cap);

/* @len bytes and a NUL in memory of their own; NULL on failure. */
char *ks_cursor_blob(struct ks_cursor *cur, u64 len);

/*
 * The next @len bytes, for good: they begin at *ret_start of the memory (from malloc) that is returned. They are
 * copied only where the cursor has nothing to give; to_give is NULL once it has given. NULL on failure.
 */
char *ks_cursor_take(struct ks_cursor *cur, u64 len, size_t *ret_start);

#endif
