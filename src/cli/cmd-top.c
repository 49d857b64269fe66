// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope top: the kernel's memory on a screen that refreshes, or as tables one after the other. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/top.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope top [OPTION...]\n"
	"\n"
	"Shows what is in the kernel's memory now, what grows and how fast, and refreshes it.\n"
	"Enter goes deeper: from a cache to its types, to the sites and stacks that allocated, to\n"
	"the objects and who holds one of them. '?' lists all keys, 'q' leaves. Needs root.\n";

static const char epilogue[] = "\n"
			       "example: kmemscope top --once --by type --top 10\n";

/* === Internals ============================================================================ */

/* Waits until the next look is due. False: a signal came that ends the program. */
static bool wait_for(int signals, u64 ns)
{
	struct pollfd fd = { .fd = signals, .events = POLLIN };
	const struct timespec timeout = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	return ppoll(&fd, 1, &timeout, NULL) == 0;
}

static int print_look(struct ks_top_args *args, struct ks_live *live)
{
	const struct ks_live_within within = { .name = { [KS_LIVE_BY_CACHE] = args->cache } };
	struct ks_live_snapshot *snapshot;
	struct ks_diag diag = { 0 };
	struct ks_doc *doc;
	int err = ks_live_poll(live, &snapshot, &diag);

	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	doc = ks_top_doc(snapshot, args->by, args->cache ? &within : NULL, args->rows.top);
	ks_live_snapshot_put(snapshot);
	if (!doc)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	return ks_cli_print_doc(&args->cli, doc);
}

static int print_looks(struct ks_top_args *args, int signals)
{
	u64 left = args->once ? 1 : args->count, next = ks_clock_ns(CLOCK_MONOTONIC), now;
	struct ks_diag diag = { 0 };
	struct ks_live *live;
	int code, err;

	args->opts.census_first = true;
	err = ks_live_open(&args->opts, &live, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	for (;;) {
		code = print_look(args, live);
		if (code || (left && !--left))
			break;
		next += args->interval_ns;
		now = ks_clock_ns(CLOCK_MONOTONIC);
		if (!wait_for(signals, next > now ? next - now : 0)) {
			code = KS_EXIT_INTERRUPTED;
			break;
		}
		next = ks_max(next, now);
	}
	ks_live_close(live);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_top(int argc, char **argv)
{
	struct ks_top_args args = {
		.cli = { .command = argv[0],
			 .usage = usage,
			 .epilogue = epilogue,
			 .shared = KS_WITH_TOP | KS_WITH_JSON | KS_WITH_BYTES | KS_WITH_COMMON,
			 .rows = &args.rows },
		.interval_ns = 1000000000,
	};
	const struct ks_option own[] = {
		{ 0, "by", "WHAT", "rows by cache, type, site, stack, process or cgroup",
		  .choice = &args.by, .choices = KS_LIVE_BYS, .name_of = ks_live_by_name },
		{ 0, "level", "LEVEL",
		  "how closely to look: census (default), growth, sampled,\nexact, or 0 to 3",
		  .parse = ks_cli_parse_level, .value = &args.opts.level },
		{ 0, "cache", "NAME", "levels above 1: only allocations from this cache",
		  .string = &args.cache },
		{ 0, "site", "NAME",
		  "levels above 1: only allocations in this function, or at\nfunction+0xoffset",
		  .string = &args.site },
		{ 0, "cgroup", "PATH",
		  "levels above 1: only allocations in this cgroup and below it",
		  .string = &args.opts.filter.cgroup },
		{ 'p', "pid", "PID", "levels above 1: only allocations by this process",
		  .parse = ks_cli_parse_pid, .value = &args.opts.filter.pid, .min = 1 },
		{ 0, "interval", "TIME", "refresh after 1s (default), 5, 500ms, ...",
		  .parse = ks_cli_parse_time, .value = &args.interval_ns, .min = 100000000 },
		{ 0, "once", NULL, "print one exact count, and need no terminal",
		  .flag = &args.once },
		{ 0, "count", "N", "print that many, one after the other; no terminal either",
		  .number = &args.count, .min = 1 },
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &args.cli.output.strict },
		{ 0 },
	};
	static const int also[] = { SIGWINCH, SIGTSTP, SIGCHLD, 0 }, none[] = { 0 };
	int code = ks_cli_parse(&args.cli, own, argc, argv), signals;
	struct ks_diag diag = { 0 };
	sigset_t blocked;
	bool screen;

	if (code >= 0)
		return code;
	if (optind < argc)
		return ks_cli_error(&args.cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    argv[optind]);
	if (args.cache) {
		args.opts.filter.caches = &args.cache;
		args.opts.filter.nr_caches = 1;
	}
	if (args.site) {
		args.opts.filter.sites = &args.site;
		args.opts.filter.nr_sites = 1;
	}
	screen = !args.once && !args.count && !args.cli.output.json;
	if (args.cli.output.json && !args.count)
		args.once = true;
	/* One table is printed as by any other command: a pager may come, and Ctrl-C ends all. */
	if (args.once || args.count == 1)
		return print_looks(&args, -1);
	args.cli.output.no_pager = true;
	ks_cli_block_signals(screen ? also : none, &blocked);
	signals = ks_cli_signal_fd(&blocked, &diag);
	if (signals < 0)
		return ks_cli_fail(&args.cli, signals, &diag);
	code = screen ? ks_top_run(&args, signals, &blocked) : print_looks(&args, signals);
	close(signals);
	return code;
}
