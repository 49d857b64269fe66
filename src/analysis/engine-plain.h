/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The steps of a plain run (see engine.c), for what nearly all events are: an allocation of a new object
 * at a known site, or the free of a known object. Whatever is rare is left to the general step.
 */
#ifndef KS_ANALYSIS_ENGINE_PLAIN_H
#define KS_ANALYSIS_ENGINE_PLAIN_H

#include "analysis/account.h"
#include "analysis/match.h"

enum { KS_PLAIN_DONE = 1, KS_PLAIN_RARE = 0 }; /* or -ENOMEM */

ks_inline int ks_plain_alloc(struct ks_matcher *m, struct ks_account *acc,
			     const struct ks_event *ev, u64 hash, enum ks_level level)
{
	u32 group = ks_grouping_known_site(&acc->grouping, ev->site), slot;
	struct ks_live *live = &m->live[level];

	if (unlikely(ev->bytes_alloc > UINT32_MAX || ev->bytes_req > ev->bytes_alloc ||
		     ev->ptr == (level == KS_PAGES ? UINT64_MAX : 0) || group == KS_NONE ||
		     ks_live_find(live, ev->ptr, hash, &m->bucket) != KS_NONE))
		return KS_PLAIN_RARE;
	slot = ks_live_insert(live, ev->ptr, hash);
	if (unlikely(slot == KS_NONE))
		return -ENOMEM;
	ks_matcher_begin(live, ev, slot, true);
	ks_tally_alloc(&acc->tally[level], group, ev->bytes_req, ev->bytes_alloc, ev->ts);
	return KS_PLAIN_DONE;
}

ks_inline int ks_plain_free(struct ks_matcher *m, struct ks_account *acc, const struct ks_event *ev,
			    u64 hash, enum ks_level level)
{
	struct ks_live *live = &m->live[level];
	const struct ks_obj *obj;
	u32 slot;

	if (level == KS_SLAB && ev->ptr <= KS_ZERO_SIZE_PTR) {
		m->quality[KS_Q_NULL_FREES]++;
		return KS_PLAIN_DONE;
	}
	slot = ks_live_find(live, ev->ptr, hash, &m->bucket);
	if (unlikely(slot == KS_NONE))
		return KS_PLAIN_RARE;
	obj = &live->objs.items[slot];
	if (unlikely(obj->kind + 1 != ev->kind || !obj->counted))
		return KS_PLAIN_RARE;
	ks_tally_end(&acc->tally[level], acc->grouping.of_site.items[(u32)(obj->site + 1)],
		     obj->bytes_req, obj->bytes_alloc, ev->ts, false);
	ks_matcher_end(m, live, ev, slot, level);
	return KS_PLAIN_DONE;
}

/*
 * KS_PLAIN_RARE: nothing was done. For accounts whose groups are sites, where all objects count at all
 * times.
 */
ks_inline int ks_plain_step(struct ks_matcher *m, struct ks_account *acc, const struct ks_event *ev,
			    u64 hash)
{
	enum ks_level level = ks_level_of(ev->kind);
	int done;

	if (unlikely(ev->kind == KS_LOST || ev->flags || ev->ts < m->last_ts || !m->any_ts))
		return KS_PLAIN_RARE;
	done = ks_kind_is_alloc(ev->kind) ? ks_plain_alloc(m, acc, ev, hash, level)
					  : ks_plain_free(m, acc, ev, hash, level);
	m->events[ev->kind] += done == KS_PLAIN_DONE;
	if (likely(done == KS_PLAIN_DONE))
		m->last_ts = ev->ts;
	return done;
}

#endif
