// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope top on a terminal: waits for keys, signals and snapshots, and does what keys ask for. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/heap-source.h"
#include "cli/signals.h"
#include "cli/top.h"
#include "heap/show-doc.h"
#include "live/worker.h"
#include "tui/terminal.h"
#include "tui/top.h"

/* === Data ================================================================================= */

/* The heap as it was when somebody asked for objects: it is read once for all questions below a list. */
struct heap {
	char what[KS_TOP_WANTED_MAX];
	bool again; /* not the one of before */
	struct ks_snapshot *snapshot;
	struct ks_kernel *kernel;
	struct ks_doc *doc; /* the answer */
};

struct screen_run {
	struct ks_top_args *args;
	const sigset_t *blocked;
	struct ks_top top;
	struct ks_screen screen;
	struct ks_terminal *terminal;
	struct ks_live_worker *worker;
	struct heap heap;
	enum ks_live_level level; /* for the job */
	pid_t child;		  /* what writes a file; 0 = none */
	char file[64];		  /* the file */
	int code;
	bool leave;
	bool counting; /* types, since a page wants them */
};

/* === Internals: work for the thread ======================================================= */

static int job_rebase(struct ks_live *live, void *ctx, struct ks_diag *diag)
{
	ks_live_rebase(live);
	return 0;
}

static int job_types(struct ks_live *live, void *ctx, struct ks_diag *diag)
{
	ks_live_census_now(live, true);
	return 0;
}

static int job_level(struct ks_live *live, void *ctx, struct ks_diag *diag)
{
	struct screen_run *run = ctx;

	return ks_live_set_level(live, run->level, &run->args->opts.filter, diag);
}

static void heap_forget(struct heap *heap)
{
	ks_snapshot_free(heap->snapshot);
	ks_kernel_free(heap->kernel);
	heap->snapshot = NULL;
	heap->kernel = NULL;
}

static int job_objects(struct ks_live *live, void *ctx, struct ks_diag *diag)
{
	const struct ks_heap_source source = { .memory = KS_HEAP_AUTO };
	struct heap *heap = &((struct screen_run *)ctx)->heap;
	struct ks_selection *selection = NULL;
	int err = 0;

	if (heap->again)
		heap_forget(heap);
	if (!heap->snapshot)
		err = ks_heap_source_both(&source, true, &heap->snapshot, &heap->kernel, diag);
	if (err)
		return err;
	err = ks_selection_make(heap->snapshot, heap->what, &selection, diag);
	if (!err)
		err = ks_doc_of_show(&(struct ks_show){ .snapshot = heap->snapshot,
							.selection = selection,
							.kernel = heap->kernel,
							.kallsyms = ks_heap_symbols(heap->kernel) },
				     &heap->doc, diag);
	ks_selection_free(selection);
	return err;
}

static void give(struct screen_run *run, ks_live_job_fn *job, const char *what)
{
	if (ks_live_worker_do(run->worker, job, run))
		ks_top_say(&run->top, "still busy with the last one");
	else
		ks_top_say(&run->top, "%s", what);
}

static void job_ended(struct screen_run *run)
{
	struct ks_diag diag = { 0 };
	int err;

	if (!ks_live_worker_done(run->worker, &err, &diag))
		return;
	run->top.message[0] = '\0';
	if (err)
		ks_top_say(&run->top, "%s", diag.err ? diag.text : strerror(-err));
	if (run->heap.doc)
		ks_top_show(&run->top, run->heap.doc);
	run->heap.doc = NULL;
}

/* === Internals: files ===================================================================== */

static void exec_self(const struct screen_run *run, const char *const *argv)
{
	int null = open("/dev/null", O_RDWR);

	/* Ctrl-C is for the screen; what it started ends when it is told to. */
	setpgid(0, 0);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		_exit(127);
	ks_cli_unblock_signals(run->blocked);
	execv("/proc/self/exe", (char *const *)argv);
	_exit(127);
}

/* Starts this program anew, to write a file: a screen must not wait for that. */
static void start(struct screen_run *run, bool capture)
{
	const char *save[] = { "kmemscope", "heap", "save", "-o", run->file, NULL };
	const char *record[] = { "kmemscope", "record",	    "-q", "-o",
				 run->file,   "--duration", "10", NULL };
	char stamp[32];
	time_t now = time(NULL);
	struct tm tm;

	if (run->child) {
		ks_top_say(&run->top, "%s is still being written", run->file);
		return;
	}
	if (!localtime_r(&now, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm))
		snprintf(stamp, sizeof(stamp), "0");
	snprintf(run->file, sizeof(run->file), "kmemscope-%s.%s", stamp, capture ? "dat" : "heap");
	run->child = fork();
	if (!run->child)
		exec_self(run, capture ? record : save);
	if (run->child < 0) {
		run->child = 0;
		ks_top_say(&run->top, "cannot start: %s", strerror(errno));
		return;
	}
	ks_top_say(&run->top, "writing %s", run->file);
}

static void child_ended(struct screen_run *run, int options)
{
	int status;

	if (!run->child || waitpid(run->child, &status, options) != run->child)
		return;
	run->child = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		ks_top_say(&run->top, "wrote %s", run->file);
	else
		ks_top_say(&run->top, "%s could not be written", run->file);
}

/* === Internals: what comes in ============================================================= */

static void do_ask(struct screen_run *run, enum ks_top_ask ask)
{
	switch (ask) {
	case KS_TOP_NOTHING:
		break;
	case KS_TOP_QUIT:
		run->leave = true;
		break;
	case KS_TOP_REBASE:
		give(run, job_rebase, "changes count from now on");
		break;
	case KS_TOP_TYPES:
		give(run, job_types, "counting types and cgroups: this may last for seconds");
		break;
	case KS_TOP_LEVEL:
		run->level = run->top.level;
		give(run, job_level, "taking the next level");
		break;
	case KS_TOP_OBJECTS:
		/* An address is of the list that it was chosen from. */
		run->heap.again = strncmp(run->top.wanted, "0x", 2) != 0;
		memcpy(run->heap.what, run->top.wanted, sizeof(run->heap.what));
		give(run, job_objects, "reading the heap: this may last for seconds");
		break;
	case KS_TOP_SNAPSHOT:
	case KS_TOP_CAPTURE:
		start(run, ask == KS_TOP_CAPTURE);
		break;
	case KS_TOP_REDRAW:
		ks_terminal_redraw(run->terminal);
		break;
	}
}

/* As the shell wants it: the terminal is given back before the program stops. */
static void stop_for_a_while(struct screen_run *run)
{
	ks_terminal_leave(run->terminal);
	raise(SIGSTOP);
	ks_terminal_return(run->terminal);
}

static void take_signals(struct screen_run *run, int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGWINCH: /* the size is looked at before each drawing */
			break;
		case SIGTSTP:
			stop_for_a_while(run);
			break;
		case SIGCHLD:
			child_ended(run, WNOHANG);
			break;
		default:
			run->leave = true;
			run->code = KS_EXIT_INTERRUPTED;
			break;
		}
	}
}

static void take_keys(struct screen_run *run)
{
	int key;

	while (!run->leave && (key = ks_terminal_key(run->terminal)) != KS_KEY_NONE)
		do_ask(run, ks_top_key(&run->top, key));
}

static void take_snapshot(struct screen_run *run)
{
	struct ks_diag diag = { 0 };
	int err;

	ks_live_worker_clear(run->worker);
	err = ks_live_worker_state(run->worker, &diag);
	if (err)
		ks_top_say(&run->top, "%s", diag.err ? diag.text : strerror(-err));
	else
		ks_top_feed(&run->top, ks_live_worker_snapshot(run->worker));
	job_ended(run);
}

/* Types are counted only where somebody looks at them: that costs as much as a minute of all the rest. */
static void see_to_types(struct screen_run *run)
{
	bool wanted = ks_top_wish(&run->top) == KS_TOP_TYPES;

	if (wanted && !run->counting)
		do_ask(run, KS_TOP_TYPES);
	run->counting = wanted;
}

static int loop(struct screen_run *run, int signals)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
		{ .fd = ks_live_worker_fd(run->worker), .events = POLLIN },
	};

	while (!run->leave) {
		if (ks_terminal_size(run->terminal, &run->screen))
			return -ENOMEM;
		ks_top_draw(&run->top, &run->screen);
		ks_terminal_show(run->terminal, &run->screen);
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			take_signals(run, signals);
		if (fds[0].revents & POLLIN)
			take_keys(run);
		else if (fds[0].revents) /* the terminal is gone */
			run->leave = true;
		if (fds[2].revents)
			take_snapshot(run);
		see_to_types(run);
	}
	return 0;
}

static bool want_color(const struct ks_cli *cli)
{
	const char *no_color = getenv("NO_COLOR");

	if (cli->output.color != KS_COLOR_AUTO)
		return cli->output.color == KS_COLOR_ALWAYS;
	return !(no_color && *no_color);
}

/* === Public =============================================================================== */

struct ks_doc *ks_top_doc(const struct ks_live_snapshot *snapshot, enum ks_live_by by,
			  const struct ks_live_within *within, u64 top)
{
	const struct ks_live_memory *m = &snapshot->memory;
	struct ks_doc *doc = ks_live_doc(snapshot, by, within, top);
	time_t at = (time_t)(snapshot->wall_ns / 1000000000);
	struct ks_strbuf text;
	char clock[32] = "";
	struct tm tm;

	if (!doc)
		return NULL;
	if (localtime_r(&at, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	ks_strbuf_init(&text);
	ks_strbuf_printf(&text, "%s level %s: slab ", clock, ks_live_level_name(snapshot->level));
	ks_top_bytes(&text, (double)m->slab, false);
	ks_strbuf_puts(&text, ", of it unreclaimable ");
	ks_top_bytes(&text, (double)m->unreclaimable, false);
	ks_strbuf_puts(&text, "; all memory in use ");
	ks_top_bytes(&text, (double)(m->total - ks_min(m->free, m->total)), false);
	ks_doc_say(doc, "%s\n", ks_strbuf_str(&text));
	doc->failed |= text.failed;
	ks_strbuf_deinit(&text);
	return doc;
}

int ks_top_run(struct ks_top_args *args, int signals, const sigset_t *blocked)
{
	struct screen_run run = { .args = args, .blocked = blocked };
	struct ks_diag diag = { 0 };
	struct ks_live_opts first = args->opts;
	int err;

	first.types_ns = KS_LIVE_NEVER;
	first.budget = 25; /* a quarter of a percent: all of it together shall stay below one */
	/* The screen does not wait for probes. */
	first.level = KS_LIVE_CENSUS;
	ks_top_init(&run.top, args->by);
	ks_screen_init(&run.screen);
	err = ks_terminal_open(want_color(&args->cli), &run.terminal, &diag);
	if (!err)
		err = ks_live_worker_start(&first, args->interval_ns, &run.worker, &diag);
	if (!err && args->opts.level != KS_LIVE_CENSUS) {
		run.level = args->opts.level;
		give(&run, job_level, "starting probes");
	}
	if (!err)
		err = loop(&run, signals);
	ks_terminal_close(run.terminal);
	if (run.child) {
		kill(run.child, SIGINT); /* what it has is a whole file */
		child_ended(&run, 0);
	}
	ks_live_worker_stop(run.worker);
	if (run.heap.doc)
		ks_doc_free(run.heap.doc);
	heap_forget(&run.heap);
	ks_screen_deinit(&run.screen);
	ks_top_deinit(&run.top);
	return err ? ks_cli_fail(&args->cli, err, &diag) : run.code;
}
