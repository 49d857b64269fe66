// SPDX-License-Identifier: LGPL-2.1-only
/* Walks over the memory of slabs, and finds out which of their slots are in use. */
#include "heap/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"

/* === Data ================================================================================= */

enum { BATCH_BYTES = 1 << 20, BATCH_SLABS = 256 };

/* Slabs that are read at once: numbers [from, to) of those that are wanted. */
struct batch {
	u32 from, to;
};

struct walk {
	struct ks_kernel *kernel;
	const struct ks_census *census;
	const struct ks_slots *slots;
	KS_VEC(u32) slabs;
	KS_VEC(struct batch) batches;
	ks_slab_fn *fn;
	void *arg;
	u8 *buf[KS_WORKERS_MAX];
	int err[KS_WORKERS_MAX];
};

/* The walk that follows free lists. */
struct search {
	const struct ks_kernel *kernel;
	const struct ks_census *census;
	struct ks_slots *slots;
	u64 *odd; /* a bit for each slab whose list makes no sense */
};

/* === Internals: the walk ================================================================== */

static u32 bytes_of(const struct ks_census *c, const struct ks_slab *slab)
{
	return slab->objects * c->caches->items.items[slab->cache].size;
}

/* Which slabs, and how many at a time. */
static int plan(struct walk *w, const u64 *wanted)
{
	const struct ks_pages *pages = w->census->pages;
	struct batch *batch = NULL;
	size_t bytes = 0, i;
	u32 *entry;

	for (i = 0; i < pages->slabs.len; i++) {
		const struct ks_slab *slab = &pages->slabs.items[i];

		if (!slab->objects || (wanted && !(wanted[i / 64] >> i % 64 & 1)))
			continue;
		if (!batch || bytes + bytes_of(w->census, slab) > BATCH_BYTES ||
		    batch->to - batch->from == BATCH_SLABS) {
			batch = ks_vec_push(&w->batches);
			if (!batch)
				return -ENOMEM;
			batch->from = batch->to = (u32)w->slabs.len;
			bytes = 0;
		}
		entry = ks_vec_push(&w->slabs);
		if (!entry)
			return -ENOMEM;
		*entry = (u32)i;
		batch->to++;
		bytes += bytes_of(w->census, slab);
	}
	return 0;
}

static void visit_batch(void *arg, size_t index, unsigned int worker)
{
	struct walk *w = arg;
	const struct batch *batch = &w->batches.items[index];
	struct ks_piece pieces[BATCH_SLABS];
	u32 n = batch->to - batch->from, i;
	size_t used = 0;

	if (w->err[worker])
		return;
	for (i = 0; i < n; i++) {
		const struct ks_slab *slab =
			&w->census->pages->slabs.items[w->slabs.items[batch->from + i]];

		pieces[i] = (struct ks_piece){
			.addr = ks_kernel_addr(w->kernel, slab->pfn) +
				w->census->caches->items.items[slab->cache].pad,
			.buf = w->buf[worker] + used,
			.len = bytes_of(w->census, slab),
		};
		used += pieces[i].len;
	}
	w->err[worker] = ks_memory_read(w->kernel->lanes[worker], pieces, n, NULL);
	for (i = 0; !w->err[worker] && i < n; i++) {
		u32 number = w->slabs.items[batch->from + i];
		const struct ks_slab *slab = &w->census->pages->slabs.items[number];
		struct ks_slab_view view = {
			.slab = number,
			.info = slab,
			.cache = &w->census->caches->items.items[slab->cache],
			.addr = pieces[i].addr,
			.data = pieces[i].buf,
			.first = w->slots->first[number],
			.worker = worker,
		};

		if (!pieces[i].failed)
			w->fn(w->arg, &view);
	}
}

static int start_workers(struct walk *w, unsigned int count, struct ks_diag *diag)
{
	const struct ks_slab *slabs = w->census->pages->slabs.items;
	size_t room = BATCH_BYTES;
	unsigned int i;
	int err = ks_kernel_lanes(w->kernel, count, diag);

	for (i = 0; i < w->slabs.len; i++)
		room = ks_max(room, (size_t)bytes_of(w->census, &slabs[w->slabs.items[i]]));
	for (i = 0; !err && i < count; i++) {
		w->buf[i] = malloc(room);
		if (!w->buf[i])
			err = ks_diag_nomem(diag, "reading slabs");
	}
	return err;
}

/* === Internals: free lists ================================================================ */

static void set_used(struct ks_slots *slots, u32 first, u32 count)
{
	u32 i;

	/* Two slabs may share a word, and be in the hands of two threads. */
	for (i = first; i < first + count; i++)
		__atomic_fetch_or(&slots->used[i / 64], 1ull << i % 64, __ATOMIC_RELAXED);
}

static void set_free(struct ks_slots *slots, u32 slot)
{
	__atomic_fetch_and(&slots->used[slot / 64], ~(1ull << slot % 64), __ATOMIC_RELAXED);
}

/* All slots are marked as used before; those on the list are not. */
static bool follow(const struct search *s, const struct ks_slab_view *view)
{
	const struct ks_cache *cache = view->cache;
	u64 object = view->info->freelist, at;
	u32 free = 0, index;

	while (object) {
		index = ks_slab_index(s->kernel, view->info, cache, object);
		if (index == KS_NONE || !ks_slot_used(s->slots, view->first + index))
			return false;
		set_free(s->slots, view->first + index);
		free++;
		at = object + cache->offset;
		object = ks_cache_next_free(
			&s->kernel->layout, cache,
			ks_u64_at(view->data, index * cache->size + cache->offset), at);
	}
	return free == (u32)(view->info->objects - view->info->inuse);
}

static void mark_slab(void *arg, const struct ks_slab_view *view)
{
	const struct search *s = arg;

	if (follow(s, view))
		return;
	set_used(s->slots, view->first, view->info->objects);
	__atomic_fetch_or(&s->odd[view->slab / 64], 1ull << view->slab % 64, __ATOMIC_RELAXED);
}

/* Reads the odd slabs' own counts again. A slab that has become another has no objects that have a slot. */
static int refresh_odd(struct ks_kernel *k, struct ks_census *c, struct ks_slots *slots,
		       const u64 *odd, u64 *ret_count, struct ks_diag *diag)
{
	KS_VEC(struct ks_slab *) slabs = { 0 };
	struct ks_slab **entry;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < c->pages->slabs.len; i++) {
		if (!(odd[i / 64] >> i % 64 & 1))
			continue;
		entry = ks_vec_push(&slabs);
		if (entry)
			*entry = &c->pages->slabs.items[i];
		else
			err = ks_diag_nomem(diag, "reading slabs");
	}
	*ret_count = slabs.len;
	if (!err)
		err = ks_slabs_refresh(k, c->pages, slabs.items, slabs.len, diag);
	for (i = 0; !err && i < slabs.len; i++) {
		struct ks_slab *slab = slabs.items[i];
		size_t number = (size_t)(slab - c->pages->slabs.items);
		u32 slot = slots->first[number], end = slots->first[number + 1];

		if (slab->objects == end - slot && slab->inuse <= slab->objects)
			continue;
		slab->objects = slab->inuse = 0;
		for (; slot < end; slot++)
			set_free(slots, slot);
	}
	ks_vec_free(&slabs);
	return err;
}

static int number_slots(const struct ks_census *c, struct ks_slots *slots)
{
	size_t count = c->pages->slabs.len, i;
	u64 next = 0;

	slots->first = calloc(count + 1, sizeof(*slots->first));
	if (!slots->first)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		slots->first[i] = (u32)next;
		next += c->pages->slabs.items[i].objects;
		if (next >= UINT32_MAX)
			return -EOVERFLOW;
	}
	slots->first[count] = slots->count = (u32)next;
	slots->used = calloc((size_t)(next / 64) + 1, sizeof(*slots->used));
	return slots->used ? 0 : -ENOMEM;
}

/* Slabs with free slots, which have to be looked for. */
static void mark_partial(const struct ks_census *c, struct ks_slots *slots, u64 *wanted)
{
	size_t i;

	for (i = 0; i < c->pages->slabs.len; i++) {
		const struct ks_slab *slab = &c->pages->slabs.items[i];

		set_used(slots, slots->first[i], slab->objects);
		if (slab->inuse < slab->objects)
			wanted[i / 64] |= 1ull << i % 64;
	}
}

static int find_free(struct ks_kernel *k, struct ks_census *c, struct ks_slots *slots,
		     struct ks_diag *diag)
{
	size_t words = c->pages->slabs.len / 64 + 1;
	u64 *wanted = calloc(words, 8), *odd = calloc(words, 8), count = 1;
	struct search s = { .kernel = k, .census = c, .slots = slots, .odd = odd };
	int err = wanted && odd ? 0 : ks_diag_nomem(diag, "reading free lists"), tries;

	if (!err)
		mark_partial(c, slots, wanted);
	for (tries = 0; !err && count && tries < 3; tries++) {
		memset(odd, 0, words * 8);
		err = ks_slabs_walk(k, c, slots, wanted, mark_slab, &s, diag);
		if (!err)
			err = refresh_odd(k, c, slots, odd, &count, diag);
		memcpy(wanted, odd, words * 8);
	}
	slots->torn = count;
	free(wanted);
	free(odd);
	return err;
}

/* === Public =============================================================================== */

int ks_slabs_walk(struct ks_kernel *k, const struct ks_census *c, const struct ks_slots *slots,
		  const u64 *wanted, ks_slab_fn *fn, void *arg, struct ks_diag *diag)
{
	struct walk w = { .kernel = k, .census = c, .slots = slots, .fn = fn, .arg = arg };
	unsigned int workers, i;
	int err = plan(&w, wanted);

	if (err)
		ks_diag_nomem(diag, "reading slabs");
	workers = ks_parallel_workers(w.batches.len);
	if (!err)
		err = start_workers(&w, workers, diag);
	if (!err)
		ks_parallel_for(w.batches.len, visit_batch, &w);
	for (i = 0; i < workers; i++) {
		if (!err && w.err[i])
			err = ks_diag_set(diag, w.err[i], "reading slabs: %s", strerror(-w.err[i]));
		free(w.buf[i]);
	}
	ks_vec_free(&w.slabs);
	ks_vec_free(&w.batches);
	return err;
}

int ks_slots_read(struct ks_kernel *k, struct ks_census *c, struct ks_slots **ret_slots,
		  struct ks_diag *diag)
{
	struct ks_slots *slots = calloc(1, sizeof(*slots));
	int err = slots ? number_slots(c, slots) : -ENOMEM;
	size_t i;

	if (err)
		ks_diag_nomem(diag, "numbering objects");
	else
		err = find_free(k, c, slots, diag);
	for (i = 0; !err && i < c->waiting->objects.len; i++) {
		const struct ks_waiting_object *o = &c->waiting->objects.items[i];
		const struct ks_slab *slab = ks_slab_at(k, c->pages, o->addr);
		u32 index = ks_slab_index(k, slab, &c->caches->items.items[o->cache], o->addr);

		if (index != KS_NONE)
			set_free(slots, slots->first[slab - c->pages->slabs.items] + index);
	}
	if (err) {
		ks_slots_free(slots);
		return err;
	}
	*ret_slots = slots;
	return 0;
}

void ks_slots_free(struct ks_slots *slots)
{
	if (!slots)
		return;
	free(slots->first);
	free(slots->used);
	free(slots);
}
