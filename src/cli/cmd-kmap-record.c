// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap record: drives the kernel module memorizer, and writes its stream into a file. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/memorizer.h"
#include "cli/kmap.h"
#include "cli/progress.h"
#include "cli/signals.h"

/* === Data ================================================================================= */

static const char default_output[] = "trace.kmap";

/*
 * In mode 1 the recorder's own work is recorded, too. Woken for each object it would make, and read,
 * mostly its own; it rests after each read.
 */
enum { REST_MS = 20 };

struct recording {
	struct ks_kmap_args *args;
	const char *path;
	char **command; /* or NULL */
	struct ks_memorizer memorizer;
	struct ks_memorizer_copy copy;
	struct ks_kmap_kernel_stats before;
	u64 mode_before;
	sigset_t signals;
	int signal_fd;
	int end_fd; /* of the process whose end is ours; -1 = none */
	pid_t child;
	int child_status;
};

enum why { WHY_NONE, WHY_INTERRUPTED, WHY_TERMINATED, WHY_PROCESS, WHY_DURATION };

/* What a child tells when it comes to nothing. */
struct complaint {
	int exit_code;
	struct ks_diag diag;
};

/* === Internals: beginning ================================================================= */

/* No signal may come between us and putting the mode back: they are read, not handled. */
static int catch_signals(struct recording *r, struct ks_diag *diag)
{
	ks_cli_block_signals((const int[]){ 0 }, &r->signals);
	r->signal_fd = ks_cli_signal_fd(&r->signals, diag);
	if (r->signal_fd < 0)
		return r->signal_fd;
	return 0;
}

static u64 mode_of(const struct recording *r)
{
	if (r->args->record.pid)
		return r->args->record.pid;
	if (r->args->record.mode)
		return r->args->record.mode;
	return r->command ? KS_MEMORIZER_TASKS : KS_MEMORIZER_SYSTEM;
}

static void run_child(const struct recording *r, int complaints)
{
	struct complaint complaint = { .exit_code = KS_EXIT_FAILED };

	ks_cli_unblock_signals(&r->signals);
	if (!ks_memorizer_set_mode(&r->memorizer, mode_of(r), &complaint.diag)) {
		if (!r->command)
			_exit(0);
		execvp(r->command[0], r->command);
		complaint.exit_code = errno == ENOENT ? 127 : 126;
		ks_diag_set(&complaint.diag, -errno, "%s: cannot run it: %s", r->command[0],
			    strerror(errno));
	}
	if (write(complaints, &complaint, sizeof(complaint)) < 0)
		_exit(KS_EXIT_FAILED);
	_exit(complaint.exit_code);
}

/*
 * A child sets the mode, whatever the mode is: modes 2 and 3 mark the process that writes them, and
 * that must not be the recorder. Then it becomes the command, if there is one. 0 or an exit code.
 */
static int start_child(struct recording *r, struct ks_diag *diag)
{
	struct complaint complaint;
	bool complained;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC)) {
		ks_diag_set(diag, -errno, "cannot make a pipe: %s", strerror(errno));
		return KS_EXIT_FAILED;
	}
	r->child = fork();
	if (!r->child)
		run_child(r, fds[1]);
	close(fds[1]);
	if (r->child < 0) {
		close(fds[0]);
		ks_diag_set(diag, -errno, "cannot fork: %s", strerror(errno));
		return KS_EXIT_FAILED;
	}
	complained = read(fds[0], &complaint, sizeof(complaint)) == sizeof(complaint);
	close(fds[0]);
	if (complained || !r->command) {
		waitpid(r->child, &r->child_status, 0);
		r->child = 0;
	}
	if (!complained)
		return 0;
	*diag = complaint.diag;
	return complaint.exit_code;
}

/* Everything that can fail before a mode is set. */
static int prepare(struct recording *r, struct ks_diag *diag)
{
	int err = ks_memorizer_mode(&r->memorizer, &r->mode_before, diag);

	if (!err)
		err = ks_memorizer_stats(&r->memorizer, &r->before, diag);
	if (!err && r->args->record.pid) {
		r->end_fd = pidfd_open((pid_t)r->args->record.pid, 0);
		if (r->end_fd < 0)
			err = ks_diag_set(diag, -errno, "process %u: cannot follow it: %s",
					  r->args->record.pid, strerror(errno));
	}
	if (!err)
		err = catch_signals(r, diag);
	if (!err && r->args->record.clear)
		err = ks_memorizer_clear(&r->memorizer, diag);
	return err;
}

/* === Internals: waiting =================================================================== */

static enum why signalled(const struct recording *r)
{
	struct signalfd_siginfo info;

	if (read(r->signal_fd, &info, sizeof(info)) != sizeof(info))
		return WHY_NONE;
	return info.ssi_signo == SIGINT ? WHY_INTERRUPTED : WHY_TERMINATED;
}

/* How long to poll; -1 is for ever. A duration is rounded up: it is over when its time has come. */
static int patience(u64 left_ns, bool timed, bool resting)
{
	u64 ms = timed ? left_ns / 1000000 + 1 : INT32_MAX;

	if (resting)
		ms = ks_min(ms, (u64)REST_MS);
	return timed || resting ? (int)ks_min(ms, (u64)INT32_MAX) : -1;
}

/* Copies until something ends the recording. */
static int copy_until_end(struct recording *r, enum why *ret_why, struct ks_diag *diag)
{
	u64 duration = r->args->record.duration_ns, start = ks_cli_now_ns();
	bool resting = false, more = false;
	int err = 0;

	*ret_why = WHY_NONE;
	while (!err && !*ret_why) {
		u64 elapsed = ks_cli_now_ns() - start;
		struct pollfd fds[] = {
			{ .fd = r->signal_fd, .events = POLLIN },
			{ .fd = r->end_fd, .events = POLLIN },
			{ .fd = resting ? -1 : r->copy.fd, .events = POLLIN },
		};

		if (duration && elapsed >= duration) {
			*ret_why = WHY_DURATION;
			break;
		}
		if (poll(fds, ARRAY_SIZE(fds), patience(duration - elapsed, duration, resting)) < 0)
			return ks_diag_set(diag, -errno, "cannot wait: %s", strerror(errno));
		if (fds[0].revents)
			*ret_why = signalled(r);
		else if (fds[1].revents)
			*ret_why = WHY_PROCESS;
		resting = false;
		if (!*ret_why && fds[2].revents) {
			err = ks_memorizer_copy_some(&r->copy, &more, diag);
			resting = !more;
		}
	}
	return err;
}

/* === Internals: the end =================================================================== */

static int drain(struct recording *r, struct ks_diag *diag)
{
	bool more = true;
	int err = 0;

	while (!err && more)
		err = ks_memorizer_copy_some(&r->copy, &more, diag);
	if (!err && r->args->record.live)
		err = ks_memorizer_copy_live(&r->copy, diag);
	return err;
}

/* What was read is gone from the kernel, so the file is kept even where it is not whole. */
static int finish(struct recording *r, int err, struct ks_kmap_kernel_stats *ret_after,
		  struct ks_diag *diag)
{
	struct ks_diag *first = err ? NULL : diag;
	int next = ks_memorizer_set_mode(&r->memorizer, KS_MEMORIZER_OFF, first);

	if (!err)
		err = next;
	if (!err)
		err = drain(r, diag);
	next = ks_memorizer_stats(&r->memorizer, ret_after, err ? NULL : diag);
	if (next)
		*ret_after = r->before;
	err = err ? err : next;
	next = ks_memorizer_restore_mode(&r->memorizer, r->mode_before, err ? NULL : diag);
	err = err ? err : next;
	next = ks_memorizer_copy_end(&r->copy, true, err ? NULL : diag);
	return err ? err : next;
}

/* @lost: during this recording. */
static void tell(const struct recording *r, const struct ks_kmap_kernel_stats *lost)
{
	u64 objects = ks_kmap_lost_objects(lost), marks = lost->lost[KS_KMAP_LOST_MARKS];
	size_t i;

	fprintf(stderr, "%s: %llu objects, %llu dropped\n", r->path,
		(unsigned long long)r->copy.counter.objects, (unsigned long long)objects);
	for (i = KS_KMAP_LOST_MARKS + 1; i < KS_KMAP_LOSSES; i++)
		if (lost->lost[i])
			fprintf(stderr, "%s: %s: %llu\n", r->path,
				ks_kmap_loss_name((enum ks_kmap_loss)i),
				(unsigned long long)lost->lost[i]);
	if (objects || lost->lost[KS_KMAP_LOST_ACCESSES_FULL])
		fprintf(stderr, "%s were dropped: give the module more memory with max_mb=\n",
			objects ? "objects" : "accesses");
	if (marks)
		fprintf(stderr, "%llu child processes could not be followed\n",
			(unsigned long long)marks);
}

static int exit_code(const struct recording *r, const struct ks_kmap_kernel_stats *lost,
		     enum why why)
{
	if (why == WHY_INTERRUPTED)
		return KS_EXIT_INTERRUPTED;
	if (why == WHY_TERMINATED)
		return 128 + SIGTERM;
	if (WIFSIGNALED(r->child_status))
		return 128 + WTERMSIG(r->child_status);
	if (WEXITSTATUS(r->child_status))
		return WEXITSTATUS(r->child_status);
	return r->args->cli.output.strict && ks_kmap_lost_total(lost) ? KS_EXIT_LOST : KS_EXIT_OK;
}

/* All is put back: from here on a signal may have its usual way. */
static void wait_for_command(struct recording *r)
{
	sigprocmask(SIG_UNBLOCK, &r->signals, NULL);
	waitpid(r->child, &r->child_status, 0);
}

/* From the first mode that is set to the last. */
static int record(struct recording *r, struct ks_diag *diag)
{
	struct ks_kmap_kernel_stats after;
	enum why why = WHY_NONE;
	int code = start_child(r, diag), err = 0;

	if (code) {
		ks_memorizer_restore_mode(&r->memorizer, r->mode_before, NULL);
		ks_memorizer_copy_end(&r->copy, false, NULL);
		return ks_cli_error(&r->args->cli, code, "%s", diag->text);
	}
	if (r->child > 0) {
		r->end_fd = pidfd_open(r->child, 0);
		if (r->end_fd < 0)
			err = ks_diag_set(diag, -errno, "cannot follow the command: %s",
					  strerror(errno));
	} else {
		fprintf(stderr, "recording into %s; stop with Ctrl-C\n", r->path);
	}
	if (!err)
		err = copy_until_end(r, &why, diag);
	if (why == WHY_TERMINATED && r->child > 0)
		kill(r->child, SIGTERM);
	err = finish(r, err, &after, diag);
	ks_kmap_kernel_stats_since(&after, &r->before);
	tell(r, &after);
	if (r->child > 0 && why != WHY_INTERRUPTED && why != WHY_TERMINATED)
		wait_for_command(r);
	if (err)
		return ks_cli_fail(&r->args->cli, err, diag);
	if (after.failed)
		return ks_cli_error(
			&r->args->cli, KS_EXIT_FAILED,
			"the memorizer has switched itself off (%s); the map ends there",
			after.state);
	return exit_code(r, &after, why);
}

/* === Public =============================================================================== */

int ks_kmap_record(struct ks_kmap_args *args)
{
	const char *dir = getenv("MEMORIZER_DIR");
	struct recording r = { .args = args,
			       .path = args->record.output ? args->record.output : default_output,
			       .command = args->nr_operands ? args->operands : NULL,
			       .signal_fd = -1,
			       .end_fd = -1 };
	struct ks_diag diag = { 0 };
	int err, code;

	if (args->record.pid && (args->record.mode || r.command))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "--pid and %s: choose one",
				    args->record.mode ? "--mode" : "a command");
	err = ks_memorizer_open(&r.memorizer, dir ? dir : KS_MEMORIZER_DIR, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	err = prepare(&r, &diag);
	if (!err)
		err = ks_memorizer_copy_start(&r.copy, &r.memorizer, r.path, args->record.text,
					      &diag);
	code = err ? ks_cli_fail(&args->cli, err, &diag) : record(&r, &diag);
	if (r.end_fd >= 0)
		close(r.end_fd);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	ks_memorizer_close(&r.memorizer);
	return code;
}
