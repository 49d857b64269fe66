// SPDX-License-Identifier: LGPL-2.1-only
/* An agent's looks at the kernel, and the thread that sends them. */
#include "fleet/agent.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "fleet/sample.h"
#include "live/live.h"

/* === Data ================================================================================= */

enum { DAY = 86400 };

struct ks_agent {
	struct ks_agent_opts opts;
	struct ks_queue *queue;
	struct ks_live *live;
	struct ks_map64 known; /* names that were sent */
	u32 known_day;	       /* since when: they are sent again each day */
	u64 dropped;	       /* messages of the spool, when known was begun */
	u64 version, skipped;
	u32 newest; /* the latest interval that was looked at */
};

struct ks_sender {
	struct ks_forward forward;
	u32 delay_ms;
	void (*trouble)(void *ctx, const struct ks_diag *diag);
	void *ctx;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	bool stop, news;
};

/* === Internals ============================================================================ */

static int add_labels(const struct ks_agent *agent, struct ks_fleet_batch *batch)
{
	size_t i;

	for (i = 0; i < agent->opts.nr_labels; i++) {
		const char *label = agent->opts.labels[i], *equals = strchr(label, '=');
		char *name = strndup(label, (size_t)(equals - label));
		int err = name ? ks_fleet_batch_label(batch, name, equals + 1) : -ENOMEM;

		free(name);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Names are sent with the first batch that has them. If batches were dropped, theirs are unknown to the receiver; and
 * a database may have been made anew. So all are sent again after a loss, and once a day.
 */
static void renew_names(struct ks_agent *agent, u32 at)
{
	struct ks_queue_state state;

	ks_queue_state(agent->queue, &state);
	if (at / DAY == agent->known_day && state.dropped == agent->dropped)
		return;
	ks_map64_clear(&agent->known);
	agent->known_day = at / DAY;
	agent->dropped = state.dropped;
}

static int fill_batch(struct ks_agent *agent, struct ks_fleet_batch *batch,
		      const struct ks_live_snapshot *snapshot, struct ks_diag *diag)
{
	struct ks_queue_state state;
	bool first;
	int err;

	batch->span = agent->opts.span;
	batch->at = (u32)(snapshot->wall_ns / 1000000000 / batch->span * batch->span);
	renew_names(agent, batch->at);
	first = !agent->known.keys.len;
	/* A clock that was set back must not make an interval older than what is stored of it. */
	batch->version = agent->version = ks_max(snapshot->wall_ns, agent->version + 1);
	ks_queue_state(agent->queue, &state);
	batch->lost = state.dropped;
	/* It replaces what was seen of this interval before the clock was set back. */
	agent->skipped += batch->at <= agent->newest;
	agent->newest = ks_max(agent->newest, batch->at);
	batch->skipped = agent->skipped;
	err = ks_fleet_identify(batch, &agent->known, agent->opts.host, agent->opts.boot,
				agent->opts.build);
	if (!err && first)
		err = add_labels(agent, batch);
	if (err)
		return ks_diag_nomem(diag, "making a batch");
	return ks_fleet_sample_live(batch, &agent->known, snapshot, agent->opts.types, diag);
}

static int keep(struct ks_agent *agent, const struct ks_live_snapshot *snapshot,
		struct ks_diag *diag)
{
	struct ks_fleet_batch batch;
	struct ks_strbuf packed;
	int err;

	ks_fleet_batch_init(&batch);
	ks_strbuf_init(&packed);
	err = fill_batch(agent, &batch, snapshot, diag);
	if (!err && ks_fleet_batch_pack(&batch, &packed))
		err = ks_diag_nomem(diag, "making a batch");
	if (!err)
		err = ks_queue_put(agent->queue, packed.s, packed.len, diag);
	if (err)
		ks_map64_clear(&agent->known); /* names of this batch were never sent */
	ks_strbuf_deinit(&packed);
	ks_fleet_batch_deinit(&batch);
	return err;
}

/* Waits under the lock, until there is something to do or time is over. */
static void wait_ms(struct ks_sender *sender, u64 ms, bool for_news)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!sender->stop && !(for_news && sender->news))
		if (pthread_cond_timedwait(&sender->changed, &sender->lock, &until))
			break;
}

static bool is_stopped(struct ks_sender *sender)
{
	bool stop;

	pthread_mutex_lock(&sender->lock);
	stop = sender->stop;
	pthread_mutex_unlock(&sender->lock);
	return stop;
}

static void *run_sender(void *arg)
{
	enum { IDLE_MS = 60000 };
	struct ks_sender *sender = arg;
	struct ks_diag diag = { 0 }, last = { 0 };
	u64 sent, seed = ks_hash_seed();
	unsigned int failures = 0;
	int err;

	while (!is_stopped(sender)) {
		diag = (struct ks_diag){ 0 };
		err = ks_forward_some(&sender->forward, &sent, &diag);
		if (err) {
			failures++;
			if (strcmp(diag.text, last.text))
				sender->trouble(sender->ctx, &diag);
			last = diag;
		} else if (failures) {
			failures = 0;
			last = (struct ks_diag){ 0 };
		}
		if (!err && sent)
			continue;
		pthread_mutex_lock(&sender->lock);
		if (err) {
			seed = ks_hash_u64(seed, failures);
			wait_ms(sender, ks_http_backoff_ms(failures, seed >> 16), false);
		} else {
			wait_ms(sender, IDLE_MS, true);
			if (sender->news)
				wait_ms(sender, sender->delay_ms, false);
			sender->news = false;
		}
		pthread_mutex_unlock(&sender->lock);
	}
	return NULL;
}

/* === Public =============================================================================== */

int ks_agent_new(const struct ks_agent_opts *opts, struct ks_queue *queue, struct ks_live *live,
		 struct ks_agent **ret_agent, struct ks_diag *diag)
{
	struct ks_agent *agent = calloc(1, sizeof(*agent));

	if (!agent || ks_map64_init(&agent->known)) {
		free(agent);
		return ks_diag_nomem(diag, "starting an agent");
	}
	agent->opts = *opts;
	agent->queue = queue;
	agent->live = live;
	*ret_agent = agent;
	return 0;
}

void ks_agent_free(struct ks_agent *agent)
{
	if (!agent)
		return;
	ks_map64_deinit(&agent->known);
	free(agent);
}

int ks_agent_sample(struct ks_agent *agent, struct ks_diag *diag)
{
	struct ks_live_snapshot *snapshot;
	int err;

	if (agent->opts.types)
		ks_live_census_now(agent->live, true);
	err = ks_live_poll(agent->live, &snapshot, diag);
	if (err)
		return err;
	if (!snapshot->wall_ns)
		snapshot->wall_ns = ks_clock_ns(CLOCK_REALTIME);
	err = keep(agent, snapshot, diag);
	ks_live_snapshot_put(snapshot);
	return err;
}

void ks_agent_skip(struct ks_agent *agent, u64 intervals)
{
	agent->skipped += intervals;
}

u64 ks_agent_missed(u64 last_ns, u64 now_ns, u64 interval_ns)
{
	u64 passed = (now_ns - last_ns + interval_ns / 2) / interval_ns;

	return passed > 1 ? passed - 1 : 0;
}

int ks_sender_start(const struct ks_forward *forward, u32 delay_ms,
		    void (*trouble)(void *ctx, const struct ks_diag *diag), void *ctx,
		    struct ks_sender **ret_sender, struct ks_diag *diag)
{
	struct ks_sender *sender = calloc(1, sizeof(*sender));
	pthread_condattr_t attr;
	int err;

	if (!sender)
		return ks_diag_nomem(diag, "starting to send");
	sender->forward = *forward;
	sender->delay_ms = delay_ms;
	sender->trouble = trouble;
	sender->ctx = ctx;
	pthread_mutex_init(&sender->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&sender->changed, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&sender->thread, NULL, run_sender, sender);
	if (err) {
		free(sender);
		return ks_diag_set(diag, -err, "cannot start a thread: %s", strerror(err));
	}
	*ret_sender = sender;
	return 0;
}

void ks_sender_wake(struct ks_sender *sender)
{
	pthread_mutex_lock(&sender->lock);
	sender->news = true;
	pthread_cond_signal(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
}

void ks_sender_stop(struct ks_sender *sender)
{
	if (!sender)
		return;
	pthread_mutex_lock(&sender->lock);
	sender->stop = true;
	pthread_cond_signal(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
	pthread_join(sender->thread, NULL);
	pthread_cond_destroy(&sender->changed);
	pthread_mutex_destroy(&sender->lock);
	free(sender);
}
