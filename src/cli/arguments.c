// SPDX-License-Identifier: GPL-2.0-only
/* What the arguments of several commands mean: captures, kernels, filters, levels. */
#include <getopt.h>

#include "base/num.h"
#include "cli/cli.h"
#include "live/snapshot.h"

/* === Internals ============================================================================ */

static int parse_number(const struct ks_cli *cli, const struct ks_option *option, const char *arg,
			u32 *ret_number)
{
	u64 v;

	if (ks_parse_u64(arg, &v) || v >= UINT32_MAX)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--%s '%s': give a number", option->name,
				    arg);
	*ret_number = (u32)v;
	return -1;
}

/* === Public =============================================================================== */

int ks_cli_parse_input(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	(void)option;
	if (cli->capture->input)
		return ks_cli_error(cli, KS_EXIT_USAGE, "more than one input file: '%s' and '%s'",
				    cli->capture->input, arg);
	cli->capture->input = arg;
	return -1;
}

/* A tree, and the kallsyms of the boot that was traced. */
int ks_cli_parse_kernel(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	(void)option;
	if (cli->capture->kernel && cli->capture->kallsyms)
		return ks_cli_error(cli, KS_EXIT_USAGE, "more than two --kernel options");
	*(cli->capture->kernel ? &cli->capture->kallsyms : &cli->capture->kernel) = arg;
	return -1;
}

int ks_cli_parse_cpu(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_filter *filter = option->value;

	filter->by_cpu = true;
	return parse_number(cli, option, arg, &filter->cpu);
}

int ks_cli_parse_task(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_filter *filter = option->value;

	filter->by_pid = true;
	return parse_number(cli, option, arg, &filter->pid);
}

int ks_cli_parse_bytes(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	struct ks_filter *filter = option->value;

	filter->by_size = true;
	if (!ks_parse_size(arg, &filter->size))
		return -1;
	return ks_cli_error(cli, KS_EXIT_USAGE, "--%s '%s': give bytes, or 4K", option->name, arg);
}

int ks_cli_parse_cache(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	(void)option;
	if (arg)
		cli->capture->filter.cache = arg;
	else
		cli->capture->filter.cache_only = true;
	return -1;
}

int ks_cli_parse_order(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	int order = ks_order_from_name(arg);

	if (order < 0)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--%s '%s': choose live, total, allocs, frees, waste or peak",
				    option->name, arg);
	*(enum ks_order *)option->value = (enum ks_order)order;
	return -1;
}

const char *ks_frames_name(unsigned int frames)
{
	static const char *const names[] = {
		[KS_FRAMES_STACK] = "stack",
		[KS_FRAMES_PLACE] = "place",
		[KS_FRAMES_PROCESS] = "process",
	};

	return frames < ARRAY_SIZE(names) ? names[frames] : "?";
}

int ks_cli_input(struct ks_cli *cli, int argc, char **argv)
{
	if (optind < argc && !cli->capture->input)
		cli->capture->input = argv[optind++];
	if (optind < argc)
		return ks_cli_error(
			cli, KS_EXIT_USAGE, "takes one file: unexpected argument '%s'%s",
			argv[optind],
			cli->capture->filter.cache_only ? " (for one cache: --cache=NAME)" : "");
	if (!cli->capture->input)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "no capture given; name a file, or - for standard input");
	if (cli->output.json && cli->output.csv)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--json and --csv: choose one");
	return -1;
}

int ks_cli_parse_level(struct ks_cli *cli, const struct ks_option *option, const char *arg)
{
	enum ks_live_level *level = option->value;
	unsigned int i;

	for (i = 0; i < KS_LIVE_LEVELS; i++) {
		if (strcmp(arg, ks_live_level_name(i)) != 0 &&
		    !(arg[0] == (char)('0' + i) && !arg[1]))
			continue;
		*level = i;
		return -1;
	}
	return ks_cli_error(cli, KS_EXIT_USAGE,
			    "--level: '%s' is none of census, growth, sampled, exact or 0 to 3",
			    arg);
}
