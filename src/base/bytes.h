/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The bounded reader. A read past the end returns zero and sets a flag that stays set, so that a parser
 * can read a whole record and check once. CONTRIBUTING.md names the few readers that do without it.
 */
#ifndef KS_BASE_BYTES_H
#define KS_BASE_BYTES_H

#include <endian.h>
#include <string.h>

#include "base/types.h"

/* A number of 1, 2, 4 or 8 bytes. The caller knows that they are there. */
static inline u64 ks_load(const u8 *p, unsigned int size, bool swap)
{
	u64 v8;
	u32 v4;
	u16 v2;

	switch (size) {
	case 8:
		memcpy(&v8, p, 8);
		return swap ? __builtin_bswap64(v8) : v8;
	case 4:
		memcpy(&v4, p, 4);
		return swap ? __builtin_bswap32(v4) : v4;
	case 2:
		memcpy(&v2, p, 2);
		return swap ? __builtin_bswap16(v2) : v2;
	case 1:
		return *p;
	default:
		return 0;
	}
}

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
static inline const void *ks_bytes_take(struct ks_bytes *b, u64 n)
{
	const u8 *p = b->data + b->pos;

	if (b->overrun || n > ks_bytes_left(b)) {
		b->overrun = true;
		return NULL;
	}
	b->pos += (size_t)n;
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

/*
 * LEB128; more than ten bytes is an overrun. Most are of one or two bytes, with no telling which: these
 * are read without a branch on it. The call gets values, so that @b can stay in registers.
 */
struct ks_varint {
	u64 value;
	size_t size; /* in bytes; 0 = not a whole one */
};

struct ks_varint ks_varint_long(const u8 *data, size_t len);

static inline u64 ks_bytes_varint(struct ks_bytes *b)
{
	size_t left = b->overrun ? 0 : ks_bytes_left(b);
	const u8 *p = b->data + b->pos;
	struct ks_varint v;

	if (likely(left >= 2)) {
		u32 more = p[0] >> 7;

		if (likely(!(more & p[1] >> 7))) {
			b->pos += 1 + more;
			return (p[0] & 0x7f) | (p[1] & -more) << 7;
		}
	}
	v = ks_varint_long(p, left);
	b->pos += v.size;
	b->overrun |= !v.size;
	return v.value;
}

/*
 * @count varints, at most four, where most are short: those of one and two bytes come out of one load,
 * so that none waits for the size of the one before to reach memory.
 */
static inline void ks_bytes_varints(struct ks_bytes *b, unsigned int count, u64 *ret)
{
	unsigned int i, used = 0;
	u64 word, is_long = 0;

	if (likely(!b->overrun && ks_bytes_left(b) >= 8)) {
		memcpy(&word, b->data + b->pos, 8);
		word = le64toh(word);
		for (i = 0; i < count; i++) {
			u64 more = word >> 7 & 1;

			ret[i] = (word & 0x7f) | (word >> 1 & 0x3f80 & -more);
			is_long |= more & word >> 15;
			word >>= 8 << more;
			used += 1 + (unsigned int)more;
		}
		if (likely(!is_long)) {
			b->pos += used;
			return;
		}
	}
	for (i = 0; i < count; i++)
		ret[i] = ks_bytes_varint(b);
}

/* Signed numbers as varints: those near zero are short, on both sides. */
static inline u64 ks_zigzag(s64 v)
{
	return ((u64)v << 1) ^ (u64)(v >> 63);
}

static inline s64 ks_unzigzag(u64 v)
{
	return (s64)(v >> 1) ^ -(s64)(v & 1);
}

/* A string with a varint length in front, in place and not terminated. */
const char *ks_bytes_string(struct ks_bytes *b, size_t *ret_len);

#endif
