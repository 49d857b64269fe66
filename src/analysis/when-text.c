// SPDX-License-Identifier: LGPL-2.1-only
/* Points in time from text: 415.2, +1.5, 10:00:05, "2026-11-17 10:00". */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "analysis/when.h"
#include "base/num.h"

#define SECOND 1000000000ull

/* === Internals ============================================================================ */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* This number of digits, which are a number up to @max. */
static bool take_digits(const char **p, int digits, int max, int *ret)
{
	*ret = 0;
	for (; digits; digits--, ++*p) {
		if (!is_digit(**p))
			return false;
		*ret = *ret * 10 + (**p - '0');
	}
	return *ret <= max;
}

static bool take_char(const char **p, char c)
{
	if (**p != c)
		return false;
	++*p;
	return true;
}

/* "10:00", "10:00:05", "10:00:05.25". */
static bool take_clock(const char **p, struct tm *tm, u64 *ret_ns)
{
	u64 unit = SECOND / 10;

	*ret_ns = 0;
	tm->tm_sec = 0;
	if (!take_digits(p, 2, 23, &tm->tm_hour) || !take_char(p, ':') ||
	    !take_digits(p, 2, 59, &tm->tm_min))
		return false;
	if (!take_char(p, ':'))
		return true;
	if (!take_digits(p, 2, 59, &tm->tm_sec))
		return false;
	if (!take_char(p, '.'))
		return true;
	for (; is_digit(**p) && unit; ++*p, unit /= 10)
		*ret_ns += unit * (u64)(**p - '0');
	return true;
}

/* "2026-11-17", with a time behind it or without, and with Z or UTC behind that or in local time. */
static bool parse_date(const char *p, struct ks_when *when)
{
	struct tm tm = { .tm_isdst = -1 }, given;
	bool utc;
	time_t at;
	u64 ns = 0;

	if (!take_digits(&p, 4, 9999, &tm.tm_year) || !take_char(&p, '-') ||
	    !take_digits(&p, 2, 12, &tm.tm_mon) || !take_char(&p, '-') ||
	    !take_digits(&p, 2, 31, &tm.tm_mday))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if ((take_char(&p, ' ') || take_char(&p, 'T')) && !take_clock(&p, &tm, &ns))
		return false;
	utc = !strcmp(p, "Z") || !strcmp(p, " UTC");
	if (*p && !utc)
		return false;
	given = tm;
	at = utc ? timegm(&tm) : mktime(&tm);
	/* The 31st of a month that has 30 days is the 1st of the next: most likely not what was meant. */
	if (at < 0 || tm.tm_mday != given.tm_mday || tm.tm_mon != given.tm_mon)
		return false;
	*when = (struct ks_when){ true, KS_WHEN_WALL, (u64)at * SECOND + ns };
	return true;
}

static bool parse_of_day(const char *p, struct ks_when *when)
{
	struct tm tm = { 0 };
	u64 ns;

	if (!take_clock(&p, &tm, &ns) || *p)
		return false;
	ns += (u64)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * SECOND;
	*when = (struct ks_when){ true, KS_WHEN_OF_DAY, ns };
	return true;
}

/* === Public =============================================================================== */

int ks_when_parse(const char *text, struct ks_when *ret_when)
{
	bool relative = *text == '+';
	u64 ns;

	if (parse_date(text, ret_when) || parse_of_day(text, ret_when))
		return 0;
	if (ks_parse_time(text + relative, &ns))
		return -EINVAL;
	*ret_when = (struct ks_when){ true, relative ? KS_WHEN_RELATIVE : KS_WHEN_TRACE, ns };
	return 0;
}
