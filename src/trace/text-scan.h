/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Small scanners over a line of text: each takes what it knows from the front of *@p and returns
 * whether it was there. They are inline because a log has a billion of these fields.
 */
#ifndef KS_TRACE_TEXT_SCAN_H
#define KS_TRACE_TEXT_SCAN_H

#include <string.h>

#include "base/types.h"

static inline bool ks_is_digit(char c)
{
	return (u8)(c - '0') < 10;
}

static inline void ks_skip_spaces(const char **p, const char *end)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		++*p;
}

/* A literal; a macro, so that its length is a constant and the comparison a few instructions. */
#define ks_eat(p, end, lit)                                                               \
	((size_t)((end) - *(p)) >= sizeof(lit) - 1 && !memcmp(*(p), lit, sizeof(lit) - 1) \
		 ? (*(p) += sizeof(lit) - 1, true)                                        \
		 : false)

/* Decimal, at most 19 digits, so that it cannot overflow. */
static inline bool ks_scan_dec(const char **p, const char *end, u64 *ret_value)
{
	const char *s = *p;
	u64 v = 0;

	while (s < end && ks_is_digit(*s))
		v = v * 10 + (u64)(*s++ - '0');
	if (s == *p || s - *p > 19)
		return false;
	*p = s;
	*ret_value = v;
	return true;
}

static inline bool ks_scan_sdec(const char **p, const char *end, s64 *ret_value)
{
	bool neg = *p < end && **p == '-';
	const char *s = *p + neg;
	u64 v;

	if (!ks_scan_dec(&s, end, &v) || v > INT64_MAX)
		return false;
	*p = s;
	*ret_value = neg ? -(s64)v : (s64)v;
	return true;
}

/*
 * Eight hex digits at once: returns false when one of them is none. Each byte becomes its value;
 * pairs, then quads, are folded by shifts.
 */
static inline bool ks_hex8(const char *s, u32 *ret_value)
{
	const u64 ones = 0x0101010101010101ull;
	u64 w, letter, digit_ok, letter_ok, v;

	memcpy(&w, s, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	w = __builtin_bswap64(w); /* the first character is the highest */
#endif
	if (w & (ones << 7))
		return false;
	letter = (w >> 6) & ones; /* 1 in the bytes '@'..'\x7f' */
	v = (w & (ones * 0x0f)) + letter * 9;
	/* Digits are 0x30..0x39; letters, lowered, are 0x61..0x66. */
	digit_ok = ((w | ones << 7) - ones * 0x30) & ((ones * 0x39 | ones << 7) - w);
	letter_ok = (((w | ones * 0x20) | ones << 7) - ones * 0x61) &
		    ((ones * 0x66 | ones << 7) - (w | ones * 0x20));
	if (((digit_ok | letter_ok) & ones << 7) != ones << 7)
		return false;
	v = (v | v >> 4) & 0x00ff00ff00ff00ffull;
	v = (v | v >> 8) & 0x0000ffff0000ffffull;
	*ret_value = (u32)(v | v >> 16);
	return true;
}

/* Hex digits, at most 16; says how many there were. */
static inline bool ks_scan_hex(const char **p, const char *end, u64 *ret_value, unsigned int *ret_n)
{
	const char *s = *p;
	u32 hi, lo;
	u64 v = 0;

	if (end - s >= 16 && ks_hex8(s, &hi) && ks_hex8(s + 8, &lo)) {
		v = (u64)hi << 32 | lo;
		s += 16;
	} else {
		for (; s < end && s - *p < 16; s++) {
			u8 c = (u8)*s | 0x20;

			if (ks_is_digit(*s))
				v = v << 4 | (u64)(*s - '0');
			else if (c >= 'a' && c <= 'f')
				v = v << 4 | (u64)(c - 'a' + 10);
			else
				break;
		}
	}
	if (s == *p)
		return false;
	*ret_n = (unsigned int)(s - *p);
	*p = s;
	*ret_value = v;
	return true;
}

/* The first blank at or behind @s, or @end. Looks at eight bytes at once, up to seven behind @end. */
static inline const char *ks_find_blank(const char *s, const char *end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const u64 ones = 0x0101010101010101ull;
	u64 w;

	for (; s < end; s += 8) {
		memcpy(&w, s, 8);
		w ^= ones * ' ';
		w = (w - ones) & ~w & ones << 7; /* the lowest bit set is that of the first blank */
		if (w) {
			s += __builtin_ctzll(w) / 8;
			break;
		}
	}
	return s < end ? s : end;
#else
	while (s < end && *s != ' ')
		s++;
	return s;
#endif
}

/* A word up to the next blank or the end; never empty. */
static inline bool ks_scan_word(const char **p, const char *end, const char **ret_word,
				size_t *ret_len)
{
	const char *s = ks_find_blank(*p, end);

	if (s == *p)
		return false;
	*ret_word = *p;
	*ret_len = (size_t)(s - *p);
	*p = s;
	return true;
}

#endif
