// SPDX-License-Identifier: LGPL-2.1-only
/* Walks over the memory of slabs, and finds out which of their places are in use. */
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
	const struct ks_places *places;
	KS_VEC(u32) slabs;
	KS_VEC(struct batch) batches;
	ks_slab_fn *fn;
	void *arg;
	struct ks_memory *memory[KS_WORKERS_MAX];
	u8 *buf[KS_WORKERS_MAX];
	int err[KS_WORKERS_MAX];
};

/* The walk that follows free lists. */
struct search {
	const struct ks_kernel *kernel;
	const struct ks_census *census;
	struct ks_places *places;
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
	u32 *slot;

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
		slot = ks_vec_push(&w->slabs);
		if (!slot)
			return -ENOMEM;
		*slot = (u32)i;
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
	w->err[worker] = ks_memory_read(w->memory[worker], pieces, n, NULL);
	for (i = 0; !w->err[worker] && i < n; i++) {
		u32 number = w->slabs.items[batch->from + i];
		const struct ks_slab *slab = &w->census->pages->slabs.items[number];
		struct ks_slab_view view = {
			.slab = number,
			.info = slab,
			.cache = &w->census->caches->items.items[slab->cache],
			.addr = pieces[i].addr,
			.data = pieces[i].buf,
			.first = w->places->first[number],
			.worker = worker,
		};

		if (!pieces[i].failed)
			w->fn(w->arg, &view);
	}
}

/* A handle on the memory and a buffer for each worker; the first has the kernel's own handle. */
static int start_workers(struct walk *w, unsigned int count, struct ks_diag *diag)
{
	size_t room = BATCH_BYTES;
	unsigned int i;
	int err = 0;

	for (i = 0; i < w->slabs.len; i++)
		room = ks_max(room,
			      (size_t)bytes_of(w->census,
					       &w->census->pages->slabs.items[w->slabs.items[i]]));
	w->memory[0] = w->kernel->memory;
	for (i = 0; !err && i < count; i++) {
		if (i)
			err = ks_memory_dup(w->kernel->memory, &w->memory[i], diag);
		w->buf[i] = malloc(room);
		if (!err && !w->buf[i])
			err = ks_diag_nomem(diag, "reading slabs");
	}
	return err;
}

/* === Internals: free lists ================================================================ */

static void set_used(struct ks_places *places, u32 first, u32 count)
{
	u32 i;

	/* Two slabs may share a word, and be in the hands of two threads. */
	for (i = first; i < first + count; i++)
		__atomic_fetch_or(&places->used[i / 64], 1ull << i % 64, __ATOMIC_RELAXED);
}

static void set_free(struct ks_places *places, u32 place)
{
	__atomic_fetch_and(&places->used[place / 64], ~(1ull << place % 64), __ATOMIC_RELAXED);
}

/* All places are marked as used before; those on the list are not. */
static bool follow(const struct search *s, const struct ks_slab_view *view)
{
	const struct ks_cache *cache = view->cache;
	u64 object = view->info->freelist, at;
	u32 free = 0, index;

	while (object) {
		index = ks_slab_index(s->kernel, view->info, cache, object);
		if (index == KS_NONE || !ks_place_used(s->places, view->first + index))
			return false;
		set_free(s->places, view->first + index);
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
	set_used(s->places, view->first, view->info->objects);
	__atomic_fetch_or(&s->odd[view->slab / 64], 1ull << view->slab % 64, __ATOMIC_RELAXED);
}

/* Reads the odd slabs' own counts again. A slab that has become another has no objects that have a place. */
static int refresh_odd(struct ks_kernel *k, struct ks_census *c, struct ks_places *places,
		       const u64 *odd, u64 *ret_count, struct ks_diag *diag)
{
	KS_VEC(struct ks_slab *) slabs = { 0 };
	struct ks_slab **slot;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < c->pages->slabs.len; i++) {
		if (!(odd[i / 64] >> i % 64 & 1))
			continue;
		slot = ks_vec_push(&slabs);
		if (slot)
			*slot = &c->pages->slabs.items[i];
		else
			err = ks_diag_nomem(diag, "reading slabs");
	}
	*ret_count = slabs.len;
	if (!err)
		err = ks_slabs_refresh(k, c->pages, slabs.items, slabs.len, diag);
	for (i = 0; !err && i < slabs.len; i++) {
		struct ks_slab *slab = slabs.items[i];
		size_t number = (size_t)(slab - c->pages->slabs.items);
		u32 place = places->first[number], end = places->first[number + 1];

		if (slab->objects == end - place && slab->inuse <= slab->objects)
			continue;
		slab->objects = slab->inuse = 0;
		for (; place < end; place++)
			set_free(places, place);
	}
	ks_vec_free(&slabs);
	return err;
}

static int number_places(const struct ks_census *c, struct ks_places *places)
{
	size_t count = c->pages->slabs.len, i;
	u64 next = 0;

	places->first = calloc(count + 1, sizeof(*places->first));
	if (!places->first)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		places->first[i] = (u32)next;
		next += c->pages->slabs.items[i].objects;
		if (next >= UINT32_MAX)
			return -EOVERFLOW;
	}
	places->first[count] = places->count = (u32)next;
	places->used = calloc(next / 64 + 1, sizeof(*places->used));
	return places->used ? 0 : -ENOMEM;
}

/* Slabs with free places, which have to be looked for. */
static void mark_partial(const struct ks_census *c, struct ks_places *places, u64 *wanted)
{
	size_t i;

	for (i = 0; i < c->pages->slabs.len; i++) {
		const struct ks_slab *slab = &c->pages->slabs.items[i];

		set_used(places, places->first[i], slab->objects);
		if (slab->inuse < slab->objects)
			wanted[i / 64] |= 1ull << i % 64;
	}
}

static int find_free(struct ks_kernel *k, struct ks_census *c, struct ks_places *places,
		     struct ks_diag *diag)
{
	size_t words = c->pages->slabs.len / 64 + 1;
	u64 *wanted = calloc(words, 8), *odd = calloc(words, 8), count = 1;
	struct search s = { .kernel = k, .census = c, .places = places, .odd = odd };
	int err = wanted && odd ? 0 : ks_diag_nomem(diag, "reading free lists"), tries;

	if (!err)
		mark_partial(c, places, wanted);
	for (tries = 0; !err && count && tries < 3; tries++) {
		memset(odd, 0, words * 8);
		err = ks_slabs_walk(k, c, places, wanted, mark_slab, &s, diag);
		if (!err)
			err = refresh_odd(k, c, places, odd, &count, diag);
		memcpy(wanted, odd, words * 8);
	}
	places->torn = count;
	free(wanted);
	free(odd);
	return err;
}

/* === Public =============================================================================== */

int ks_slabs_walk(struct ks_kernel *k, const struct ks_census *c, const struct ks_places *places,
		  const u64 *wanted, ks_slab_fn *fn, void *arg, struct ks_diag *diag)
{
	struct walk w = { .kernel = k, .census = c, .places = places, .fn = fn, .arg = arg };
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
		if (i)
			ks_memory_free(w.memory[i]);
		free(w.buf[i]);
	}
	ks_vec_free(&w.slabs);
	ks_vec_free(&w.batches);
	return err;
}

int ks_places_read(struct ks_kernel *k, struct ks_census *c, struct ks_places **ret_places,
		   struct ks_diag *diag)
{
	struct ks_places *places = calloc(1, sizeof(*places));
	int err = places ? number_places(c, places) : -ENOMEM;
	size_t i;

	if (err)
		ks_diag_nomem(diag, "numbering objects");
	else
		err = find_free(k, c, places, diag);
	for (i = 0; !err && i < c->waiting->objects.len; i++) {
		const struct ks_waiting_object *o = &c->waiting->objects.items[i];
		const struct ks_slab *slab = ks_slab_at(k, c->pages, o->addr);
		u32 index = ks_slab_index(k, slab, &c->caches->items.items[o->cache], o->addr);

		if (index != KS_NONE)
			set_free(places, places->first[slab - c->pages->slabs.items] + index);
	}
	if (err) {
		ks_places_free(places);
		return err;
	}
	*ret_places = places;
	return 0;
}

void ks_places_free(struct ks_places *places)
{
	if (!places)
		return;
	free(places->first);
	free(places->used);
	free(places);
}
