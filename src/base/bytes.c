// SPDX-License-Identifier: LGPL-2.1-only
/* The parts of the bounded reader that are too long to be inline. */
#include "base/bytes.h"

u64 ks_bytes_varint_long(struct ks_bytes *b)
{
	unsigned int shift;
	u64 v = 0;

	for (shift = 0; shift < 70; shift += 7) {
		u8 byte = ks_bytes_u8(b);

		if (shift == 63 && byte > 1)
			break;
		v |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	b->overrun = true;
	return 0;
}

const char *ks_bytes_string(struct ks_bytes *b, size_t *ret_len)
{
	u64 len = ks_bytes_varint(b);
	const char *s;

	if (len > ks_bytes_left(b)) {
		b->overrun = true;
		return NULL;
	}
	s = ks_bytes_take(b, (size_t)len);
	if (s)
		*ret_len = (size_t)len;
	return s;
}
