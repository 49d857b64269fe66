// SPDX-License-Identifier: GPL-2.0-only
/* Points in time on the command line: those of analysis/when.h, and "5 min ago". */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analysis/filter.h"
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

	if (!ks_when_parse(arg, when) || parse_ago(arg, when))
		return -1;
	return ks_cli_error(cli, KS_EXIT_USAGE,
			    "--%s '%s': give seconds as the trace prints them (415.2), or "
			    "after its first event (+1.5, +20ms), or a time of day (10:00:05, "
			    "'2026-11-17 10:00', '5 min ago')",
			    option->name, arg);
}
