/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The steps of a plain run (see engine.c), for what nearly all events are: an allocation at a known site,
 * or the free of a known object. Whatever is rare is left to the general step.
 */
#ifndef KS_ANALYSIS_ENGINE_PLAIN_H
#define KS_ANALYSIS_ENGINE_PLAIN_H

#include "analysis/account.h"
#include "analysis/match.h"

enum { KS_PLAIN_DONE = 1, KS_PLAIN_RARE = 0 }; /* or -ENOMEM */

/* Ends a counted object in the sums of its site. */
ks_inline void ks_plain_end(struct ks_account *acc, const struct ks_obj *obj, u64 ts,
			    enum ks_level level, enum ks_end how)
{
	ks_tally_end(&acc->tally[level], acc->grouping.of_site.items[(u32)(obj->site + 1)],
		     obj->bytes_req, obj->bytes_alloc, ts, how);
}

ks_inline int ks_plain_alloc(struct ks_matcher *m, struct ks_account *acc,
			     const struct ks_event *ev, u64 hash, enum ks_level level)
{
	u32 group = ks_grouping_known_site(&acc->grouping, ev->site), slot, bucket;
	struct ks_live *live = &m->live[level];

	if (unlikely(ev->bytes_alloc > UINT32_MAX || ev->bytes_req > ev->bytes_alloc ||
		     ev->ptr == (level == KS_PAGES ? UINT64_MAX : 0) || group == KS_NONE))
		return KS_PLAIN_RARE;
	slot = ks_live_find(live, ev->ptr, hash, &bucket);
	if (slot == KS_NONE) {
		slot = ks_live_insert(live, ev->ptr, hash, bucket);
		if (unlikely(slot == KS_NONE))
			return -ENOMEM;
	} else { /* not rare: kernels free many objects without an event */
		if (unlikely(!live->objs.items[slot].counted))
			return KS_PLAIN_RARE;
		m->quality[KS_Q_IMPLIED_FREES]++;
		ks_plain_end(acc, &live->objs.items[slot], ev->ts, level, KS_END_IMPLIED);
	}
	ks_matcher_begin(m, ev, slot, level, true);
	ks_tally_alloc(&acc->tally[level], group, ev->bytes_req, ev->bytes_alloc, ev->ts);
	return KS_PLAIN_DONE;
}

ks_inline int ks_plain_free(struct ks_matcher *m, struct ks_account *acc, const struct ks_event *ev,
			    u64 hash, enum ks_level level)
{
	const struct ks_live *live = &m->live[level];
	const struct ks_obj *obj;
	u32 slot, bucket;

	if (level == KS_SLAB && ev->ptr <= KS_ZERO_SIZE_PTR) {
		m->quality[KS_Q_NULL_FREES]++;
		return KS_PLAIN_DONE;
	}
	slot = ks_live_find(live, ev->ptr, hash, &bucket);
	if (slot == KS_NONE) /* not rare: pages that were allocated before, or without an event */
		return ks_matcher_stray_free(m, ev, level) < 0 ? -ENOMEM : KS_PLAIN_DONE;
	obj = &live->objs.items[slot];
	if (unlikely(obj->kind + 1 != ev->kind || !obj->counted))
		return KS_PLAIN_RARE;
	ks_plain_end(acc, obj, ev->ts, level, KS_END_FREED);
	ks_matcher_end(m, ev, slot, bucket, level);
	return KS_PLAIN_DONE;
}

/*
 * KS_PLAIN_RARE: nothing was done. For accounts whose groups are sites, where all objects count at all
 * times. @level is that of the event, and a constant, so that the place of each table and sum is one, too.
 */
ks_inline int ks_plain_step(struct ks_matcher *m, struct ks_account *acc, const struct ks_event *ev,
			    u64 hash, enum ks_level level)
{
	u64 ts = ev->ts;
	u8 kind = ev->kind;
	int done;

	if (unlikely(kind == KS_LOST || ev->flags || ts < m->last_ts || !m->any_ts))
		return KS_PLAIN_RARE;
	done = kind & 1 ? ks_plain_free(m, acc, ev, hash, level)
			: ks_plain_alloc(m, acc, ev, hash, level);
	if (likely(done == KS_PLAIN_DONE)) {
		m->events[kind]++;
		m->last_ts = ts;
	}
	return done;
}

#endif
