// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope record: captures the running kernel's allocations into a file. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/recorder.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/record-census.h"
#include "cli/record-trigger.h"
#include "cli/signals.h"
#include "table/json.h"

/* === Data ================================================================================= */

/* The small recorder is a program of its own. */
#ifndef KS_RECORD_NAME
#define KS_RECORD_NAME "kmemscope record"
#endif

static const char usage[] =
	"usage: " KS_RECORD_NAME " [OPTION...] [-p PID | -- COMMAND...]\n"
	"\n"
	"Records every allocation and free of the running kernel until Ctrl-C, the end of\n"
	"COMMAND, or one of the limits below. Needs root. The file is a trace.dat, which\n"
	"trace-cmd opens too.\n";

struct record {
	struct ks_cli *cli;
	struct ks_record_opts opts;
	u64 duration_ns;
	struct ks_triggers triggers;
	struct ks_rotation rotation;
	u32 pid; /* 0 = none */
	bool quiet;
	char **command; /* or NULL */
	pid_t child;
	int child_gate;	 /* closed to let the child run */
	int child_error; /* readable when exec failed */
	int child_status;
	bool child_ended;
	sigset_t signals;
};

enum why {
	WHY_NONE,
	WHY_INTERRUPTED,
	WHY_TERMINATED,
	WHY_COMMAND,
	WHY_DURATION,
	WHY_FULL,
	WHY_ERROR
};

/* === Internals: options =================================================================== */

static bool is_rotating(const struct record *r)
{
	return r->rotation.bytes || r->rotation.ns;
}

static int parse_options(struct record *r, int argc, char **argv)
{
	struct ks_record_census *census = r->opts.census_ctx;
	bool all = false;
	const struct ks_option own[] = {
		{ 'o', "output", "FILE", "the file to write (trace.dat)", .string = &r->opts.path },
		{ 0, "slab", NULL, "only kmalloc and kmem_cache", .flag = &r->opts.slab },
		{ 0, "pages", NULL, "only the page allocator", .flag = &r->opts.pages },
		{ 0, "all", NULL, "both (default)", .flag = &all },
		{ 0, "stack", NULL, "a stack trace with each event; several times the cost",
		  .flag = &r->opts.stack },
		{ 0, "cache", "NAME", "only allocations of this cache",
		  .string = &r->opts.filter.cache },
		{ 0, "size", "BYTES",
		  "only objects of this size, as allocated: 192, '>=4k', 64-256",
		  .parse = ks_cli_parse_sizes, .value = &r->opts.filter },
		{ 0, "site", "NAME",
		  "only allocations in this function, at function+0xoffset, or 0x...",
		  .string = &r->opts.filter.site },
		{ 0, "comm", "NAME", "only allocations by tasks of this name",
		  .string = &r->opts.filter.comm },
		{ 'p', "pid", "PID", "only this process and its future children",
		  .parse = ks_cli_parse_pid, .value = &r->pid, .min = 1 },
		{ 0, "duration", "TIME", "stop after 10, 1.5, 200ms, 5m, ...",
		  .parse = ks_cli_parse_time, .value = &r->duration_ns, .min = 1 },
		{ 0, "max-size", "SIZE", "stop when the file reaches this size: 500M, 2G",
		  .parse = ks_cli_parse_size, .value = &r->opts.max_size },
		{ 0, "keep", "TIME|SIZE", "keep only the last of it, for ever: 10m, 2G",
		  .parse = ks_cli_parse_keep, .value = &r->opts },
		{ 0, "rotate", "TIME|SIZE", "begin a new file after 10m, or 2G; all are kept",
		  .parse = ks_cli_parse_rotate, .value = &r->rotation },
		{ 0, "trigger", "WHEN",
		  "with --keep: save it when slab=SIZE or growth=SIZE is reached, or when "
		  "command=PROGRAM exits with 0",
		  .parse = ks_cli_parse_trigger, .value = &r->triggers },
		{ 0, "buffer-size", "KB", "size of the kernel's ring buffer, per CPU (8192)",
		  .number = &r->opts.buffer_kb, .min = 1 },
		{ 0, "clock", "NAME", "the kernel's trace clock (local)",
		  .string = &r->opts.clock },
		{ 0, "no-hooks", NULL, "no probes on kfree_rcu and the bulk functions",
		  .flag = &r->opts.no_hooks },
		{ 0, "no-census", NULL,
		  "do not count the kernel's objects at the start and the end",
		  .flag = &r->opts.no_census },
		{ 0, "types", NULL,
		  "note the types of all objects at the start: for report --before",
		  .flag = &census->types },
		{ 'q', "quiet", NULL, "print nothing unless something is wrong",
		  .flag = &r->quiet },
		{ 'v', "verbose", NULL, "say what is seen of frees that raise no event",
		  .flag = &r->cli->output.verbose },
		{ 0, "json", NULL, "print the totals as JSON at the end",
		  .flag = &r->cli->output.json },
		{ 0, "strict", NULL, "exit with 4 when events were lost",
		  .flag = &r->cli->output.strict },
		{ 0 },
	};
	int code = ks_cli_parse(r->cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (optind < argc)
		r->command = argv + optind;
	if (r->pid && r->command)
		return ks_cli_error(r->cli, KS_EXIT_USAGE, "--pid and a command: choose one");
	if ((r->triggers.slab || r->triggers.growth || r->triggers.words) && !r->opts.keep_bytes &&
	    !r->opts.keep_ns)
		return ks_cli_error(r->cli, KS_EXIT_USAGE,
				    "--trigger saves what --keep has kept: give both");
	if (census->types && (r->opts.no_census || r->opts.keep_bytes || r->opts.keep_ns))
		return ks_cli_error(
			r->cli, KS_EXIT_USAGE,
			"--types is of the start, which --no-census and --keep leave out");
	if (!strcmp(r->opts.path, "-"))
		return ks_cli_error(r->cli, KS_EXIT_USAGE,
				    "a capture is finished in place, so it can't go to standard "
				    "output: name a file");
	if (is_rotating(r) && (r->opts.keep_bytes || r->opts.keep_ns || r->opts.max_size))
		return ks_cli_error(
			r->cli, KS_EXIT_USAGE,
			"--rotate keeps everything, in several files: choose it, --keep or "
			"--max-size");
	if (r->opts.max_size && r->opts.keep_bytes)
		return ks_cli_error(r->cli, KS_EXIT_USAGE, "--max-size and --keep: choose one");
	if ((r->opts.filter.cache || r->opts.filter.site) && r->opts.pages && !r->opts.slab)
		return ks_cli_error(r->cli, KS_EXIT_USAGE,
				    "events of pages have neither a cache nor a site: --pages goes "
				    "with --size and --comm");
	if (all || (!r->opts.slab && !r->opts.pages))
		r->opts.slab = r->opts.pages = true;
	r->opts.only_pids = r->pid || r->command;
	return -1;
}

/* === Internals: the command =============================================================== */

/* Forks the command; it waits at the gate until the recorder is ready for it. */
static int spawn(struct record *r)
{
	int gate[2], error[2];

	if (pipe2(gate, O_CLOEXEC) || pipe2(error, O_CLOEXEC))
		return ks_cli_error(r->cli, KS_EXIT_FAILED, "cannot make a pipe: %s",
				    strerror(errno));
	r->child = fork();
	if (r->child < 0)
		return ks_cli_error(r->cli, KS_EXIT_FAILED, "cannot fork: %s", strerror(errno));
	if (!r->child) {
		char c;
		int err;

		close(gate[1]);
		ks_cli_unblock_signals(&r->signals);
		if (read(gate[0], &c, 1) == 1) {
			execvp(r->command[0], r->command);
			err = errno;
			if (write(error[1], &err, sizeof(err)) < 0)
				_exit(127);
		}
		_exit(127);
	}
	close(gate[0]);
	close(error[1]);
	r->child_gate = gate[1];
	r->child_error = error[0];
	return 0;
}

/* Lets it run, and finds out whether it could be executed. 0 or the errno. */
static int release_child(struct record *r)
{
	int err = 0;

	if (write(r->child_gate, "", 1) != 1)
		err = errno;
	close(r->child_gate);
	r->child_gate = -1;
	if (!err && read(r->child_error, &err, sizeof(err)) != sizeof(err))
		err = 0; /* closed by the exec */
	close(r->child_error);
	r->child_error = -1;
	return err;
}

static void reap(struct record *r, bool wait)
{
	if (r->child <= 0 || r->child_ended)
		return;
	if (waitpid(r->child, &r->child_status, wait ? 0 : WNOHANG) == r->child)
		r->child_ended = true;
}

/* Where recording failed before the command was let run: it ends at its gate. */
static void drop_child(struct record *r)
{
	if (r->child <= 0)
		return;
	if (r->child_gate >= 0)
		close(r->child_gate);
	if (r->child_error >= 0)
		close(r->child_error);
	reap(r, true);
}

/* === Internals: waiting =================================================================== */

static void human(u64 bytes, char *buf, size_t cap)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double v = (double)bytes;
	size_t unit = 0;

	for (; v >= 1000 && unit + 1 < ARRAY_SIZE(units); unit++)
		v /= 1000;
	snprintf(buf, cap, unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

static void show(const struct ks_record_stats *stats, u64 events_before, u64 elapsed_ns)
{
	u64 rate = elapsed_ns ? (stats->events - events_before) * 1000000000ull / elapsed_ns : 0;
	char size[32];

	human(stats->file_size, size, sizeof(size));
	fprintf(stderr, "\r\033[Krecording: %llu events, %llu/s, %llu lost, %s",
		(unsigned long long)stats->events, (unsigned long long)rate,
		(unsigned long long)stats->lost, size);
}

/* Saves what was kept. An error is told, and the recording goes on. */
static void save(struct record *r, struct ks_recorder *rec)
{
	char *path = ks_trigger_path(r->opts.path);
	struct ks_diag diag = { 0 };
	int err = path ? ks_recorder_save(rec, path, &diag) : ks_diag_nomem(&diag, "saving");

	if (err) {
		ks_cli_fail(r->cli, err, &diag);
	} else {
		r->triggers.saved++;
		if (!r->quiet)
			fprintf(stderr, "%s: saved, since %s\n", path, r->triggers.why);
	}
	free(path);
}

/* Begins a new file. After an error the recording goes on in the old one, and it is tried again later. */
static void rotate(struct record *r, struct ks_recorder *rec)
{
	char *path = ks_trigger_path(r->opts.path);
	struct ks_diag diag = { 0 };
	int err = path ? ks_recorder_rotate(rec, path, &diag) : ks_diag_nomem(&diag, "rotating");

	r->rotation.now = false;
	r->rotation.next = ks_cli_now_ns() + (r->rotation.ns ? r->rotation.ns : 0);
	if (err) {
		ks_cli_fail(r->cli, err, &diag);
		r->rotation.next = ks_cli_now_ns() + 10000000000ull;
	} else {
		r->rotation.files++;
		if (!r->quiet)
			fprintf(stderr, "%s: finished\n", path);
	}
	free(path);
}

/* What was asked for before the recording began, which may have to count many objects first. */
static enum why asked_to_end(const struct record *r)
{
	sigset_t ends = r->signals;
	int signal;

	sigdelset(&ends, SIGCHLD);
	sigdelset(&ends, SIGUSR1);
	signal = sigtimedwait(&ends, NULL, &(struct timespec){ 0 });
	if (signal <= 0)
		return WHY_NONE;
	return signal == SIGINT ? WHY_INTERRUPTED : WHY_TERMINATED;
}

/* Until something ends the recording. */
static enum why wait_for_end(struct record *r, struct ks_recorder *rec)
{
	bool tty = isatty(STDERR_FILENO) && !r->quiet;
	u64 start = ks_cli_now_ns(), last = start, events_before = 0;
	struct ks_record_stats stats;

	r->rotation.next = start + r->rotation.ns;
	for (;;) {
		u64 wait = 250000000, elapsed = ks_cli_now_ns() - start;
		struct timespec timeout;
		int signal;

		if (r->duration_ns) {
			if (elapsed >= r->duration_ns)
				return WHY_DURATION;
			wait = ks_min(wait, r->duration_ns - elapsed);
		}
		timeout = (struct timespec){ 0, (long)wait };
		signal = sigtimedwait(&r->signals, NULL, &timeout);
		if (signal == SIGINT)
			return WHY_INTERRUPTED;
		if (signal == SIGUSR1 && is_rotating(r))
			r->rotation.now = true;
		else if (signal == SIGUSR1)
			ks_trigger_pull(&r->triggers, "a signal came", ks_cli_now_ns());
		else if (signal > 0 && signal != SIGCHLD)
			return WHY_TERMINATED;
		reap(r, false);
		if (r->child_ended)
			return WHY_COMMAND;
		if (signal == SIGCHLD)
			continue;
		ks_recorder_poll(rec, &stats);
		if (ks_trigger_look(&r->triggers, ks_cli_now_ns()))
			save(r, rec);
		if (stats.failed)
			return WHY_ERROR;
		if (ks_rotation_is_due(&r->rotation, stats.file_size, ks_cli_now_ns()))
			rotate(r, rec);
		if (stats.full)
			return WHY_FULL;
		if (r->pid && kill((pid_t)r->pid, 0) && errno == ESRCH)
			return WHY_COMMAND;
		if (tty && ks_cli_now_ns() - last >= 500000000) {
			show(&stats, events_before, ks_cli_now_ns() - last);
			events_before = stats.events;
			last = ks_cli_now_ns();
		}
	}
}

/* For programs, on standard output. */
static void tell_json(const struct record *r, const struct ks_record_stats *stats, u64 bytes,
		      enum why why, int err)
{
	static const char *const ends[] = {
		[WHY_NONE] = "none",
		[WHY_INTERRUPTED] = "interrupt",
		[WHY_TERMINATED] = "termination",
		[WHY_COMMAND] = "command",
		[WHY_DURATION] = "duration",
		[WHY_FULL] = "max_size",
		[WHY_ERROR] = "error",
	};
	struct ks_strbuf text;
	struct ks_json json;

	ks_strbuf_init(&text);
	ks_json_init(&json, &text, KS_JSON_INDENTED);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-record-1");
	ks_json_string(&json, "file", r->opts.path);
	ks_json_u64(&json, "events", stats->events);
	ks_json_u64(&json, "lost_events", stats->lost);
	ks_json_u64(&json, "probes_missed", stats->probes_missed);
	ks_json_u64(&json, "bytes", bytes);
	ks_json_string(&json, "ended_by", ends[why]);
	ks_json_bool(&json, "all_written", !err);
	ks_json_u64(&json, "saved_files", r->triggers.saved);
	ks_json_u64(&json, "rotated_files", r->rotation.files);
	ks_json_end_object(&json);
	ks_json_finish(&json);
	fputs(ks_strbuf_str(&text), stdout);
	ks_strbuf_deinit(&text);
}

/* After an error the kernel's count is of more than the file holds: say so. */
static void tell(const struct record *r, const struct ks_record_stats *stats, enum why why, int err)
{
	struct stat st;
	char size[32];
	u64 bytes;

	bytes = !stat(r->opts.path, &st) ? (u64)st.st_size : stats->file_size;
	if (r->cli->output.json)
		tell_json(r, stats, bytes, why, err);
	if (r->quiet && !err)
		return;
	human(bytes, size, sizeof(size));
	fprintf(stderr, "%s%s: %llu events%s%s, %llu lost, %s%s\n",
		isatty(STDERR_FILENO) ? "\r\033[K" : "", r->opts.path,
		(unsigned long long)stats->events, r->opts.stack ? " and stack traces" : "",
		err ? " seen, not all of them written" : "", (unsigned long long)stats->lost, size,
		why == WHY_FULL ? "; stopped at --max-size" : "");
	if (stats->probes_missed)
		fprintf(stderr,
			"%llu calls that free or allocate without an event were missed by the "
			"probes\n",
			(unsigned long long)stats->probes_missed);
	if (r->rotation.files)
		fprintf(stderr, "these are in %u files; this one is the last\n",
			r->rotation.files + 1);
	if (stats->lost)
		fputs("events were lost: give the kernel larger buffers with --buffer-size\n",
		      stderr);
}

static int exit_code(const struct record *r, const struct ks_record_stats *stats, enum why why)
{
	if (why == WHY_INTERRUPTED)
		return KS_EXIT_INTERRUPTED;
	if (why == WHY_TERMINATED)
		return 128 + SIGTERM;
	if (r->child_ended && WIFSIGNALED(r->child_status))
		return 128 + WTERMSIG(r->child_status);
	if (r->child_ended && WEXITSTATUS(r->child_status))
		return WEXITSTATUS(r->child_status);
	return r->cli->output.strict && stats->lost ? KS_EXIT_LOST : KS_EXIT_OK;
}

/* How objects are seen to end that raise no event. */
static void say_means(const struct record *r, const struct ks_recorder *rec)
{
	const struct ks_record_census *census = r->opts.census_ctx;
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	ks_recorder_say_hooks(rec, &sb);
	fprintf(stderr, "probes: %s\n", ks_strbuf_str(&sb));
	ks_strbuf_deinit(&sb);
	if (r->opts.no_census)
		fputs("census: none\n", stderr);
	else if (census->refused)
		fprintf(stderr, "census: by /proc/slabinfo: %s\n", census->why.text);
	else
		fputs("census: of all objects, at the start and at the end\n", stderr);
}

static int record(struct record *r, struct ks_recorder *rec)
{
	struct ks_record_stats stats;
	struct ks_diag diag = { 0 };
	enum why why;
	int err;

	if (r->cli->output.verbose)
		say_means(r, rec);
	if (!r->quiet && *ks_recorder_filter_note(rec))
		fprintf(stderr, "%s\n", ks_recorder_filter_note(rec));
	if (r->child > 0) {
		int exec_err = release_child(r);

		if (exec_err) {
			ks_recorder_abort(rec);
			reap(r, true);
			return ks_cli_error(r->cli, exec_err == ENOENT ? 127 : 126,
					    "%s: cannot run it: %s", r->command[0],
					    strerror(exec_err));
		}
	} else if (!r->quiet) {
		fprintf(stderr, "recording%s into %s; stop with Ctrl-C\n",
			r->pid ? " the process" : " the whole machine", r->opts.path);
	}
	why = wait_for_end(r, rec);
	if (why == WHY_TERMINATED && r->child > 0)
		kill(r->child, SIGTERM);
	err = ks_recorder_stop(rec, &stats, &diag);
	if (why == WHY_INTERRUPTED || why == WHY_TERMINATED)
		reap(r, false);
	else
		reap(r, true);
	tell(r, &stats, why, err);
	if (err) {
		int code = ks_cli_fail(r->cli, err, &diag);

		if (!access(r->opts.path, R_OK))
			fprintf(stderr, "%s: holds what was recorded before.%s\n", r->opts.path,
				stats.finished
					? ""
					: " kmemscope can read it; with space on the disk, "
					  "'kmemscope check --repair' makes it readable for trace-cmd.");
		return code;
	}
	return exit_code(r, &stats, why);
}

/* Makes everything ready, records, and says what came of it. */
static int run(struct record *r)
{
	struct ks_recorder *rec = NULL;
	struct ks_diag diag = { 0 };
	enum why why;
	int code, err;

	ks_cli_block_signals(r->opts.keep_bytes || r->opts.keep_ns || is_rotating(r)
				     ? (const int[]){ SIGCHLD, SIGUSR1, 0 }
				     : (const int[]){ SIGCHLD, 0 },
			     &r->signals);
	if (r->pid && kill((pid_t)r->pid, 0) && errno == ESRCH)
		return ks_cli_error(r->cli, KS_EXIT_FAILED, "there is no process %u", r->pid);
	err = ks_trigger_start(&r->triggers, ks_cli_now_ns());
	if (err)
		return ks_cli_error(r->cli, KS_EXIT_FAILED, "--trigger: %s: cannot run it: %s",
				    r->triggers.words[0], strerror(err));
	if (r->command) {
		code = spawn(r);
		if (code)
			return code;
	}
	err = ks_recorder_new(&r->opts, &rec, &diag);
	if (!err && r->opts.only_pids)
		err = ks_recorder_follow(rec, r->pid ? r->pid : (u32)r->child, &diag);
	why = err ? WHY_NONE : asked_to_end(r);
	if (!err && !why)
		err = ks_recorder_start(rec, &diag);
	if (!err && !why)
		return record(r, rec);
	if (rec)
		ks_recorder_abort(rec);
	drop_child(r);
	if (err)
		return ks_cli_fail(r->cli, err, &diag);
	return ks_cli_error(r->cli, why == WHY_INTERRUPTED ? KS_EXIT_INTERRUPTED : 128 + SIGTERM,
			    "ended before recording began: no file was made");
}

/* === Public =============================================================================== */

int ks_cmd_record(int argc, char **argv)
{
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = "Exits with the status of COMMAND, or with 130 after Ctrl-C.\n"
			    "\n"
			    "examples:\n"
			    "  " KS_RECORD_NAME " -o trace.dat --duration 60\n"
			    "  " KS_RECORD_NAME " --stack -- make -j4\n",
		.shared = KS_WITH_COMMON,
		.runs_command = true,
	};
	struct ks_record_census census = { 0 };
	struct record r = { .cli = &cli,
			    .triggers = { .every = 10000000000ull },
			    .opts = { .path = "trace.dat",
				      .clock = "local",
				      .census = ks_record_census_take,
				      .census_ctx = &census },
			    .child_gate = -1,
			    .child_error = -1 };
	int code = parse_options(&r, argc, argv);

	if (code < 0)
		code = run(&r);
	ks_trigger_stop(&r.triggers);
	ks_record_census_deinit(&census);
	return code;
}
