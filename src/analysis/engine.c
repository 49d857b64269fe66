// SPDX-License-Identifier: LGPL-2.1-only
/* The engine over a stream of events. */
#include "analysis/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

enum { PREFETCH_AHEAD = 8 };

static u32 group_in_slot(const struct ks_engine *e, const struct ks_match *match,
			 const struct ks_obj *obj)
{
	if (e->account.by == KS_BY_SITE)
		return e->account.group_of_site.items[(u32)(obj->site + 1)];
	return e->group_in[match->level].items[match->slot];
}

static int set_group_in_slot(struct ks_engine *e, const struct ks_match *match, u32 group)
{
	if (e->account.by == KS_BY_SITE)
		return 0;
	while (e->group_in[match->level].len <= match->slot)
		if (!ks_vec_push(&e->group_in[match->level]))
			return -ENOMEM;
	e->group_in[match->level].items[match->slot] = group;
	return 0;
}

static struct ks_group_key key_of_event(const struct ks_event *ev)
{
	return (struct ks_group_key){
		.kind = ev->kind,
		.site = ev->site,
		.cache = ev->cache,
		.gfp = ev->gfp,
		.comm = ev->comm,
		.pid = ev->pid,
		.cpu = ev->cpu,
		.node = ev->node,
		.stack = ev->stack,
		.bytes_alloc = ev->bytes_alloc,
	};
}

/* Ends the object in the slot, as far as it was counted. */
static void end_object(struct ks_engine *e, const struct ks_event *ev, const struct ks_match *match)
{
	const struct ks_obj *obj = &e->matcher.live[match->level].objs.items[match->slot];

	if (obj->counted && ks_account_in_window(&e->account, ev->ts))
		ks_account_end(&e->account, match->level, group_in_slot(e, match, obj),
			       obj->bytes_req, obj->bytes_alloc, ev->ts, match->op == KS_OP_ALLOC);
}

/* Counts an allocation of any outcome if it passes the filter. */
static int begin_object(struct ks_engine *e, const struct ks_event *ev,
			const struct ks_match *match, bool *ret_counted)
{
	struct ks_group_key key = key_of_event(ev);
	int passes = ks_account_in_window(&e->account, ev->ts)
			     ? ks_account_passes(&e->account, &key)
			     : 0;
	u32 group;

	if (passes < 0)
		return passes;
	*ret_counted = passes;
	if (!passes)
		return 0;
	group = ks_account_group(&e->account, &key);
	if (group == KS_NONE)
		return -ENOMEM;
	if (match->op == KS_OP_ALLOC) {
		ks_account_alloc(&e->account, match->level, group, ev->bytes_req, ev->bytes_alloc,
				 ev->ts);
		return set_group_in_slot(e, match, group);
	}
	ks_account_other(&e->account, match->level, group, match->op == KS_OP_ALLOC_FAILED,
			 ev->bytes_req, ev->bytes_alloc, ev->ts);
	return 0;
}

static int step(struct ks_engine *e, const struct ks_event *ev, struct ks_diag *diag)
{
	struct ks_match match;
	bool counted = false;

	if (unlikely(!e->started) && ev->kind != KS_LOST) {
		e->started = true;
		ks_account_set_start(&e->account, ev->ts);
	}
	if (ks_matcher_step(&e->matcher, ev, &match))
		return ks_diag_nomem(diag, "matching events");
	if (match.op == KS_OP_FREE || match.reused)
		end_object(e, ev, &match);
	if (match.op == KS_OP_ALLOC || match.op == KS_OP_ALLOC_FAILED ||
	    match.op == KS_OP_ALLOC_UNPAIRED) {
		if (begin_object(e, ev, &match, &counted))
			return ks_account_error(&e->account, diag);
	}
	if (e->writer) {
		int err = ks_db_writer_add(e->writer, ev, &match, diag);

		if (err)
			return err;
	}
	if (e->observer && e->observer->event(e->observer_ctx, e, ev, &match, counted))
		return ks_diag_nomem(diag, "adding up");
	ks_matcher_commit(&e->matcher, ev, &match, counted);
	return 0;
}

/* === Public =============================================================================== */

int ks_engine_init(struct ks_engine *e, const struct ks_analysis_opts *opts,
		   const struct ks_names *names)
{
	memset(e, 0, sizeof(*e));
	e->observer = opts->observer;
	e->observer_ctx = opts->observer_ctx;
	if (ks_matcher_init(&e->matcher))
		return -ENOMEM;
	if (ks_account_init(&e->account, opts->by, &opts->filter, names, opts->resolver)) {
		ks_matcher_deinit(&e->matcher);
		return -ENOMEM;
	}
	return 0;
}

void ks_engine_deinit(struct ks_engine *e)
{
	int level;

	for (level = 0; level < KS_LEVELS; level++)
		ks_vec_free(&e->group_in[level]);
	ks_account_deinit(&e->account);
	ks_matcher_deinit(&e->matcher);
}

int ks_engine_feed(struct ks_engine *e, const struct ks_event *events, size_t count,
		   struct ks_diag *diag)
{
	size_t i;
	int err;

	for (i = 0; i < count; i++) {
		if (i + PREFETCH_AHEAD < count) {
			const struct ks_event *next = &events[i + PREFETCH_AHEAD];

			ks_live_prefetch(&e->matcher.live[ks_level_of(next->kind)], next->ptr);
		}
		err = step(e, &events[i], diag);
		if (err)
			return err;
	}
	return 0;
}
