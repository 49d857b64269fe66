// SPDX-License-Identifier: LGPL-2.1-only
/* The engine over a stream of events. */
#include "analysis/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

/* So many events are looked at ahead, to have what they need in the cache. */
enum { AHEAD = 64 };

/*
 * Most runs are plain: groups are sites, all objects of the window count, and nobody looks on. Their
 * steps are a copy of their own, from which the rest is gone: @plain is a constant in what follows.
 */
static bool is_plain(const struct ks_engine *e)
{
	struct ks_filter filter = e->account.filter;

	filter.since.set = filter.until.set = false;
	return e->account.by == KS_BY_SITE && ks_filter_is_empty(&filter) && !e->writer &&
	       !e->observer;
}

ks_inline u32 group_in_slot(const struct ks_engine *e, struct ks_match match,
			    const struct ks_obj *obj, bool plain)
{
	if (plain || e->account.by == KS_BY_SITE)
		return e->account.group_of_site.items[(u32)(obj->site + 1)];
	return e->group_in[match.level].items[match.slot];
}

static int set_group_in_slot(struct ks_engine *e, struct ks_match match, u32 group)
{
	if (e->account.by == KS_BY_SITE)
		return 0;
	while (e->group_in[match.level].len <= match.slot)
		if (!ks_vec_push(&e->group_in[match.level]))
			return -ENOMEM;
	e->group_in[match.level].items[match.slot] = group;
	return 0;
}

/* The group of an allocation if it passes the filter; 1, 0 or -errno. */
static int group_of_event(struct ks_engine *e, const struct ks_event *ev, u32 *ret_group)
{
	struct ks_group_key key = {
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
	int passes = ks_account_passes(&e->account, &key);

	if (passes > 0)
		*ret_group = ks_account_group(&e->account, &key);
	return passes;
}

/* Ends the object in the slot, as far as it was counted. */
ks_inline void end_object(struct ks_engine *e, const struct ks_event *ev, struct ks_match match,
			  bool plain)
{
	const struct ks_obj *obj = &e->matcher.live[match.level].objs.items[match.slot];

	if (obj->counted && ks_account_in_window(&e->account, ev->ts))
		ks_account_end(&e->account, match.level, group_in_slot(e, match, obj, plain),
			       obj->bytes_req, obj->bytes_alloc, ev->ts, match.op == KS_OP_ALLOC);
}

/* Counts an allocation of any outcome if it passes the filter: 1, 0 or -ENOMEM. */
ks_inline int begin_object(struct ks_engine *e, const struct ks_event *ev, struct ks_match match,
			   bool plain)
{
	u32 group;
	int passes = 1;

	if (unlikely(!ks_account_in_window(&e->account, ev->ts)))
		return 0;
	if (plain)
		group = ks_account_site(&e->account, ev->site);
	else
		passes = group_of_event(e, ev, &group);
	if (passes <= 0)
		return passes;
	if (unlikely(group == KS_NONE))
		return -ENOMEM;
	if (unlikely(match.op != KS_OP_ALLOC)) {
		ks_account_other(&e->account, match.level, group, match.op == KS_OP_ALLOC_FAILED,
				 ev->bytes_req, ev->bytes_alloc, ev->ts);
		return 1;
	}
	ks_account_alloc(&e->account, match.level, group, ev->bytes_req, ev->bytes_alloc, ev->ts);
	return plain || !set_group_in_slot(e, match, group) ? 1 : -ENOMEM;
}

/* Those who look on, of whom there mostly are none. The match is a copy: see step(). */
static int tell(struct ks_engine *e, const struct ks_event *ev, struct ks_match match, bool counted,
		struct ks_diag *diag)
{
	int err = e->writer ? ks_db_writer_add(e->writer, ev, &match, diag) : 0;

	if (!err && e->observer && e->observer->event(e->observer_ctx, e, ev, &match, counted))
		err = ks_diag_nomem(diag, "adding up");
	return err;
}

/* The match stays in registers: nobody gets its address. */
ks_inline int step(struct ks_engine *e, const struct ks_event *ev, u64 hash, bool plain,
		   struct ks_diag *diag)
{
	struct ks_match match;
	int counted = 0, err;

	if (ks_matcher_step(&e->matcher, ev, hash, &match))
		return ks_diag_nomem(diag, "matching events");
	if (match.op == KS_OP_FREE || match.reused)
		end_object(e, ev, match, plain);
	if (match.op == KS_OP_ALLOC || match.op == KS_OP_ALLOC_FAILED ||
	    match.op == KS_OP_ALLOC_UNPAIRED) {
		counted = begin_object(e, ev, match, plain);
		if (unlikely(counted < 0))
			return ks_account_error(&e->account, diag);
	}
	if (!plain && (e->writer || e->observer)) {
		err = tell(e, ev, match, counted, diag);
		if (err)
			return err;
	}
	ks_matcher_commit(&e->matcher, ev, &match, counted);
	return 0;
}

/* Works out the hashes of the addresses and has the table's parts brought into the cache. */
static void look_ahead(const struct ks_engine *e, const struct ks_event *events, size_t count,
		       u64 hashes[AHEAD])
{
	size_t i;

	for (i = 0; i < count; i++) {
		const struct ks_live *live = &e->matcher.live[ks_level_of(events[i].kind)];

		hashes[i] = ks_live_hash(live, events[i].ptr);
		ks_live_prefetch(live, hashes[i]);
	}
	for (i = 0; i < count; i++)
		ks_live_prefetch_obj(&e->matcher.live[ks_level_of(events[i].kind)], hashes[i]);
}

ks_inline int feed(struct ks_engine *e, const struct ks_event *events, size_t count, bool plain,
		   struct ks_diag *diag)
{
	u64 hashes[AHEAD];
	size_t i, j;
	int err;

	for (i = 0; i < count; i += AHEAD) {
		size_t len = ks_min(count - i, (size_t)AHEAD);

		look_ahead(e, events + i, len, hashes);
		for (j = 0; j < len; j++) {
			err = step(e, &events[i + j], hashes[j], plain, diag);
			if (unlikely(err))
				return err;
		}
	}
	return 0;
}

/* The filter's window may begin so long after the first event. */
static void start(struct ks_engine *e, const struct ks_event *events, size_t count)
{
	size_t i;

	for (i = 0; i < count && !e->started; i++) {
		if (events[i].kind == KS_LOST)
			continue;
		e->started = true;
		ks_account_set_start(&e->account, events[i].ts);
	}
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
	if (unlikely(!e->started))
		start(e, events, count);
	return is_plain(e) ? feed(e, events, count, true, diag)
			   : feed(e, events, count, false, diag);
}
