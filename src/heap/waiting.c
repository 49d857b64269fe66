// SPDX-License-Identifier: LGPL-2.1-only
/* Free lists of CPUs, followed all at once: one read takes each list a step further. */
#include "heap/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/sheaves.h"

/* === Data ================================================================================= */

/* One CPU's list of one cache. */
struct list {
	u64 at; /* of its struct kmem_cache_cpu */
	u32 cache;
	u32 steps;
	u64 next; /* the object to look at; 0 = done */
	struct ks_slab *slab;
	bool torn;
};

/* An object on a list, which counts once the list has come to its end. */
struct found {
	u64 addr;
	u32 list;
};

struct lists {
	KS_VEC(struct list) items;
	KS_VEC(struct found) found;
	struct ks_piece *pieces;
	u8 *raw;
};

enum { TRIES = 4 }; /* a list that changes each time is given up */

/* === Internals: slabs again =============================================================== */

/* Slabs that were or are a CPU's: the kernel moves objects between them and its list. */
static int refresh_cpu_slabs(struct ks_kernel *k, struct ks_pages *pages, const struct lists *lists,
			     bool frozen, struct ks_diag *diag)
{
	KS_VEC(struct ks_slab *) slabs = { 0 };
	struct ks_slab **slot;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < pages->slabs.len + lists->items.len; i++) {
		struct ks_slab *slab = i < pages->slabs.len
					       ? &pages->slabs.items[i]
					       : lists->items.items[i - pages->slabs.len].slab;

		if (!slab || (i < pages->slabs.len && !(frozen && slab->frozen)))
			continue;
		slot = ks_vec_push(&slabs);
		if (slot)
			*slot = slab;
		else
			err = -ENOMEM;
	}
	if (!err)
		err = ks_slabs_refresh(k, pages, slabs.items, slabs.len, diag);
	ks_vec_free(&slabs);
	return err;
}

/* === Internals: lists ===================================================================== */

static int make_lists(const struct ks_kernel *k, const struct ks_caches *caches,
		      struct lists *lists)
{
	const struct ks_memory_facts *facts = &k->memory->facts;
	size_t cpu;
	u32 i;

	for (i = 0; i < caches->items.len; i++) {
		const struct ks_cache *cache = &caches->items.items[i];

		for (cpu = 0; cache->valid && cache->cpu_slab && cpu < facts->percpu.len; cpu++) {
			struct list *list = ks_vec_push(&lists->items);

			if (!list)
				return -ENOMEM;
			list->at = facts->percpu.items[cpu] + cache->cpu_slab;
			list->cache = i;
		}
	}
	lists->pieces = calloc(lists->items.len + 1, sizeof(*lists->pieces));
	lists->raw = malloc(lists->items.len * (size_t)ks_max(k->layout.cpu_size, 8u) + 1);
	return lists->pieces && lists->raw ? 0 : -ENOMEM;
}

/* The first object of each list, and the slab that it is of. */
static int read_heads(struct ks_kernel *k, struct ks_pages *pages, struct lists *lists,
		      struct ks_diag *diag)
{
	const struct ks_layout *l = &k->layout;
	size_t i;
	int err;

	for (i = 0; i < lists->items.len; i++)
		lists->pieces[i] = (struct ks_piece){ .addr = lists->items.items[i].at,
						      .buf = lists->raw + i * l->cpu_size,
						      .len = l->cpu_size };
	err = ks_memory_read(k->memory, lists->pieces, lists->items.len, diag);
	for (i = 0; !err && i < lists->items.len; i++) {
		struct list *list = &lists->items.items[i];
		u64 page = ks_u64_at(lists->pieces[i].buf, l->cpu_slab);

		list->next = page ? ks_u64_at(lists->pieces[i].buf, l->cpu_freelist) : 0;
		list->slab = ks_slab_at(k, pages, list->next);
		list->steps = 0;
		list->torn = false;
		if (page && page >= k->vmemmap && !list->slab)
			list->slab = ks_slab_at(
				k, pages, ks_kernel_addr(k, (page - k->vmemmap) / l->page_size));
	}
	return err;
}

static int take(const struct ks_kernel *k, const struct ks_caches *caches, struct lists *lists,
		u32 number)
{
	struct list *list = &lists->items.items[number];
	const struct ks_cache *cache = &caches->items.items[list->cache];
	struct found *found;

	if (!list->slab || list->slab->cache != list->cache || list->steps >= list->slab->objects ||
	    ks_slab_index(k, list->slab, cache, list->next) == KS_NONE) {
		list->torn = true;
		list->next = 0;
		return 0;
	}
	found = ks_vec_push(&lists->found);
	if (!found)
		return -ENOMEM;
	*found = (struct found){ list->next, number };
	list->steps++;
	return 0;
}

/* Each list one step further; how many go on. */
static int step(struct ks_kernel *k, const struct ks_caches *caches, struct lists *lists,
		size_t *ret_active, struct ks_diag *diag)
{
	size_t i, n = 0;
	int err = 0;

	for (i = 0; !err && i < lists->items.len; i++) {
		struct list *list = &lists->items.items[i];

		if (list->next)
			err = take(k, caches, lists, (u32)i);
		if (!list->next)
			continue;
		lists->pieces[n] = (struct ks_piece){
			.addr = list->next + caches->items.items[list->cache].offset,
			.buf = lists->raw + n * 8,
			.len = 8,
		};
		n++;
	}
	if (!err)
		err = ks_memory_read(k->memory, lists->pieces, n, diag);
	for (i = 0, n = 0; !err && i < lists->items.len; i++) {
		struct list *list = &lists->items.items[i];

		if (!list->next)
			continue;
		list->next = ks_cache_next_free(&k->layout, &caches->items.items[list->cache],
						ks_u64_at(lists->pieces[n].buf, 0),
						lists->pieces[n].addr);
		n++;
	}
	*ret_active = n;
	return err;
}

/* Puts the objects of whole lists into the result and keeps the torn lists alone. */
static int collect(struct lists *lists, struct ks_waiting *waiting)
{
	size_t i, n = 0;

	for (i = 0; i < lists->found.len; i++) {
		const struct found *found = &lists->found.items[i];
		const struct list *list = &lists->items.items[found->list];
		struct ks_waiting_object *object;

		if (list->torn)
			continue;
		object = ks_vec_push(&waiting->objects);
		if (!object)
			return -ENOMEM;
		*object = (struct ks_waiting_object){ found->addr, list->cache, KS_WAITING_CPU };
	}
	for (i = 0; i < lists->items.len; i++)
		if (lists->items.items[i].torn)
			lists->items.items[n++] = lists->items.items[i];
	lists->items.len = n;
	lists->found.len = 0;
	return 0;
}

static int read_lists(struct ks_kernel *k, struct ks_pages *pages, const struct ks_caches *caches,
		      struct ks_waiting *waiting, struct ks_diag *diag)
{
	struct lists lists = { 0 };
	int err = make_lists(k, caches, &lists), tries;
	size_t active;

	for (tries = 0; !err && tries < TRIES && lists.items.len; tries++) {
		err = read_heads(k, pages, &lists, diag);
		if (!err)
			err = refresh_cpu_slabs(k, pages, &lists, !tries, diag);
		for (active = 1; !err && active;)
			err = step(k, caches, &lists, &active, diag);
		if (!err)
			err = collect(&lists, waiting);
	}
	waiting->torn += lists.items.len;
	ks_vec_free(&lists.items);
	ks_vec_free(&lists.found);
	free(lists.pieces);
	free(lists.raw);
	return err == -ENOMEM ? ks_diag_nomem(diag, "reading free lists") : err;
}

/* === Internals: the result ================================================================ */

static int by_address(const void *a, const void *b)
{
	const struct ks_waiting_object *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (int)x->place - (int)y->place;
}

/* In order, each once, and none that is not an object of its cache. */
static void tidy(const struct ks_kernel *k, const struct ks_pages *pages,
		 const struct ks_caches *caches, struct ks_waiting *w)
{
	size_t i, n = 0;

	if (w->objects.len)
		qsort(w->objects.items, w->objects.len, sizeof(*w->objects.items), by_address);
	for (i = 0; i < w->objects.len; i++) {
		struct ks_waiting_object *o = &w->objects.items[i];
		struct ks_slab *slab = ks_slab_at(k, pages, o->addr);

		if (n && w->objects.items[n - 1].addr == o->addr)
			continue;
		if (!slab || slab->cache != o->cache ||
		    ks_slab_index(k, slab, &caches->items.items[o->cache], o->addr) == KS_NONE)
			w->stray++;
		else
			w->objects.items[n++] = *o;
	}
	w->objects.len = n;
}

/* === Public =============================================================================== */

struct ks_slab *ks_slab_at(const struct ks_kernel *k, const struct ks_pages *pages, u64 addr)
{
	size_t low = 0, high = pages->slabs.len, mid;
	u64 pfn = (addr - k->page_offset) >> 12;
	struct ks_slab *slab;

	if (addr < k->page_offset)
		return NULL;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (pages->slabs.items[mid].pfn <= pfn)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	slab = &pages->slabs.items[low - 1];
	return pfn - slab->pfn < slab->pages ? slab : NULL;
}

u32 ks_slab_index(const struct ks_kernel *k, const struct ks_slab *slab,
		  const struct ks_cache *cache, u64 addr)
{
	u64 offset = addr - ks_kernel_addr(k, slab->pfn) - cache->pad, index;

	if (!cache->valid || addr < ks_kernel_addr(k, slab->pfn) + cache->pad ||
	    offset % cache->size)
		return KS_NONE;
	index = offset / cache->size;
	return index < slab->objects ? (u32)index : KS_NONE;
}

int ks_waiting_read(struct ks_kernel *k, struct ks_pages *pages, const struct ks_caches *caches,
		    struct ks_waiting **ret_waiting, struct ks_diag *diag)
{
	struct ks_waiting *waiting = calloc(1, sizeof(*waiting));
	int err;

	if (!waiting)
		return ks_diag_nomem(diag, "reading free lists");
	err = read_lists(k, pages, caches, waiting, diag);
	if (!err)
		err = ks_sheaves_read(k, pages, caches, waiting, diag);
	if (err) {
		ks_waiting_free(waiting);
		return err;
	}
	tidy(k, pages, caches, waiting);
	*ret_waiting = waiting;
	return 0;
}

void ks_waiting_free(struct ks_waiting *waiting)
{
	if (!waiting)
		return;
	ks_vec_free(&waiting->objects);
	free(waiting);
}
