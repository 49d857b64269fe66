/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Matching: what each event means for the objects of the kernel. It knows nothing of filters or
 * groups, so its result can be stored with the events and used again (db/ksdb.h).
 */
#ifndef KS_ANALYSIS_MATCH_H
#define KS_ANALYSIS_MATCH_H

#include <errno.h>

#include "analysis/live.h"
#include "analysis/model.h"
#include "analysis/slab-pages.h"
#include "base/map64.h"
#include "trace/event.h"
#include "db/ksdb.h"

/* An address that was freed recently, for second frees. */
struct ks_recent_free {
	u64 ptr;
	u32 alloc_site;
	u32 lost_windows : 31; /* at the time of the free, plus one; 0 = empty */
	u32 rcu : 1; /* by kfree_rcu(): its memory is freed later, which may be seen, too */
};

enum {
	KS_RECENT_BITS = 14,
	KS_RECENT_FREES = 1 << KS_RECENT_BITS,
	/* kmalloc(0) returns 16, ZERO_SIZE_PTR: freeing it is as void as freeing NULL. */
	KS_ZERO_SIZE_PTR = 16,
};

/* A kind of misuse between two sites. */
struct ks_misuse {
	u32 alloc_site, free_site;
	u64 count, first_ts, ptr;
};

struct ks_misuses {
	struct ks_map64 pairs; /* alloc_site << 32 | free_site */
	KS_VEC(struct ks_misuse) items;
	u64 dropped; /* pairs beyond the number that is kept */
};

/*
 * Kernels before 6.18 name the cache of a free, and not that of an allocation. What was freed says what its site
 * allocates from.
 */
struct ks_cache_names {
	bool wanted;	      /* an allocation had no name */
	struct ks_map64 keys; /* site << 32 | bytes allocated */
	KS_VEC(u32) caches;   /* by key; KS_NONE: there are several */
};

/* Frees of slab objects whose allocation was not seen. The second free in a row proves one that raised no event. */
struct ks_stray {
	u64 before, again;
};

struct ks_matcher {
	struct ks_live live[KS_LEVELS];
	struct ks_recent_free *recent[KS_LEVELS]; /* by hash of the address, the last one freed */
	struct ks_slab_pages pages;		  /* that hold slab objects */
	u64 quality[KS_QUALITIES];
	u64 events[KS_KINDS];
	u64 first_ts, last_ts;
	bool any_ts;
	bool some_allocs; /* frees of what is not known mean nothing: info.some_allocs of the source */
	u64 allocs_end;	  /* so do all from here on, as allocations are no longer recorded */
	u32 bucket;	  /* of the object that the last step looked for */
	u32 lost_windows; /* so far: what was freed before the last one proves nothing */
	struct ks_misuses misuses[KS_QUALITIES];
	struct ks_cache_names cache_names;
	KS_VEC(struct ks_stray)
	strays; /* by number of the cache and 1; 0: the free does not name it */
};

int ks_matcher_init(struct ks_matcher *m);
void ks_matcher_deinit(struct ks_matcher *m);

static inline enum ks_level ks_level_of(enum ks_kind kind)
{
	return ks_kind_is_page(kind) ? KS_PAGES : KS_SLAB;
}

/* Rare cases of the steps below. */
int ks_matcher_misuse(struct ks_matcher *m, enum ks_quality what, u32 alloc_site, u32 free_site,
		      const struct ks_event *ev);
int ks_matcher_stray_free(struct ks_matcher *m, const struct ks_event *ev, enum ks_level level);

/* No seed: which address pushes out which shows in the counters, so it is the same in every run. */
static inline struct ks_recent_free *ks_matcher_recent(struct ks_matcher *m, enum ks_level level,
						       u64 ptr)
{
	return &m->recent[level][ptr * 0x9e3779b97f4a7c15ull >> (64 - KS_RECENT_BITS)];
}

/* What is freed at this address next was allocated unseen. */
static inline void ks_matcher_forget(struct ks_matcher *m, enum ks_level level, u64 ptr)
{
	struct ks_recent_free *recent = ks_matcher_recent(m, level, ptr);

	if (recent->ptr == ptr)
		recent->lost_windows = 0;
}

/* What the free of an object says of the cache that its site allocates from. 0 or -ENOMEM. */
int ks_matcher_learn_cache(struct ks_matcher *m, const struct ks_obj *obj, u32 cache);

/* The cache of an allocation whose event does not name it; KS_NONE where nothing of its site was freed yet. */
static inline u32 ks_matcher_cache(struct ks_matcher *m, const struct ks_event *ev)
{
	u32 number;

	m->cache_names.wanted = true;
	if (!m->cache_names.keys.index || ev->site == KS_NONE)
		return KS_NONE;
	number = ks_map64_find(&m->cache_names.keys, (u64)ev->site << 32 | (u32)ev->bytes_alloc);
	return number == KS_NONE ? KS_NONE : m->cache_names.caches.items[number];
}

/* There are page events from now on, of pages of this size. */
void ks_matcher_start_pages(struct ks_matcher *m, u32 page_shift);

ks_inline int ks_match_alloc(struct ks_matcher *m, const struct ks_event *ev, u64 hash,
			     struct ks_match *match)
{
	struct ks_live *live = &m->live[match->level];
	bool no_ptr = ev->flags & KS_EV_NO_PTR;

	if (unlikely(no_ptr)) {
		m->quality[KS_Q_UNPAIRABLE]++;
		match->op = KS_OP_ALLOC_UNPAIRED;
	} else if (unlikely(ev->ptr == (match->level == KS_PAGES ? UINT64_MAX : 0))) {
		m->quality[KS_Q_FAILED_ALLOCS]++;
		match->op = KS_OP_ALLOC_FAILED;
		return 0;
	}
	if (unlikely(ev->bytes_alloc > UINT32_MAX || ev->bytes_req > UINT32_MAX)) {
		m->quality[KS_Q_IMPOSSIBLE]++;
		match->op = KS_OP_NOTHING;
		return 0;
	}
	if (unlikely(ev->bytes_alloc < ev->bytes_req) &&
	    ks_matcher_misuse(m, KS_Q_SHORT_ALLOCS, ev->site, KS_NONE, ev))
		return -ENOMEM;
	if (unlikely(no_ptr))
		return 0;
	match->op = KS_OP_ALLOC;
	match->slot = ks_live_find(live, ev->ptr, hash, &m->bucket);
	match->reused = match->slot != KS_NONE;
	if (match->reused) {
		m->quality[KS_Q_IMPLIED_FREES]++;
		return 0;
	}
	match->slot = ks_live_insert(live, ev->ptr, hash, m->bucket);
	return match->slot == KS_NONE ? -ENOMEM : 0;
}

ks_inline int ks_match_free(struct ks_matcher *m, const struct ks_event *ev, u64 hash,
			    struct ks_match *match)
{
	const struct ks_obj *obj;
	int op;

	if (unlikely(ev->flags & KS_EV_NO_PTR)) {
		m->quality[KS_Q_UNPAIRABLE]++;
		return 0;
	}
	if (match->level == KS_SLAB && ev->ptr <= KS_ZERO_SIZE_PTR) {
		m->quality[KS_Q_NULL_FREES]++;
		return 0;
	}
	match->slot = ks_live_find(&m->live[match->level], ev->ptr, hash, &m->bucket);
	if (unlikely(match->slot == KS_NONE)) {
		op = ks_matcher_stray_free(m, ev, (enum ks_level)match->level);
		match->op = op < 0 ? KS_OP_NOTHING : (u8)op;
		return op < 0 ? op : 0;
	}
	match->op = KS_OP_FREE;
	obj = &m->live[match->level].objs.items[match->slot];
	/* The two of a family are neighbours. Hooks do not know the family. */
	if (likely(obj->kind + 1 == ev->kind) || ev->flags & (KS_EV_RCU | KS_EV_BULK) ||
	    ev->ts >= m->allocs_end)
		return 0;
	return ks_matcher_misuse(
		m, ev->kind == KS_KFREE ? KS_Q_KFREE_OF_CACHE : KS_Q_CACHE_FREE_OF_KMALLOC,
		obj->site, ev->site, ev);
}

/* What follows from an event or the census: the object is gone. It is no event itself. */
static inline void ks_match_gone(struct ks_matcher *m, const struct ks_event *ev, u64 hash,
				 struct ks_match *match)
{
	match->slot = ks_live_find(&m->live[match->level], ev->ptr, hash, &m->bucket);
	if (match->slot == KS_NONE)
		return;
	match->op = KS_OP_FREE;
	m->quality[ev->flags & KS_EV_PAGE_GONE ? KS_Q_PAGE_FREES : KS_Q_CENSUS_FREES]++;
}

/*
 * Says what the event does. KS_OP_ALLOC: to the slot of the level's table, which still holds the old
 * object if ret_match->reused. KS_OP_FREE: the object is still in its slot. The caller does its
 * accounting and then calls ks_matcher_commit(), which ends and begins the objects. Inline, as it
 * runs once an event; @hash is ks_live_hash() of the address.
 */
ks_inline int ks_matcher_step(struct ks_matcher *m, const struct ks_event *ev, u64 hash,
			      struct ks_match *ret_match)
{
	*ret_match = (struct ks_match){ .op = KS_OP_NOTHING,
					.level = (u8)ks_level_of(ev->kind),
					.slot = KS_NONE };
	if (unlikely(ev->flags & KS_EV_GONE)) {
		ks_match_gone(m, ev, hash, ret_match);
		return 0;
	}
	m->events[ev->kind]++;
	if (unlikely(ev->kind == KS_LOST)) {
		m->quality[KS_Q_LOST_EVENTS] += ev->lost.count;
		m->quality[KS_Q_LOST_WINDOWS]++;
		m->lost_windows++;
		return 0;
	}
	if (unlikely(!m->any_ts)) {
		m->any_ts = true;
		m->first_ts = m->last_ts = ev->ts;
	} else if (unlikely(ev->ts < m->last_ts)) {
		m->quality[KS_Q_BACKWARDS]++;
	} else {
		m->last_ts = ev->ts;
	}
	return ks_kind_is_alloc(ev->kind) ? ks_match_alloc(m, ev, hash, ret_match)
					  : ks_match_free(m, ev, hash, ret_match);
}

/* Fills the slot of a new object. */
ks_inline void ks_matcher_begin(struct ks_matcher *m, const struct ks_event *ev, u32 slot,
				enum ks_level level, bool counted)
{
	struct ks_obj *obj = &m->live[level].objs.items[slot];

	if (level == KS_SLAB)
		ks_slab_pages_add(&m->pages, ev);

	obj->site = ev->site;
	obj->bytes_req = (u32)ev->bytes_req;
	obj->bytes_alloc = (u32)ev->bytes_alloc;
	obj->kind = ev->kind;
	obj->counted = counted;
}

/* Ends the object in the slot, which was found in @bucket. */
ks_inline void ks_matcher_end(struct ks_matcher *m, const struct ks_event *ev, u32 slot, u32 bucket,
			      enum ks_level level)
{
	struct ks_live *live = &m->live[level];

	*ks_matcher_recent(m, level, ev->ptr) =
		(struct ks_recent_free){ ev->ptr, live->objs.items[slot].site,
					 (m->lost_windows + 1) & INT32_MAX,
					 !!(ev->flags & KS_EV_RCU) };
	ks_live_remove(live, slot, bucket);
}

ks_inline void ks_matcher_commit(struct ks_matcher *m, const struct ks_event *ev,
				 const struct ks_match *match, bool counted)
{
	if (match->op == KS_OP_ALLOC)
		ks_matcher_begin(m, ev, match->slot, (enum ks_level)match->level, counted);
	else if (match->op == KS_OP_FREE)
		ks_matcher_end(m, ev, match->slot, m->bucket, (enum ks_level)match->level);
	if (unlikely(ev->flags & KS_EV_GONE))
		ks_matcher_forget(m, (enum ks_level)match->level, ev->ptr);
}

#endif
