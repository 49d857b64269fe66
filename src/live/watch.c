// SPDX-License-Identifier: LGPL-2.1-only
/* Watches for growth: listens, looks closer, traces, says what it found. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "live/watch-steps.h"

/* === Data ================================================================================= */

/* A machine that is busy lets us look less often than we want: */
enum {
	LISTENED_ENOUGH = 8,		  /* looks at counters, to tell what rises */
	POINTS_ENOUGH = 2 * KS_SPANS + 4, /* at allocations, to judge these */
};

static const u64 second = 1000000000;
static const u64 between_ns = 5000000000; /* rounds, at least */
static const u64 listen_wait_ns = 1000000000, look_wait_ns = 500000000, trace_ns = 4000000000;

static const char *const phases[KS_WATCH_PHASES] = {
	[KS_WATCH_LISTENS] = "listens",
	[KS_WATCH_LOOKS] = "looks",
	[KS_WATCH_TRACES] = "traces",
};

/* === Internals: changing levels =========================================================== */

static void enter(struct ks_watch *watch, enum ks_watch_phase phase, u64 now)
{
	watch->phase = phase;
	watch->state->phase_ns = now;
	watch->state->points = 0;
	watch->state->counted_first = watch->state->counted = watch->state->held = false;
}

static int start_looking(struct ks_watch *watch, struct ks_live *live, u64 now,
			 struct ks_diag *diag)
{
	struct ks_watch_state *w = watch->state;
	const char *names[KS_WATCH_CHOSEN];
	const struct ks_live_filter filter = { .caches = names, .nr_caches = w->nr_chosen };
	size_t i;
	int err;

	for (i = 0; i < w->nr_chosen; i++)
		names[i] = w->chosen[i];
	ks_watch_forget_rows(w);
	err = ks_live_set_level(live, KS_LIVE_EXACT, &filter, diag);
	/* A cache may have gone meanwhile: the others can wait for the next time. */
	if (err == -ENOENT) {
		enter(watch, KS_WATCH_LISTENS, now);
		return 0;
	}
	if (err)
		return err;
	ks_live_census_now(live, false);
	watch->rounds++;
	enter(watch, KS_WATCH_LOOKS, now);
	return 0;
}

static int stop_looking(struct ks_watch *watch, struct ks_live *live, u64 now, struct ks_diag *diag)
{
	int err = ks_live_set_level(live, KS_LIVE_CENSUS, NULL, diag);

	ks_watch_forget_rows(watch->state);
	enter(watch, KS_WATCH_LISTENS, now);
	return err;
}

/* Stacks of the suspects alone. Where they can't be had, the verdict goes without. */
static void start_tracing(struct ks_watch *watch, struct ks_live *live, u64 now)
{
	struct ks_watch_state *w = watch->state;
	const char *names[KS_WATCH_ACCUSED], *sites[KS_WATCH_ACCUSED];
	struct ks_live_filter filter = { .caches = names,
					 .nr_caches = w->tracing.len,
					 .sites = sites,
					 .nr_sites = w->tracing.len,
					 .stacks = true };
	struct ks_diag ignored;
	size_t i;
	int err;

	for (i = 0; i < w->tracing.len; i++) {
		names[i] = w->tracing.items[i]->cache;
		sites[i] = w->tracing.items[i]->site;
		/* Without memory there is no type. */
		(void)ks_live_want_type(live, w->tracing.items[i]->example);
	}
	err = ks_live_set_level(live, KS_LIVE_EXACT, &filter, &ignored);
	/* A module may have gone, or a site be an address that has no name. */
	if (err == -ENOENT) {
		filter.nr_sites = 0;
		err = ks_live_set_level(live, KS_LIVE_EXACT, &filter, &ignored);
	}
	if (!err)
		ks_live_census_now(live, true);
	ks_watch_forget_rows(w);
	enter(watch, KS_WATCH_TRACES, now);
}

/* === Internals: steps ===================================================================== */

static int step_listening(struct ks_watch *watch, struct ks_live *live,
			  const struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct ks_watch_state *w = watch->state;

	watch->looks++;
	if (ks_watch_listen(watch, s))
		return ks_diag_nomem(diag, "watching");
	w->points++;
	if (s->at_ns < w->phase_ns + (watch->rounds ? between_ns : watch->opts.listen_ns))
		return 0;
	if (!watch->rounds && w->points < LISTENED_ENOUGH)
		return 0;
	if (ks_watch_choose(watch, s->at_ns))
		return ks_diag_nomem(diag, "watching");
	return w->nr_chosen ? start_looking(watch, live, s->at_ns, diag) : 0;
}

/*
 * Objects whose end raises no event look as if they stayed. So the row is judged twice: without, and then with an exact
 * count, after which such objects are gone.
 */
static int step_looking(struct ks_watch *watch, struct ks_live *live,
			const struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct ks_watch_state *w = watch->state;
	struct ks_growings growings = { 0 };
	int err;

	if (ks_watch_look(w, s))
		return ks_diag_nomem(diag, "watching");
	if (!w->counted_first && s->parts[KS_LIVE_CACHES].exact) {
		w->counted_first = true;
		if (ks_watch_count_first(w, s))
			return ks_diag_nomem(diag, "watching");
	}
	w->points++;
	if (s->at_ns < w->phase_ns + watch->opts.look_ns)
		return 0;
	if (w->points < POINTS_ENOUGH && s->at_ns < w->phase_ns + 2 * watch->opts.look_ns)
		return 0;
	err = ks_watch_find_growing(watch, s, &growings);
	if (!err && !growings.items.len) {
		watch->dismissed += w->counted;
		return stop_looking(watch, live, s->at_ns, diag);
	}
	if (!err && !w->counted) {
		w->counted = true;
		ks_live_census_now(live, false);
	} else if (!err) {
		err = ks_watch_suspect(watch, &growings, s);
		if (!err && !w->tracing.len) {
			ks_vec_free(&growings.items);
			return stop_looking(watch, live, s->at_ns, diag);
		}
		if (!err)
			start_tracing(watch, live, s->at_ns);
	}
	ks_vec_free(&growings.items);
	return err ? ks_diag_nomem(diag, "watching") : 0;
}

static int step_tracing(struct ks_watch *watch, struct ks_live *live,
			const struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct ks_watch_state *w = watch->state;
	size_t i;

	for (i = 0; i < w->tracing.len; i++)
		if (s->parts[KS_LIVE_TYPES].at_ns >= w->phase_ns &&
		    !w->tracing.items[i]->all_objects &&
		    ks_suspect_add_census(w->tracing.items[i], s))
			return ks_diag_nomem(diag, "watching");
	if (s->at_ns < w->phase_ns + trace_ns)
		return 0;
	/* Types tell what to look for. The probes go on meanwhile. */
	if (!watch->opts.no_holders && !w->held) {
		w->held = true;
		if (ks_watch_add_holders(w, live))
			return ks_diag_nomem(diag, "watching");
	}
	if (ks_watch_accuse(watch, s))
		return ks_diag_nomem(diag, "watching");
	return stop_looking(watch, live, s->at_ns, diag);
}

/* === Public =============================================================================== */

const char *ks_watch_phase_name(enum ks_watch_phase phase)
{
	return phases[phase];
}

int ks_watch_new(const struct ks_watch_opts *opts, struct ks_watch **ret_watch,
		 struct ks_diag *diag)
{
	struct ks_watch *watch = calloc(1, sizeof(*watch));

	if (watch)
		watch->state = calloc(1, sizeof(*watch->state));
	if (!watch || !watch->state) {
		free(watch);
		return ks_diag_nomem(diag, "watching");
	}
	watch->opts = *opts;
	if (!watch->opts.listen_ns)
		watch->opts.listen_ns = 10 * second;
	if (!watch->opts.look_ns)
		watch->opts.look_ns = KS_WATCH_LOOK_NS;
	if (!watch->opts.pause_ns)
		watch->opts.pause_ns = 300 * second;
	if (!watch->opts.smallest) {
		watch->opts.smallest = 8192;
		watch->opts.any_steady = true;
	}
	if (watch->opts.confidence <= 0)
		watch->opts.confidence = 0.99;
	watch->state->own_pid = (u32)getpid();
	*ret_watch = watch;
	return 0;
}

void ks_watch_free(struct ks_watch *watch)
{
	size_t i;

	if (!watch)
		return;
	for (i = 0; i < watch->suspects.len; i++)
		ks_suspect_free(watch->suspects.items[i]);
	ks_vec_free(&watch->suspects);
	for (i = 0; i < watch->state->heard.len; i++)
		free(watch->state->heard.items[i]);
	ks_vec_free(&watch->state->heard);
	ks_watch_forget_rows(watch->state);
	ks_vec_free(&watch->state->rows);
	ks_vec_free(&watch->state->ended);
	for (i = 0; i < watch->state->tracing.len; i++)
		ks_suspect_free(watch->state->tracing.items[i]);
	ks_vec_free(&watch->state->tracing);
	free(watch->state);
	free(watch);
}

int ks_watch_step(struct ks_watch *watch, struct ks_live *live, u64 *ret_wait_ns,
		  struct ks_diag *diag)
{
	struct ks_live_snapshot *s;
	int err = ks_live_poll(live, &s, diag);

	if (err)
		return err;
	if (!watch->state->phase_ns)
		watch->state->phase_ns = s->at_ns;
	watch->state->recorder_pid = watch->recorder_pid;
	switch (watch->phase) {
	case KS_WATCH_LOOKS:
		err = step_looking(watch, live, s, diag);
		break;
	case KS_WATCH_TRACES:
		err = step_tracing(watch, live, s, diag);
		break;
	default:
		err = step_listening(watch, live, s, diag);
		break;
	}
	ks_live_snapshot_put(s);
	*ret_wait_ns = watch->phase == KS_WATCH_LISTENS ? listen_wait_ns : look_wait_ns;
	return err;
}
