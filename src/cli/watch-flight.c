// SPDX-License-Identifier: GPL-2.0-only
/* The flight recorder of a watch: started, ended, its file kept or removed. */
#include "cli/watch-flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/signals.h"

/* === Data ================================================================================= */

#define SECOND 1000000000ull

/* What is recorded after somebody was found. */
static const u64 after_ns = 10 * SECOND;

/* === Internals ============================================================================ */

/* A file of this name may be that of an earlier watch: only a recording that is kept takes its place. */
static void start(struct ks_flight *f)
{
	char keep[32];

	if (!f->part && asprintf(&f->part, "%s.part", f->path) < 0)
		f->part = NULL;
	if (!f->part || f->failed)
		return;
	f->pid = fork();
	if (f->pid) {
		f->pid = ks_max(f->pid, 0);
		f->keep_at = 0;
		f->ending = f->kept = false;
		return;
	}
	snprintf(keep, sizeof(keep), "%us", (unsigned int)(f->keep_ns / SECOND));
	ks_cli_unblock_signals(f->blocked);
	execl("/proc/self/exe", "kmemscope", "record", "-q", "--keep", keep, "-o", f->part,
	      (char *)NULL);
	_exit(127);
}

static void stop(struct ks_flight *f, bool kept)
{
	f->ending = true;
	f->kept = kept;
	kill(f->pid, SIGINT);
}

static void put_in_place(struct ks_flight *f)
{
	char *name;

	f->count++;
	if (f->count == 1) {
		rename(f->part, f->path);
		return;
	}
	if (asprintf(&name, "%s.%u", f->path, f->count) < 0)
		return;
	rename(f->part, name);
	free(name);
}

/* The recorder has said itself why it failed: it is not asked again. */
static void reap(struct ks_flight *f, bool wait_for_it)
{
	int status;
	pid_t pid;

	do
		pid = waitpid(f->pid, &status, wait_for_it ? 0 : WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (!pid)
		return;
	f->pid = 0;
	if (pid < 0 || !WIFEXITED(status) ||
	    (WEXITSTATUS(status) && WEXITSTATUS(status) != KS_EXIT_INTERRUPTED))
		f->failed = true;
	else if (f->kept || f->keep_at)
		put_in_place(f);
	else
		unlink(f->part);
}

/* === Public =============================================================================== */

void ks_flight_step(struct ks_flight *flight, bool looks, bool found, u64 now_ns)
{
	if (!flight->path)
		return;
	if (flight->pid)
		reap(flight, false);
	if (!flight->pid && looks)
		start(flight);
	if (!flight->pid || flight->ending)
		return;
	if (found && !flight->keep_at)
		flight->keep_at = now_ns + after_ns;
	if (flight->keep_at ? now_ns >= flight->keep_at : !looks)
		stop(flight, flight->keep_at != 0);
}

u64 ks_flight_until(const struct ks_flight *flight)
{
	return flight->pid && !flight->ending ? flight->keep_at : 0;
}

void ks_flight_end(struct ks_flight *flight)
{
	if (flight->pid && !flight->ending)
		stop(flight, flight->keep_at != 0);
	if (flight->pid)
		reap(flight, true);
	free(flight->part);
	flight->part = NULL;
}
