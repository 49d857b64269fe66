/* SPDX-License-Identifier: LGPL-2.1-only */
/* Numbers as digits, for writers of millions of them: printf() takes several times as long. */
#ifndef KS_BASE_DIGITS_H
#define KS_BASE_DIGITS_H

#include <string.h>

#include "base/types.h"

/* The most characters that either function writes. */
enum { KS_DIGITS_MAX = 20 };

/* Writes the number and returns the end of it; there is no NUL. */
static inline char *ks_put_decimal(char *to, u64 value)
{
	static const char pairs[201] =
		"0001020304050607080910111213141516171819202122232425262728293031323334353637383940"
		"4142434445464748495051525354555657585960616263646566676869707172737475767778798081"
		"828384858687888990919293949596979899";
	char text[KS_DIGITS_MAX];
	size_t at = sizeof(text);

	for (; value >= 100; value /= 100) {
		at -= 2;
		memcpy(text + at, pairs + 2 * (value % 100), 2);
	}
	if (value >= 10) {
		at -= 2;
		memcpy(text + at, pairs + 2 * value, 2);
	} else {
		text[--at] = (char)('0' + value);
	}
	memcpy(to, text + at, sizeof(text) - at);
	return to + sizeof(text) - at;
}

/* "0x1f" */
static inline char *ks_put_hex(char *to, u64 value)
{
	unsigned int digits = value ? (67 - (unsigned int)__builtin_clzll(value)) / 4 : 1;

	*to++ = '0';
	*to++ = 'x';
	while (digits-- > 0)
		*to++ = "0123456789abcdef"[value >> 4 * digits & 15];
	return to;
}

#endif
