// SPDX-License-Identifier: LGPL-2.1-only
/* A thread that looks at the kernel once in a while. */
#include "live/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* === Data ================================================================================= */

struct ks_live_worker {
	struct ks_live *live; /* the thread's own, once it runs */
	u64 interval_ns;
	pthread_t thread;
	int fd;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t wake;  /* by CLOCK_MONOTONIC */
	bool stop;
	struct ks_live_snapshot *newest;
	u64 looks;
	int err;
	struct ks_diag diag;

	ks_live_job_fn *job; /* NULL = none */
	void *job_ctx;
	bool job_done;
	int job_err;
	struct ks_diag job_diag;
};

/* === Internals ============================================================================ */

static void tell(struct ks_live_worker *w)
{
	u64 one = 1;

	/* It can't be full: only then could this fail. */
	if (write(w->fd, &one, sizeof(one)) < 0)
		return;
}

/* One look, without the lock; what it found is published with it. */
static void look(struct ks_live_worker *w)
{
	struct ks_live_snapshot *snapshot = NULL, *old = NULL;
	struct ks_diag diag = { 0 };
	int err = ks_live_poll(w->live, &snapshot, &diag);

	pthread_mutex_lock(&w->lock);
	w->err = err;
	w->diag = diag;
	w->looks++;
	if (!err) {
		old = w->newest;
		w->newest = snapshot;
	}
	pthread_mutex_unlock(&w->lock);
	ks_live_snapshot_put(old);
	tell(w);
}

/* Called with the lock held, which is not held while the job runs. */
static void run_job(struct ks_live_worker *w)
{
	struct ks_diag diag = { 0 };
	int err;

	pthread_mutex_unlock(&w->lock);
	err = w->job(w->live, w->job_ctx, &diag);
	pthread_mutex_lock(&w->lock);
	w->job = NULL;
	w->job_done = true;
	w->job_err = err;
	w->job_diag = diag;
}

static void *run(void *arg)
{
	struct ks_live_worker *w = arg;
	u64 next = ks_clock_ns(CLOCK_MONOTONIC) + w->interval_ns;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		const struct timespec until = { (time_t)(next / 1000000000),
						(long)(next % 1000000000) };

		if (w->job)
			run_job(w);
		else if (ks_clock_ns(CLOCK_MONOTONIC) < next) {
			pthread_cond_timedwait(&w->wake, &w->lock, &until);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		look(w);
		/* A look that lasted longer than the interval is not caught up with. */
		next = ks_max(next + w->interval_ns,
			      ks_clock_ns(CLOCK_MONOTONIC) + w->interval_ns / 2);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void worker_free(struct ks_live_worker *w)
{
	ks_live_snapshot_put(w->newest);
	ks_live_close(w->live);
	if (w->fd >= 0)
		close(w->fd);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void init_lock(struct ks_live_worker *w)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
}

/* === Public =============================================================================== */

int ks_live_worker_start(const struct ks_live_opts *opts, u64 interval_ns,
			 struct ks_live_worker **ret_worker, struct ks_diag *diag)
{
	struct ks_live_worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return ks_diag_nomem(diag, "looking at the kernel");
	w->interval_ns = interval_ns;
	init_lock(w);
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = w->fd >= 0 ? 0 : ks_diag_set(diag, -errno, "eventfd: %s", strerror(errno));
	if (!err)
		err = ks_live_open(opts, &w->live, diag);
	if (!err)
		err = ks_live_poll(w->live, &w->newest, diag);
	if (!err) {
		w->looks = 1;
		err = -pthread_create(&w->thread, NULL, run, w);
		if (err)
			ks_diag_set(diag, err, "cannot start a thread: %s", strerror(-err));
	}
	if (err) {
		worker_free(w);
		return err;
	}
	tell(w);
	*ret_worker = w;
	return 0;
}

void ks_live_worker_stop(struct ks_live_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	worker_free(w);
}

int ks_live_worker_fd(const struct ks_live_worker *w)
{
	return w->fd;
}

void ks_live_worker_clear(struct ks_live_worker *w)
{
	u64 count;

	/* Nothing there is what is wanted. */
	if (read(w->fd, &count, sizeof(count)) < 0)
		return;
}

struct ks_live_snapshot *ks_live_worker_snapshot(struct ks_live_worker *w)
{
	struct ks_live_snapshot *snapshot;

	pthread_mutex_lock(&w->lock);
	snapshot = ks_live_snapshot_get(w->newest);
	pthread_mutex_unlock(&w->lock);
	return snapshot;
}

int ks_live_worker_state(struct ks_live_worker *w, struct ks_diag *diag)
{
	int err;

	pthread_mutex_lock(&w->lock);
	err = w->err;
	*diag = w->diag;
	pthread_mutex_unlock(&w->lock);
	return err;
}

u64 ks_live_worker_looks(struct ks_live_worker *w)
{
	u64 looks;

	pthread_mutex_lock(&w->lock);
	looks = w->looks;
	pthread_mutex_unlock(&w->lock);
	return looks;
}

int ks_live_worker_do(struct ks_live_worker *w, ks_live_job_fn *job, void *ctx)
{
	int err = 0;

	pthread_mutex_lock(&w->lock);
	if (w->job || w->job_done) {
		err = -EBUSY;
	} else {
		w->job = job;
		w->job_ctx = ctx;
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return err;
}

bool ks_live_worker_done(struct ks_live_worker *w, int *ret_err, struct ks_diag *diag)
{
	bool done;

	pthread_mutex_lock(&w->lock);
	done = w->job_done;
	if (done) {
		*ret_err = w->job_err;
		*diag = w->job_diag;
		w->job_done = false;
	}
	pthread_mutex_unlock(&w->lock);
	return done;
}
