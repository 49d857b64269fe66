/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flight recorder of a watch: it runs while the watch looks closer at something, as a process of its own. What it has is
 * kept when the look ends with a suspect, with some seconds that follow, and dropped when it ends with none.
 */
#ifndef KS_CLI_WATCH_FLIGHT_H
#define KS_CLI_WATCH_FLIGHT_H

#include <signal.h>
#include <sys/types.h>

#include "base/types.h"

struct ks_flight {
	const char *path; /* of the first recording; later ones are PATH.2, ... */
	u64 keep_ns;	  /* what is older is not in it */
	const sigset_t *blocked;

	/* The rest is for watch-flight.c alone. */
	char *part;  /* where it is recorded, until it is kept */
	pid_t pid;   /* 0 = it does not run */
	u64 keep_at; /* when it ends, and is kept; 0 = nobody is suspected yet */
	bool ending, kept, failed;
	u32 count; /* recordings that were kept */
};

/* After a step of the watch: whether it looks closer now, and whether it has found somebody in this step. */
void ks_flight_step(struct ks_flight *flight, bool looks, bool found, u64 now_ns);

/* Until when there is more to record of what was found. 0: nothing. */
u64 ks_flight_until(const struct ks_flight *flight);

/* Ends it. What was found is kept. */
void ks_flight_end(struct ks_flight *flight);

#endif
