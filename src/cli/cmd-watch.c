// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope watch: says what grows in the kernel's memory, and who makes it grow. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "capture/tracefs.h"
#include "cli/commands.h"
#include "cli/long-run.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/watch-flight.h"
#include "live/watch.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope watch [OPTION...]\n"
	"\n"
	"Watches the running kernel and says what grows without end: which objects, who allocates\n"
	"them, and when memory will be full. It listens to counters, looks at single allocations\n"
	"only of what has grown, and only for some seconds. Needs root. Ends with 5 if anything was\n"
	"found, with 0 if nothing was.\n";

static const char epilogue[] = "\n"
			       "example: kmemscope watch --for 10m --exec 'logger -t leak'\n";

struct watching {
	struct ks_cli cli;
	struct ks_watch_opts opts;
	u64 for_ns;
	bool first;
	const char *exec;
	struct ks_flight flight;

	int signals;
	bool interrupted; /* a signal came that ends the program */
	sigset_t blocked;
};

/* === Internals ============================================================================ */

/* Waits until the next look is due. False: a signal came that ends the program. */
static bool wait_for(const struct watching *w, u64 ns)
{
	struct pollfd fd = { .fd = w->signals, .events = POLLIN };
	const struct timespec timeout = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	return ppoll(&fd, 1, &timeout, NULL) == 0;
}

static void set(const char *name, const char *value)
{
	setenv(name, value, 1);
}

/* The command gets the paragraph on its standard input, and single facts in its environment. */
static void run_hook(struct watching *w, const struct ks_suspect *s, const struct ks_strbuf *text)
{
	char rate[32];
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		ks_cli_unblock_signals(&w->blocked);
		dup2(fds[0], STDIN_FILENO);
		snprintf(rate, sizeof(rate), "%.0f", s->judgement.slope);
		set("KMEMSCOPE_CACHE", s->cache);
		set("KMEMSCOPE_TYPE", s->type);
		set("KMEMSCOPE_SITE", s->site);
		set("KMEMSCOPE_PROCESS", s->process);
		set("KMEMSCOPE_RATE", rate);
		execl("/bin/sh", "sh", "-c", w->exec, (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	/* A command that does not read it is none of our business. */
	if (pid > 0)
		(void)ks_write_all(fds[1], ks_strbuf_str(text), text->len);
	close(fds[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int tell(struct watching *w, struct ks_watch *watch)
{
	int code = 0;

	for (; !code && watch->told < watch->suspects.len; watch->told++) {
		const struct ks_suspect *s = watch->suspects.items[watch->told];
		struct ks_strbuf text;

		ks_strbuf_init(&text);
		ks_suspect_say(s, &text);
		if (!w->cli.output.json)
			code = ks_cli_print(&w->cli, &text);
		if (w->exec && !text.failed)
			run_hook(w, s, &text);
		ks_strbuf_deinit(&text);
	}
	return code;
}

static int follow(struct watching *w, struct ks_watch *watch, struct ks_live *live)
{
	u64 start = ks_clock_ns(CLOCK_MONOTONIC), wait, left;
	struct ks_diag diag = { 0 };
	int err, code;

	for (;;) {
		err = ks_watch_step(watch, live, &wait, &diag);
		if (err)
			return ks_cli_fail(&w->cli, err, &diag);
		ks_flight_step(&w->flight, watch->phase != KS_WATCH_LISTENS,
			       watch->told < watch->suspects.len, ks_clock_ns(CLOCK_MONOTONIC));
		watch->recorder_pid = (u32)w->flight.pid;
		code = tell(w, watch);
		if (code || (w->first && watch->suspects.len))
			return code;
		left = w->for_ns ? start + w->for_ns -
					   ks_min(ks_clock_ns(CLOCK_MONOTONIC), start + w->for_ns)
				 : wait;
		w->interrupted = left && !wait_for(w, ks_min(left, wait));
		if (!left || w->interrupted)
			return 0;
	}
}

/* What follows a suspicion is recorded, too. Who is in a hurry gets what there is of it. */
/* A suspect may come after days. Whoever wants a recording then must hear now that there will be none. */
static int check_recording(struct ks_diag *diag)
{
	struct ks_tracefs tfs;
	int err = ks_tracefs_open(&tfs, diag);

	if (!err)
		ks_tracefs_close(&tfs);
	return err;
}

static void end_flight(struct watching *w)
{
	u64 until = ks_flight_until(&w->flight), now = ks_clock_ns(CLOCK_MONOTONIC);

	if (until > now && !w->interrupted)
		(void)wait_for(w, until - now);
	ks_flight_end(&w->flight);
}

static int conclude(struct watching *w, const struct ks_watch *watch)
{
	struct ks_doc *doc;
	int code = 0;

	if (w->cli.output.json) {
		doc = ks_watch_doc(watch);
		if (!doc)
			return ks_cli_error(&w->cli, KS_EXIT_FAILED, "out of memory");
		code = ks_cli_print_doc(&w->cli, doc);
	}
	if (code)
		return code;
	return watch->suspects.len ? KS_EXIT_BUDGET : KS_EXIT_OK;
}

static int run(struct watching *w)
{
	const struct ks_live_opts opts = { .census_first = true, .types_ns = KS_LIVE_NEVER };
	struct ks_watch *watch = NULL;
	struct ks_live *live = NULL;
	struct ks_diag diag = { 0 };
	int code, err = ks_live_open(&opts, &live, &diag);

	if (!err)
		err = ks_live_try(KS_LIVE_EXACT, &diag);
	if (!err)
		err = ks_watch_new(&w->opts, &watch, &diag);
	if (err) {
		code = ks_cli_fail(&w->cli, err, &diag);
	} else {
		ks_live_census_now(live, true);
		code = follow(w, watch, live);
	}
	ks_live_close(live);
	if (!code && watch)
		code = conclude(w, watch);
	end_flight(w);
	ks_watch_free(watch);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_watch(int argc, char **argv)
{
	struct watching w = {
		.cli = { .command = argv[0],
			 .usage = usage,
			 .epilogue = epilogue,
			 .shared = KS_WITH_JSON | KS_WITH_COMMON },
	};
	const struct ks_option own[] = {
		{ 0, "for", "TIME", "end after 10m, 1h, ...; without it, with a signal",
		  .parse = ks_cli_parse_time, .value = &w.for_ns, .min = 1000000000 },
		{ 0, "first", NULL, "end with the first suspect", .flag = &w.first },
		{ 0, "look", "TIME", "look at allocations of what has grown for 20s (default), ...",
		  .parse = ks_cli_parse_time, .value = &w.opts.look_ns, .min = 14000000000 },
		{ 0, "smallest", "BYTES",
		  "growth in that time that is worth a word; 8192, or 12 steady objects",
		  .number = &w.opts.smallest, .min = 1 },
		{ 0, "reclaimable", NULL, "also what the kernel can take back: inodes, dentries",
		  .flag = &w.opts.keep_caches },
		{ 0, "no-holders", NULL,
		  "do not look for who holds what grows: it reads all objects once",
		  .flag = &w.opts.no_holders },
		{ 0, "exec", "COMMAND",
		  "run this by the shell for each suspect, with the text as its input",
		  .string = &w.exec },
		{ 0, "capture-on-suspect", "FILE",
		  "keep a recording of the events before and after a suspicion",
		  .string = &w.flight.path },
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &w.cli.output.strict },
		{ 0 },
	};
	static const int none[] = { 0 };
	int code = ks_cli_parse(&w.cli, own, argc, argv);
	struct ks_diag diag = { 0 };

	if (code >= 0)
		return code;
	if (optind < argc)
		return ks_cli_error(&w.cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    argv[optind]);
	w.cli.output.no_pager = true;
	if (w.flight.path) {
		int err = check_recording(&diag);

		if (err)
			return ks_cli_fail(&w.cli, err, &diag);
	}
	ks_cli_block_signals(none, &w.blocked);
	w.signals = ks_cli_signal_fd(&w.blocked, &diag);
	if (w.signals < 0)
		return ks_cli_fail(&w.cli, w.signals, &diag);
	/* A whole look, which may last twice as long as it should, and what comes after it. */
	w.flight.keep_ns = 2 * (w.opts.look_ns ? w.opts.look_ns : KS_WATCH_LOOK_NS) + 60000000000;
	w.flight.blocked = &w.blocked;
	ks_cli_long_run();
	code = run(&w);
	close(w.signals);
	return code;
}
