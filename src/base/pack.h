/* SPDX-License-Identifier: LGPL-2.1-only */
/* The writing side of base/bytes.h: little-endian integers, varints and strings into a strbuf. */
#ifndef KS_BASE_PACK_H
#define KS_BASE_PACK_H

#include "base/strbuf.h"

static inline void ks_pack_uint(struct ks_strbuf *sb, u64 v, unsigned int size)
{
	u8 bytes[8];
	unsigned int i;

	for (i = 0; i < size; i++)
		bytes[i] = (u8)(v >> 8 * i);
	ks_strbuf_add(sb, bytes, size);
}

static inline void ks_pack_varint(struct ks_strbuf *sb, u64 v)
{
	u8 bytes[10];
	unsigned int n = 0;

	do {
		bytes[n] = (u8)(v & 0x7f);
		v >>= 7;
		if (v)
			bytes[n] |= 0x80;
		n++;
	} while (v);
	ks_strbuf_add(sb, bytes, n);
}

static inline void ks_pack_string(struct ks_strbuf *sb, const char *s, size_t len)
{
	ks_pack_varint(sb, len);
	ks_strbuf_add(sb, s, len);
}

#endif
