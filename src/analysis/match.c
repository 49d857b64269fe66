// SPDX-License-Identifier: LGPL-2.1-only
/* Matching of events with objects. */
#include "analysis/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum {
	RECENT_BITS = 14,
	MAX_MISUSE_PAIRS = 1024, /* per kind */
	/* kmalloc(0) returns ZERO_SIZE_PTR, 16: freeing it is as void as freeing NULL. */
	ZERO_SIZE_PTR = 16,
};

/* One address per hash value, the last one freed. */
struct ks_recent {
	struct {
		u64 ptr;
		u32 alloc_site;
		u32 lost_windows; /* at the time of the free, plus one; 0 = empty */
	} items[1 << RECENT_BITS];
};

/* === Internals ============================================================================ */

/* No seed: which address pushes out which shows in the counters, so it is the same in every run. */
static u32 recent_at(u64 ptr)
{
	return (u32)(ptr * 0x9e3779b97f4a7c15ull >> (64 - RECENT_BITS));
}

static void remember_free(struct ks_matcher *m, struct ks_recent *recent, u64 ptr, u32 alloc_site)
{
	u32 at = recent_at(ptr);

	recent->items[at].ptr = ptr;
	recent->items[at].alloc_site = alloc_site;
	recent->items[at].lost_windows = m->lost_windows + 1;
}

static int note_misuse(struct ks_matcher *m, enum ks_quality what, u32 alloc_site, u32 free_site,
		       const struct ks_event *ev)
{
	struct ks_misuses *misuses = &m->misuses[what];
	struct ks_misuse *misuse;
	u64 key = (u64)alloc_site << 32 | free_site;
	u32 at;

	m->quality[what]++;
	if (!misuses->pairs.index && ks_map64_init(&misuses->pairs))
		return -ENOMEM;
	at = ks_map64_find(&misuses->pairs, key);
	if (at != KS_NONE) {
		misuses->items.items[at].count++;
		return 0;
	}
	if (misuses->items.len >= MAX_MISUSE_PAIRS) {
		misuses->dropped++;
		return 0;
	}
	misuse = ks_vec_push(&misuses->items);
	if (!misuse || ks_map64_add(&misuses->pairs, key) == KS_NONE)
		return -ENOMEM;
	*misuse = (struct ks_misuse){ alloc_site, free_site, 1, ev->ts, ev->ptr };
	return 0;
}

static int match_alloc(struct ks_matcher *m, const struct ks_event *ev, struct ks_match *match)
{
	bool is_page = ks_kind_is_page(ev->kind);

	if (ev->flags & KS_EV_NO_PTR) {
		m->quality[KS_Q_UNPAIRABLE]++;
		match->op = KS_OP_ALLOC_UNPAIRED;
	} else if (is_page ? ev->ptr == UINT64_MAX : !ev->ptr) {
		m->quality[KS_Q_FAILED_ALLOCS]++;
		match->op = KS_OP_ALLOC_FAILED;
		return 0;
	}
	if (ev->bytes_alloc > UINT32_MAX || ev->bytes_req > UINT32_MAX) {
		m->quality[KS_Q_IMPOSSIBLE]++;
		match->op = KS_OP_NOTHING;
		return 0;
	}
	if (ev->bytes_alloc < ev->bytes_req &&
	    note_misuse(m, KS_Q_SHORT_ALLOCS, ev->site, KS_NONE, ev))
		return -ENOMEM;
	if (match->op == KS_OP_ALLOC_UNPAIRED)
		return 0;
	match->op = KS_OP_ALLOC;
	if (ks_live_insert(&m->live[match->level], ev->ptr, &match->slot, &match->reused))
		return -ENOMEM;
	m->quality[KS_Q_IMPLIED_FREES] += match->reused;
	return 0;
}

/* A free whose object is not in the table. */
static int match_stray_free(struct ks_matcher *m, const struct ks_event *ev, struct ks_match *match)
{
	struct ks_recent *recent = m->recent[match->level];
	u32 at = recent_at(ev->ptr);

	if (recent->items[at].ptr == ev->ptr &&
	    recent->items[at].lost_windows == m->lost_windows + 1) {
		match->op = KS_OP_FREE_AGAIN;
		return note_misuse(m, KS_Q_SECOND_FREES, recent->items[at].alloc_site, ev->site,
				   ev);
	}
	match->op = KS_OP_FREE_BEFORE;
	m->quality[KS_Q_FREES_BEFORE]++;
	remember_free(m, recent, ev->ptr, KS_NONE);
	return 0;
}

static int match_free(struct ks_matcher *m, const struct ks_event *ev, struct ks_match *match)
{
	const struct ks_obj *obj;

	match->op = KS_OP_NOTHING;
	if (ev->flags & KS_EV_NO_PTR) {
		m->quality[KS_Q_UNPAIRABLE]++;
		return 0;
	}
	if (!ks_kind_is_page(ev->kind) && ev->ptr <= ZERO_SIZE_PTR) {
		m->quality[KS_Q_NULL_FREES]++;
		return 0;
	}
	match->slot = ks_live_find(&m->live[match->level], ev->ptr, &m->found_at);
	if (match->slot == KS_NONE)
		return match_stray_free(m, ev, match);
	match->op = KS_OP_FREE;
	obj = &m->live[match->level].objs.items[match->slot];
	if (ev->kind == KS_KFREE && obj->kind == KS_CACHE_ALLOC)
		return note_misuse(m, KS_Q_KFREE_OF_CACHE, obj->site, ev->site, ev);
	if (ev->kind == KS_CACHE_FREE && obj->kind == KS_KMALLOC)
		return note_misuse(m, KS_Q_CACHE_FREE_OF_KMALLOC, obj->site, ev->site, ev);
	return 0;
}

static void note_lost(struct ks_matcher *m, const struct ks_event *ev)
{
	m->quality[KS_Q_LOST_EVENTS] += ev->bytes_req;
	m->quality[KS_Q_LOST_WINDOWS]++;
	m->lost_windows++;
}

static void note_time(struct ks_matcher *m, u64 ts)
{
	if (unlikely(!m->any_ts)) {
		m->any_ts = true;
		m->first_ts = ts;
		m->last_ts = ts;
	} else if (unlikely(ts < m->last_ts)) {
		m->quality[KS_Q_BACKWARDS]++;
	} else {
		m->last_ts = ts;
	}
}

/* === Public =============================================================================== */

int ks_matcher_init(struct ks_matcher *m)
{
	int level;

	memset(m, 0, sizeof(*m));
	for (level = 0; level < KS_LEVELS; level++) {
		if (ks_live_init(&m->live[level]))
			goto nomem;
		m->recent[level] = calloc(1, sizeof(*m->recent[level]));
		if (!m->recent[level])
			goto nomem;
	}
	return 0;
nomem:
	ks_matcher_deinit(m);
	return -ENOMEM;
}

void ks_matcher_deinit(struct ks_matcher *m)
{
	int i;

	for (i = 0; i < KS_LEVELS; i++) {
		ks_live_deinit(&m->live[i]);
		free(m->recent[i]);
		m->recent[i] = NULL;
	}
	for (i = 0; i < KS_QUALITIES; i++) {
		ks_map64_deinit(&m->misuses[i].pairs);
		ks_vec_free(&m->misuses[i].items);
	}
}

int ks_matcher_step(struct ks_matcher *m, const struct ks_event *ev, struct ks_match *ret_match)
{
	struct ks_match match = { .op = KS_OP_NOTHING,
				  .level = (u8)ks_level_of(ev->kind),
				  .slot = KS_NONE };
	int err;

	m->events[ev->kind]++;
	if (unlikely(ev->kind == KS_LOST)) {
		note_lost(m, ev);
		err = 0;
	} else {
		note_time(m, ev->ts);
		err = ks_kind_is_alloc(ev->kind) ? match_alloc(m, ev, &match)
						 : match_free(m, ev, &match);
	}
	*ret_match = match;
	return err;
}

void ks_matcher_commit(struct ks_matcher *m, const struct ks_event *ev,
		       const struct ks_match *match, bool counted)
{
	struct ks_live *live = &m->live[match->level];
	struct ks_obj *obj;

	if (match->op == KS_OP_ALLOC) {
		obj = &live->objs.items[match->slot];
		obj->site = ev->site;
		obj->bytes_req = (u32)ev->bytes_req;
		obj->bytes_alloc = (u32)ev->bytes_alloc;
		ks_obj_set_ts(obj, ev->ts > m->first_ts ? ev->ts - m->first_ts : 0);
		obj->cpu = ks_min(ev->cpu, KS_OBJ_CPU_MAX);
		obj->kind = ev->kind;
		obj->counted = counted;
	} else if (match->op == KS_OP_FREE) {
		obj = &live->objs.items[match->slot];
		remember_free(m, m->recent[match->level], ev->ptr, obj->site);
		ks_live_remove(live, match->slot, m->found_at);
	}
}
