// SPDX-License-Identifier: LGPL-2.1-only
/* Matching of events with objects. */
#include "analysis/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum {
	MAX_MISUSE_PAIRS = 1024, /* per kind */
};

/* === Internals ============================================================================ */

static struct ks_stray *stray_of(struct ks_matcher *m, u32 cache)
{
	size_t number = cache == KS_NONE ? 0 : (size_t)cache + 1;

	while (m->strays.len <= number) {
		struct ks_stray *stray = ks_vec_push(&m->strays);

		if (!stray)
			return NULL;
		*stray = (struct ks_stray){ 0 };
	}
	return &m->strays.items[number];
}

/* === Public =============================================================================== */

int ks_matcher_init(struct ks_matcher *m)
{
	int level;

	memset(m, 0, sizeof(*m));
	m->allocs_end = UINT64_MAX;
	for (level = 0; level < KS_LEVELS; level++) {
		if (ks_live_init(&m->live[level]))
			goto nomem;
		m->recent[level] = calloc(KS_RECENT_FREES, sizeof(*m->recent[level]));
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
	ks_slab_pages_deinit(&m->pages);
	ks_vec_free(&m->strays);
	ks_map64_deinit(&m->cache_names.keys);
	ks_vec_free(&m->cache_names.caches);
	for (i = 0; i < KS_QUALITIES; i++) {
		ks_map64_deinit(&m->misuses[i].pairs);
		ks_vec_free(&m->misuses[i].items);
	}
}

int ks_matcher_learn_cache(struct ks_matcher *m, const struct ks_obj *obj, u32 cache)
{
	struct ks_cache_names *names = &m->cache_names;
	u64 key = (u64)obj->site << 32 | obj->bytes_alloc;
	u32 number, *slot;

	if (!names->keys.index && ks_map64_init(&names->keys))
		return -ENOMEM;
	number = ks_map64_add(&names->keys, key);
	if (number == KS_NONE)
		return -ENOMEM;
	if (number < names->caches.len) {
		if (names->caches.items[number] != cache)
			names->caches.items[number] = KS_NONE;
		return 0;
	}
	slot = ks_vec_push(&names->caches);
	if (!slot)
		return -ENOMEM;
	*slot = cache;
	return 0;
}

void ks_matcher_start_pages(struct ks_matcher *m, u32 page_shift)
{
	const struct ks_live *live = &m->live[KS_SLAB];
	size_t i;

	ks_slab_pages_start(&m->pages, page_shift);
	for (i = 0; i < live->objs.len; i++)
		if (live->objs.items[i].kind != KS_OBJ_DEAD)
			ks_slab_pages_add_slowly(&m->pages, live->objs.items[i].ptr, NULL);
}

int ks_matcher_misuse(struct ks_matcher *m, enum ks_quality what, u32 alloc_site, u32 free_site,
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

/* A free whose object is not in the table: what it does, or -ENOMEM. */
int ks_matcher_stray_free(struct ks_matcher *m, const struct ks_event *ev, enum ks_level level)
{
	struct ks_recent_free *recent = ks_matcher_recent(m, level, ev->ptr);
	struct ks_stray none = { 0 }, *stray;

	if (m->some_allocs || ev->ts >= m->allocs_end)
		return KS_OP_NOTHING;
	/* What kfree_rcu() promised: the object has ended before. */
	if (recent->ptr == ev->ptr && recent->rcu && !(ev->flags & KS_EV_RCU)) {
		recent->lost_windows = recent->rcu = 0;
		return KS_OP_NOTHING;
	}
	stray = level == KS_SLAB ? stray_of(m, ev->cache) : &none;
	if (!stray)
		return -ENOMEM;
	if (recent->ptr == ev->ptr && recent->lost_windows == m->lost_windows + 1)
		stray->again++;
	else
		stray->before++;
	/* Who frees in bulk may free what a hook did not see being allocated. */
	if (recent->ptr == ev->ptr && recent->lost_windows == m->lost_windows + 1 &&
	    !(ev->flags & (KS_EV_RCU | KS_EV_BULK)))
		return ks_matcher_misuse(m, KS_Q_SECOND_FREES, recent->alloc_site, ev->site, ev)
			       ? -ENOMEM
			       : KS_OP_FREE_AGAIN;
	m->quality[KS_Q_FREES_BEFORE]++;
	if (level == KS_SLAB && m->pages.on)
		ks_slab_pages_add_slowly(&m->pages, ev->ptr, NULL);
	*recent = (struct ks_recent_free){ ev->ptr, KS_NONE, (m->lost_windows + 1) & INT32_MAX,
					   !!(ev->flags & KS_EV_RCU) };
	return KS_OP_FREE_BEFORE;
}
