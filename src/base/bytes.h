/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The bounded reader: all binary input goes through it. A read past the end returns zero and sets
 * a flag that stays set, so that a parser can read a whole record and check once.
 */
#ifndef KS_BASE_BYTES_H
#define KS_BASE_BYTES_H

#include <string.h>

#include "base/types.h"

struct ks_bytes {
	const u8 *data;
	size_t len, pos;
	bool big_endian;
	bool overrun;
};

static inline void ks_bytes_init(struct ks_bytes *b, const void *data, size_t len)
{
	*b = (struct ks_bytes){ .data = data, .len = len };
}

static inline size_t ks_bytes_left(const struct ks_bytes *b)
{
	return b->len - b->pos;
}

/* @n bytes in place, or NULL with the flag set. */
static inline const void *ks_bytes_take(struct ks_bytes *b, size_t n)
{
	const u8 *p = b->data + b->pos;

	if (b->overrun || n > ks_bytes_left(b)) {
		b->overrun = true;
		return NULL;
	}
	b->pos += n;
	return p;
}

static inline u64 ks_bytes_uint(struct ks_bytes *b, unsigned int size)
{
	const u8 *p = ks_bytes_take(b, size);
	u64 v = 0;
	unsigned int i;

	if (!p)
		return 0;
	for (i = 0; i < size; i++)
		v |= (u64)p[i] << 8 * (b->big_endian ? size - 1 - i : i);
	return v;
}

static inline u8 ks_bytes_u8(struct ks_bytes *b)
{
	return (u8)ks_bytes_uint(b, 1);
}

static inline u16 ks_bytes_u16(struct ks_bytes *b)
{
	return (u16)ks_bytes_uint(b, 2);
}

static inline u32 ks_bytes_u32(struct ks_bytes *b)
{
	return (u32)ks_bytes_uint(b, 4);
}

static inline u64 ks_bytes_u64(struct ks_bytes *b)
{
	return ks_bytes_uint(b, 8);
}

/* LEB128; more than ten bytes is an overrun. Most are of one byte: these stay out of the call. */
u64 ks_bytes_varint_long(struct ks_bytes *b);

static inline u64 ks_bytes_varint(struct ks_bytes *b)
{
	if (likely(!b->overrun && b->pos < b->len && b->data[b->pos] < 0x80))
		return b->data[b->pos++];
	return ks_bytes_varint_long(b);
}

/* A string with a varint length in front, in place and not terminated. */
const char *ks_bytes_string(struct ks_bytes *b, size_t *ret_len);

#endif
