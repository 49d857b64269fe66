/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A thread that looks at the kernel once in a while, so that whoever shows what it found never waits for it: an exact
 * count of types may last seconds.
 */
#ifndef KS_LIVE_WORKER_H
#define KS_LIVE_WORKER_H

#include "live/live.h"

struct ks_live_worker;

/* Work for the thread, between two looks. Returns 0 or -errno. */
typedef int ks_live_job_fn(struct ks_live *live, void *ctx, struct ks_diag *diag);

/* The first snapshot is there when this returns. Signals must be blocked where the caller waits for them. */
int ks_live_worker_start(const struct ks_live_opts *opts, u64 interval_ns,
			 struct ks_live_worker **ret_worker, struct ks_diag *diag);

/* Waits for what the thread is doing. Accepts NULL. */
void ks_live_worker_stop(struct ks_live_worker *worker);

/* Readable when there is a new snapshot, an end of a job, or an error; ks_live_worker_clear() before looking. */
int ks_live_worker_fd(const struct ks_live_worker *worker);
void ks_live_worker_clear(struct ks_live_worker *worker);

/* The newest one, to be put back with ks_live_snapshot_put(). Any thread may ask. */
struct ks_live_snapshot *ks_live_worker_snapshot(struct ks_live_worker *worker);

/* How the last look ended: 0, or -errno and why; the newest snapshot is older then. */
int ks_live_worker_state(struct ks_live_worker *worker, struct ks_diag *diag);

/* Looks that have ended so far, well or badly: a thread that hangs ends none. */
u64 ks_live_worker_looks(struct ks_live_worker *worker);

/* Gives the thread a job; a look follows it. -EBUSY: it has one already. */
int ks_live_worker_do(struct ks_live_worker *worker, ks_live_job_fn *job, void *ctx);

/* Whether the job has ended, once; then how. */
bool ks_live_worker_done(struct ks_live_worker *worker, int *ret_err, struct ks_diag *diag);

#endif
