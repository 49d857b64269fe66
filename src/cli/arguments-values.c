// SPDX-License-Identifier: GPL-2.0-only
/* What the arguments of several commands mean: times, sizes, processes. */
#include "base/num.h"
#include "cli/cli.h"

/* === Public =============================================================================== */

int ks_cli_parse_time(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	u64 ns;

	if (ks_parse_time(arg, &ns) || ns < option->min)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--%s '%s': give seconds, or 200ms, 5m, 1h",
				    option->name, arg);
	*(u64 *)option->value = ns;
	return -1;
}

int ks_cli_parse_size(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	u64 bytes;

	if (ks_parse_size(arg, &bytes) || bytes < option->min)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--%s '%s': give bytes, or 500M, 2G",
				    option->name, arg);
	*(u64 *)option->value = bytes;
	return -1;
}

int ks_cli_parse_pid(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	u64 pid;

	if (ks_parse_u64(arg, &pid) || pid < option->min || pid > INT32_MAX)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--%s '%s': give the number of a process, %llu or above",
				    option->name, arg, (unsigned long long)option->min);
	*(u32 *)option->value = (u32)pid;
	return -1;
}
