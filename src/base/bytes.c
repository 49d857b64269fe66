// SPDX-License-Identifier: LGPL-2.1-only
/* The parts of the bounded reader that are too long to be inline. */
#include "base/bytes.h"

struct ks_varint ks_varint_long(const u8 *data, size_t len)
{
	u64 v = 0;
	size_t i;

	for (i = 0; i < len && i < 10; i++) {
		if (i == 9 && data[i] > 1)
			break; /* more than 64 bits */
		v |= (u64)(data[i] & 0x7f) << 7 * i;
		if (!(data[i] & 0x80))
			return (struct ks_varint){ v, i + 1 };
	}
	return (struct ks_varint){ 0, 0 };
}

const char *ks_bytes_string(struct ks_bytes *b, size_t *ret_len)
{
	u64 len = ks_bytes_varint(b);
	const char *s;

	if (len > ks_bytes_left(b)) {
		b->overrun = true;
		return NULL;
	}
	s = ks_bytes_take(b, len);
	if (s)
		*ret_len = (size_t)len;
	return s;
}
