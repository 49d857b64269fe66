/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The agent of a host: looks at the kernel once an interval, keeps what it saw in a spool, and sends it on, by a thread of
 * its own, as soon as somebody takes it.
 */
#ifndef KS_FLEET_AGENT_H
#define KS_FLEET_AGENT_H

#include "fleet/forward.h"

struct ks_live;

struct ks_agent_opts {
	const char *host, *boot, *build; /* names */
	const char *const *labels;	 /* "name=value" */
	size_t nr_labels;
	u32 span;   /* seconds of an interval */
	bool types; /* rows by type: costs more */
};

struct ks_agent;

/* @queue and @live are the caller's. */
int ks_agent_new(const struct ks_agent_opts *opts, struct ks_queue *queue, struct ks_live *live,
		 struct ks_agent **ret_agent, struct ks_diag *diag);
void ks_agent_free(struct ks_agent *agent);

/* Looks at the kernel now; what it saw is safe in the spool when this returns. */
int ks_agent_sample(struct ks_agent *agent, struct ks_diag *diag);

/* The interval went by without a look that worked: the next report says so. */
void ks_agent_skip(struct ks_agent *agent, u64 intervals);

/*
 * How many intervals went by between two looks, by a clock that nobody sets and that goes on while the machine sleeps. A clock
 * of the day that is set forward skips nothing.
 */
u64 ks_agent_missed(u64 last_ns, u64 now_ns, u64 interval_ns);

/*
 * A thread that forwards until it is told to stop. It waits where the receiver is away, longer from time to time. @delay_ms:
 * it lets this much time pass before it sends what is new, so that hosts which look at the same moment do not send at the
 * same moment. @trouble is called when sending begins to fail, and for another reason, from that thread.
 */
struct ks_sender;

int ks_sender_start(const struct ks_forward *forward, u32 delay_ms,
		    void (*trouble)(void *ctx, const struct ks_diag *diag), void *ctx,
		    struct ks_sender **ret_sender, struct ks_diag *diag);

/* There is something new in the queue. */
void ks_sender_wake(struct ks_sender *sender);

/* Stops after the request that is under way. */
void ks_sender_stop(struct ks_sender *sender);

#endif
