/* SPDX-License-Identifier: GPL-2.0-only */
/* A long run for a person: a line on standard error where that is a terminal, and Ctrl-C. */
#ifndef KS_CLI_PROGRESS_H
#define KS_CLI_PROGRESS_H

#include <time.h>

#include "base/clock.h"

/* A clock for measuring time; its start has no meaning. */
static inline u64 ks_cli_now_ns(void)
{
	return ks_clock_ns(CLOCK_MONOTONIC);
}

/* State of the line. */
struct ks_progress {
	const char *what;
	bool tty, shown;
	struct timespec start, last;
};

void ks_cli_progress_start(struct ks_progress *progress, const char *what);

/* To be called often; shown after the first second. Non-zero: stop, Ctrl-C was pressed. */
int ks_cli_progress(void *progress, u64 done, u64 total);
void ks_cli_progress_end(const struct ks_progress *progress);

#endif
