// SPDX-License-Identifier: LGPL-2.1-only
/* Strict numbers from text. */
#include "base/num.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u128.h"

/* Digits from *@s on; *@s is left at the first other character. -EINVAL when there is no digit. */
static int take_digits(const char **s, u64 *ret_value)
{
	const char *p = *s;
	u64 v = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (u64)(*p - '0'), &v))
			return -ERANGE;
	if (p == *s)
		return -EINVAL;
	*s = p;
	*ret_value = v;
	return 0;
}

int ks_parse_u64(const char *s, u64 *ret_value)
{
	u64 v;
	int err = take_digits(&s, &v);

	if (err)
		return err;
	if (*s)
		return -EINVAL;
	*ret_value = v;
	return 0;
}

int ks_parse_time(const char *s, u64 *ret_ns)
{
	static const struct {
		const char *name;
		u64 ns;
	} units[] = {
		{ "", 1000000000 },	{ "ns", 1 },	     { "us", 1000 },
		{ "ms", 1000000 },	{ "s", 1000000000 }, { "m", 60000000000 },
		{ "h", 3600000000000 },
	};
	u64 whole, frac = 0, scale = 1;
	size_t i;
	int err = take_digits(&s, &whole);

	if (err)
		return err;
	if (*s == '.') {
		const char *start = ++s;

		err = take_digits(&s, &frac);
		if (err)
			return err;
		if (s - start > 9)
			return -EINVAL;
		for (; start < s; start++)
			scale *= 10;
	}
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(s, units[i].name))
			continue;
		if (__builtin_mul_overflow(whole, units[i].ns, &whole) ||
		    __builtin_add_overflow(whole, ks_mul_div(frac, units[i].ns, scale), &whole))
			return -ERANGE;
		*ret_ns = whole;
		return 0;
	}
	return -EINVAL;
}

bool ks_next_range(const char **list, u32 *ret_first, u32 *ret_last)
{
	unsigned long first, last;
	char *p;

	if (**list < '0' || **list > '9')
		return false;
	last = first = strtoul(*list, &p, 10);
	if (*p == '-' && p[1] >= '0' && p[1] <= '9')
		last = strtoul(p + 1, &p, 10);
	if (last < first || last > UINT16_MAX)
		return false;
	*ret_first = (u32)first;
	*ret_last = (u32)last;
	*list = *p == ',' ? p + 1 : p;
	return true;
}

int ks_parse_size(const char *s, u64 *ret_bytes)
{
	static const char units[] = "kMGT";
	const char *unit;
	char digits[32];
	size_t len = strlen(s);
	u64 v;
	int shift = 0;

	if (len && (unit = strchr(units, s[len - 1]))) {
		shift = 10 * (int)(unit - units + 1);
		len--;
	} else if (len && s[len - 1] == 'K') {
		shift = 10;
		len--;
	}
	if (!len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, s, len);
	digits[len] = '\0';
	if (ks_parse_u64(digits, &v) || !v || v > UINT64_MAX >> shift)
		return -EINVAL;
	*ret_bytes = v << shift;
	return 0;
}
