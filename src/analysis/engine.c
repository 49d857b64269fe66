// SPDX-License-Identifier: LGPL-2.1-only
/* The engine over a stream of events. */
#include "analysis/engine.h"

#include <errno.h>

#include "analysis/engine-plain.h"

/* === Internals ============================================================================ */

/* The number of events looked at ahead, to have what they need in the cache. */
enum { AHEAD = 64 };

/* So few objects are in the cache anyway. */
enum { FEW_OBJECTS = 8 << 10 };

/*
 * Most runs are plain: one account, whose groups are sites, all objects of the window count, and there
 * is no view. Their steps are a copy of their own, from which the rest is gone: @plain is a constant in
 * what follows.
 */
static bool is_plain(const struct ks_audience *to)
{
	struct ks_filter filter = to->selector.filter;

	filter.since.set = filter.until.set = false;
	return to->accounts.len == 1 && to->accounts.items[0]->grouping.by == KS_BY_SITE &&
	       ks_filter_is_empty(&filter) && !to->views.len;
}

/* Ends the object in the slot in all accounts. */
ks_inline void end_in_accounts(struct ks_audience *to, const struct ks_obj *obj,
			       const struct ks_event *ev, struct ks_match match, bool plain)
{
	size_t i, len = plain ? 1 : to->accounts.len;

	for (i = 0; i < len; i++) {
		struct ks_account *acc = to->accounts.items[i];
		u32 group = ks_account_slot(acc, match.level, match.slot, obj->site, plain);

		ks_tally_end(&acc->tally[match.level], group, obj->bytes_req, obj->bytes_alloc,
			     ev->ts, ks_end_of(match.op, ev->flags));
	}
}

/* Ends the object in the slot, as far as it was counted. */
ks_inline int end_object(struct ks_matcher *m, struct ks_audience *to, const struct ks_event *ev,
			 struct ks_match match, bool plain, struct ks_diag *diag)
{
	const struct ks_obj *obj = &m->live[match.level].objs.items[match.slot];

	if (!obj->counted)
		return 0;
	if (ks_selector_in_window(&to->selector, ev->ts))
		end_in_accounts(to, obj, ev, match, plain);
	if (plain || match.level != to->run.level)
		return 0;
	return ks_audience_end(to, ev, match.slot, ks_end_of(match.op, ev->flags), diag);
}

ks_inline int begin_in_account(struct ks_account *acc, const struct ks_event *ev,
			       struct ks_match match, bool plain, struct ks_diag *diag)
{
	u32 group;
	int err = plain ? ks_account_site(acc, ev, &group, diag)
			: ks_account_group(acc, ev, &group, diag);

	if (unlikely(err))
		return err;
	if (unlikely(match.op != KS_OP_ALLOC)) {
		ks_account_other(acc, match.level, group, match.op == KS_OP_ALLOC_FAILED,
				 ev->bytes_req, ev->bytes_alloc, ev->ts);
		return 0;
	}
	ks_tally_alloc(&acc->tally[match.level], group, ev->bytes_req, ev->bytes_alloc, ev->ts);
	if (!plain && ks_account_set_slot(acc, match.level, match.slot, group))
		return ks_diag_nomem(diag, "accounting events");
	return 0;
}

/* Counts an allocation of any outcome if it passes the filter: *ret_counted. */
ks_inline int begin_object(struct ks_audience *to, const struct ks_event *ev, struct ks_match match,
			   bool plain, bool *ret_counted, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	if (unlikely(!ks_selector_in_window(&to->selector, ev->ts)))
		return 0;
	if (plain) {
		*ret_counted = true;
		return begin_in_account(to->accounts.items[0], ev, match, true, diag);
	}
	err = ks_selector_passes(&to->selector, ev, diag);
	if (err <= 0)
		return err;
	*ret_counted = true;
	err = 0;
	for (i = 0; i < to->accounts.len && !err; i++)
		err = begin_in_account(to->accounts.items[i], ev, match, false, diag);
	if (!err && match.level == to->run.level)
		err = ks_audience_begin(to, ev, match, diag);
	return err;
}

/* Those views that want to see every event. The match is a copy: see step(). */
static int show_match(struct ks_audience *to, const struct ks_event *ev, struct ks_match match,
		      struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; i < to->views.len && !err; i++) {
		struct ks_view *view = to->views.items[i];

		if (view->ops->match)
			err = view->ops->match(view, &to->run, ev, &match, diag);
	}
	return err;
}

/* What a free says of the cache of its object, as long as allocations do not name theirs. */
static int learn_cache(struct ks_matcher *m, const struct ks_event *ev, struct ks_match match)
{
	const struct ks_obj *obj = &m->live[match.level].objs.items[match.slot];

	if (ev->kind != KS_CACHE_FREE || ev->cache == KS_NONE || obj->kind != KS_CACHE_ALLOC ||
	    obj->site == KS_NONE)
		return 0;
	return ks_matcher_learn_cache(m, obj, ev->cache);
}

/* The match stays in registers: nobody gets its address. */
ks_inline int step(struct ks_matcher *m, struct ks_audience *to, const struct ks_event *ev,
		   u64 hash, bool plain, struct ks_diag *diag)
{
	struct ks_event named;
	struct ks_match match;
	bool counted = false;
	int err = 0;

	if (!plain && unlikely(ev->kind == KS_CACHE_ALLOC && ev->cache == KS_NONE)) {
		named = *ev;
		named.cache = ks_matcher_cache(m, ev);
		ev = &named;
	}
	if (unlikely(ks_matcher_step(m, ev, hash, &match)))
		return ks_diag_nomem(diag, "matching events");
	if (!plain && unlikely(m->cache_names.wanted) && match.op == KS_OP_FREE &&
	    learn_cache(m, ev, match))
		return ks_diag_nomem(diag, "matching events");
	if (!plain)
		to->run.last_ts = m->last_ts;
	if (match.op == KS_OP_FREE || match.reused)
		err = end_object(m, to, ev, match, plain, diag);
	if (!err && (match.op == KS_OP_ALLOC || match.op == KS_OP_ALLOC_FAILED ||
		     match.op == KS_OP_ALLOC_UNPAIRED))
		err = begin_object(to, ev, match, plain, &counted, diag);
	if (!plain && !err)
		err = show_match(to, ev, match, diag);
	if (unlikely(err))
		return err;
	ks_matcher_commit(m, ev, &match, counted);
	return 0;
}

/* Ends the object at an address, if there is one, by what @ev says: its time, task and flags. */
static int end_at(struct ks_matcher *m, struct ks_audience *to, u64 ptr, const struct ks_event *ev,
		  u8 flags, struct ks_diag *diag)
{
	struct ks_live *live = &m->live[KS_SLAB];
	u64 hash = ks_live_hash(live, ptr);
	u32 slot = ks_live_find(live, ptr, hash, &m->bucket);
	struct ks_event gone;

	ks_matcher_forget(m, KS_SLAB, ptr);
	if (slot == KS_NONE)
		return 0;
	gone = ks_event_blank(live->objs.items[slot].kind + 1, ev->ts, ev->cpu);
	gone.ptr = ptr;
	gone.pid = ev->pid;
	gone.comm = ev->comm;
	gone.flags = flags;
	return step(m, to, &gone, hash, false, diag);
}

/* A page that is given back or taken holds no slab object. Those that were seen there end, unseen. */
static int turn_pages(struct ks_matcher *m, struct ks_audience *to, const struct ks_event *ev,
		      struct ks_diag *diag)
{
	u64 frames = ks_max(ev->bytes_alloc >> m->pages.shift, 1ull), i, begin, end, step;
	int err = 0;

	for (i = 0; i < frames; i++) {
		if (!ks_slab_pages_take(&m->pages, ev->ptr + i, &begin, &step))
			continue;
		for (end = begin + (1ull << m->pages.shift); begin < end && !err; begin += step)
			err = end_at(m, to, begin, ev, KS_EV_PAGE_GONE, diag);
	}
	return err;
}

/* What a page event says of slab objects. */
static int look_at_page(struct ks_matcher *m, struct ks_audience *to, const struct ks_event *ev,
			struct ks_diag *diag)
{
	if (unlikely(ev->flags || ev->ptr == UINT64_MAX || to->run.info->ptrs_hashed))
		return 0;
	if (unlikely(!m->pages.on))
		ks_matcher_start_pages(m, to->run.info->page_shift);
	if (likely(m->pages.mapped))
		return turn_pages(m, to, ev, diag);
	if (ev->kind == KS_PAGE_ALLOC)
		ks_slab_pages_taken(&m->pages, ev);
	return 0;
}

/* Works out the hashes of the addresses and has the table's parts brought into the cache. */
static void look_ahead(const struct ks_matcher *m, const struct ks_event *events, size_t count,
		       u64 hashes[AHEAD])
{
	/* Copies, so that they can stay in registers. */
	const struct ks_live slab = m->live[KS_SLAB], pages = m->live[KS_PAGES];
	const u32 *homes[AHEAD];
	size_t i;

	for (i = 0; i < count; i++) {
		const struct ks_event *ev = &events[i];

		if (likely(!ks_kind_is_page(ev->kind))) {
			hashes[i] = ks_live_hash(&slab, ev->ptr);
			homes[i] = ks_live_prefetch(&slab, hashes[i]);
		} else {
			hashes[i] = ks_live_hash(&pages, ev->ptr);
			homes[i] = ks_live_prefetch(&pages, hashes[i]);
		}
	}
	if (slab.objs.len + pages.objs.len < FEW_OBJECTS)
		return;
	for (i = 0; i < count; i++)
		ks_live_prefetch_obj(likely(!ks_kind_is_page(events[i].kind)) ? &slab : &pages,
				     homes[i]);
}

/* The filter's window is all of time. */
static bool is_unbounded(const struct ks_audience *to)
{
	return !to->selector.since && to->selector.until == UINT64_MAX;
}

/* What a plain run leaves to the general step, and what failed in it. */
static int step_rare(struct ks_matcher *m, struct ks_audience *to, const struct ks_event *ev,
		     u64 hash, int done, struct ks_diag *diag)
{
	return done ? ks_diag_nomem(diag, "matching events") : step(m, to, ev, hash, true, diag);
}

/* A plain run over all of time. */
static int feed_plain(struct ks_matcher *m, struct ks_audience *to, const struct ks_event *events,
		      size_t count, struct ks_diag *diag)
{
	struct ks_account *acc = to->accounts.items[0];
	u64 hashes[AHEAD];
	size_t i, j;
	int done, err;

	for (i = 0; i < count; i += AHEAD) {
		size_t len = ks_min(count - i, (size_t)AHEAD);

		look_ahead(m, events + i, len, hashes);
		for (j = 0; j < len; j++) {
			const struct ks_event *ev = &events[i + j];

			if (likely(!ks_kind_is_page(ev->kind))) {
				done = ks_plain_step(m, acc, ev, hashes[j], KS_SLAB);
			} else {
				err = look_at_page(m, to, ev, diag);
				if (unlikely(err))
					return err;
				done = ks_plain_step(m, acc, ev, hashes[j], KS_PAGES);
			}
			if (likely(done == KS_PLAIN_DONE))
				continue;
			err = step_rare(m, to, ev, hashes[j], done, diag);
			if (unlikely(err))
				return err;
		}
	}
	return 0;
}

ks_inline int feed(struct ks_matcher *m, struct ks_audience *to, const struct ks_event *events,
		   size_t count, bool plain, struct ks_diag *diag)
{
	u64 hashes[AHEAD];
	size_t i, j;
	int err;

	for (i = 0; i < count; i += AHEAD) {
		size_t len = ks_min(count - i, (size_t)AHEAD);

		look_ahead(m, events + i, len, hashes);
		for (j = 0; j < len; j++) {
			if (unlikely(ks_kind_is_page(events[i + j].kind))) {
				err = look_at_page(m, to, &events[i + j], diag);
				if (unlikely(err))
					return err;
			}
			err = step(m, to, &events[i + j], hashes[j], plain, diag);
			if (unlikely(err))
				return err;
		}
	}
	return 0;
}

/* The filter's window may begin so long after the first event. */
static int start(struct ks_audience *to, const struct ks_event *events, size_t count,
		 struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (events[i].kind != KS_LOST)
			return ks_audience_start(to, events[i].ts, diag);
	return 0;
}

/* Whether the census can say that the object has ended. */
static bool is_gone(const struct ks_slab_census *census, const struct ks_obj *obj)
{
	/* The largest objects of slabs are of two pages; beyond are pages, which not every census has. */
	u64 large = 2ull << census->page_shift;
	enum ks_census_says says;
	u32 cache;

	says = ks_slab_census_at(census, obj->ptr, &cache);
	/* Its page has become one of another cache. */
	if (cache != KS_NONE && census->caches.items[cache].stride != obj->bytes_alloc)
		return true;
	switch (says) {
	case KS_CENSUS_SAYS_FREE:
		return true;
	case KS_CENSUS_SAYS_NONE:
		return census->has_large || obj->kind == KS_CACHE_ALLOC ||
		       obj->bytes_alloc <= large;
	case KS_CENSUS_SAYS_UNKNOWN:
	case KS_CENSUS_SAYS_USED:
		break;
	}
	return false;
}

/* === Public =============================================================================== */

int ks_audience_start(struct ks_audience *to, u64 first_ts, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	if (to->started)
		return 0;
	to->started = true;
	ks_selector_start(&to->selector, first_ts);
	to->run.first_ts = first_ts;
	to->run.until = to->selector.until;
	for (i = 0; i < to->views.len && !err; i++)
		if (to->views.items[i]->ops->start)
			err = to->views.items[i]->ops->start(to->views.items[i], &to->run, diag);
	return err;
}

int ks_audience_begin(struct ks_audience *to, const struct ks_event *ev, struct ks_match match,
		      struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; i < to->views.len && !err; i++) {
		struct ks_view *view = to->views.items[i];

		if (match.op == KS_OP_ALLOC) {
			if (view->ops->begin)
				err = view->ops->begin(view, &to->run, ev, match.slot, diag);
		} else if (view->ops->other) {
			err = view->ops->other(view, &to->run, ev, (enum ks_op)match.op, diag);
		}
	}
	return err;
}

int ks_audience_end(struct ks_audience *to, const struct ks_event *ev, u32 slot, enum ks_end how,
		    struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	if (!ks_selector_in_window(&to->selector, ev->ts))
		return 0;
	for (i = 0; i < to->views.len && !err; i++) {
		struct ks_view *view = to->views.items[i];

		if (view->ops->end)
			err = view->ops->end(view, &to->run, ev, slot, how, diag);
	}
	return err;
}

int ks_engine_feed(struct ks_matcher *m, struct ks_audience *to, const struct ks_event *events,
		   size_t count, struct ks_diag *diag)
{
	int err = to->started ? 0 : start(to, events, count, diag);

	m->some_allocs = to->run.info->some_allocs;
	/* From then on a free may be of what was allocated after the last recorded allocation. */
	m->allocs_end = ks_slab_census_allocs_end(to->run.info->census[KS_CENSUS_END]);
	if (err)
		return err;
	if (!is_plain(to))
		err = feed(m, to, events, count, false, diag);
	else if (is_unbounded(to))
		err = feed_plain(m, to, events, count, diag);
	else
		err = feed(m, to, events, count, true, diag);
	return !err && unlikely(m->pages.nomem) ? ks_diag_nomem(diag, "matching events") : err;
}

int ks_engine_census(struct ks_matcher *m, struct ks_audience *to,
		     const struct ks_slab_census *census, const struct ks_map64 *late,
		     struct ks_diag *diag)
{
	struct ks_event at = ks_event_blank(KS_KFREE, m->last_ts, KS_CPU_UNKNOWN);
	struct ks_live *live = &m->live[KS_SLAB];
	size_t i;
	int err = 0;

	/* Slots of objects that ended stay where they are. */
	for (i = 0; i < live->objs.len && !err; i++) {
		const struct ks_obj *obj = &live->objs.items[i];

		if (obj->kind != KS_OBJ_DEAD && ks_map64_find(late, obj->ptr) == KS_NONE &&
		    is_gone(census, obj))
			err = end_at(m, to, obj->ptr, &at, KS_EV_CENSUS_GONE, diag);
	}
	return err;
}
