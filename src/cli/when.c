// SPDX-License-Identifier: GPL-2.0-only
/* Points in time on the command line: 415.2, +1.5, 10:00:05, "2026-11-17 10:00", "5 min ago". */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analysis/filter.h"
#include "base/num.h"
#include "cli/cli.h"

/* === Data ================================================================================= */

#define SECOND 1000000000ull

static const struct {
	const char *name;
	u64 seconds;
} units[] = {
	{ "s", 1 },	   { "sec", 1 },     { "second", 1 },	{ "seconds", 1 },  { "m", 60 },
	{ "min", 60 },	   { "minute", 60 }, { "minutes", 60 }, { "h", 3600 },	   { "hour", 3600 },
	{ "hours", 3600 }, { "d", 86400 },   { "day", 86400 },	{ "days", 86400 },
};

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

/* "5 min ago", "90s ago", "2 hours ago". */
static bool parse_ago(const char *arg, struct ks_when *when)
{
	char word[16] = "", more;
	struct timespec now;
	unsigned int count;
	size_t i;
	u64 ago;

	if (sscanf(arg, "%9u%*[ ]%15[a-z] ago%c", &count, word, &more) != 2 &&
	    sscanf(arg, "%9u%15[a-z] ago%c", &count, word, &more) != 2)
		return false;
	if (!strstr(arg, " ago"))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(word, units[i].name))
			continue;
		ago = count * units[i].seconds;
		if (ago > (u64)now.tv_sec)
			return false;
		*when = (struct ks_when){ true, KS_WHEN_WALL,
					  ((u64)now.tv_sec - ago) * SECOND + (u64)now.tv_nsec };
		return true;
	}
	return false;
}

/* === Public =============================================================================== */

int ks_cli_parse_when(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_when *when = option->value;
	bool relative = *arg == '+';
	u64 ns;

	if (parse_date(arg, when) || parse_of_day(arg, when) || parse_ago(arg, when))
		return -1;
	if (ks_parse_time(arg + relative, &ns))
		return ks_cli_error(
			cli, KS_EXIT_USAGE,
			"--%s '%s': give seconds as the trace prints them (415.2), or "
			"after its first event (+1.5, +20ms), or a time of day (10:00:05, "
			"'2026-11-17 10:00', '5 min ago')",
			option->name, arg);
	*when = (struct ks_when){ true, relative ? KS_WHEN_RELATIVE : KS_WHEN_TRACE, ns };
	return -1;
}
