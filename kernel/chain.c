// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains of objects: queues, and sorting by time. A chain belongs to its owner, who serialises all
 * calls. mz_dead_ready() alone looks at mz_chain::first without the owner's lock, so the functions
 * that queue and dequeue write it with WRITE_ONCE().
 */
#include "index.h"

/* === Data ================================================================================= */

/* How many objects are merged before others may run. */
#define MERGE_BATCH 4096

/* === Internals ============================================================================ */

static u64 by_alloc(const struct mz_object *obj)
{
	return obj->alloc_ns;
}

static bool before(const struct mz_object *a, const struct mz_object *b,
		   u64 (*time)(const struct mz_object *))
{
	if (time(a) != time(b))
		return time(a) < time(b);
	return a->key <= b->key;
}

static struct mz_object *merge(struct mz_object *a, struct mz_object *b,
			       u64 (*time)(const struct mz_object *))
{
	struct mz_object *merged = NULL, **end = &merged;
	unsigned int nr = 0;

	while (a && b) {
		struct mz_object **least = before(a, b, time) ? &a : &b;

		*end = *least;
		end = &(*end)->next;
		*least = *end;
		if (++nr % MERGE_BATCH == 0)
			cond_resched();
	}
	*end = a ? a : b;
	return merged;
}

/* === Public =============================================================================== */

void mz_chain_push(struct mz_chain *chain, struct mz_object *obj)
{
	obj->next = NULL;
	if (chain->last)
		chain->last->next = obj;
	else
		WRITE_ONCE(chain->first, obj);
	chain->last = obj;
	chain->nr++;
}

void mz_chain_push_front(struct mz_chain *chain, struct mz_object *obj)
{
	obj->next = chain->first;
	WRITE_ONCE(chain->first, obj);
	if (!chain->last)
		chain->last = obj;
	chain->nr++;
}

struct mz_object *mz_chain_pop(struct mz_chain *chain)
{
	struct mz_object *obj = chain->first;

	if (obj) {
		WRITE_ONCE(chain->first, obj->next);
		if (!obj->next)
			chain->last = NULL;
		chain->nr--;
	}
	return obj;
}

/* Moves all of @from to the end of @to. */
void mz_chain_append(struct mz_chain *to, struct mz_chain *from)
{
	if (!from->first)
		return;
	if (to->last)
		to->last->next = from->first;
	else
		WRITE_ONCE(to->first, from->first);
	to->last = from->last;
	to->nr += from->nr;
	*from = (struct mz_chain){ 0 };
}

u64 mz_by_free(const struct mz_object *obj)
{
	return obj->free_ns;
}

/*
 * Merges sorted runs as a binary counter adds: bin i holds 2^i runs, so each object is merged
 * only log2(runs) times.
 */
void mz_sorter_add(struct mz_sorter *sorter, struct mz_object *run)
{
	unsigned int i;

	for (i = 0; sorter->bins[i]; i++) {
		run = merge(sorter->bins[i], run, sorter->time);
		sorter->bins[i] = NULL;
	}
	sorter->bins[i] = run;
	cond_resched();
}

void mz_sorter_finish(struct mz_sorter *sorter, struct mz_chain *ret_chain)
{
	struct mz_object *all = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sorter->bins); i++)
		all = merge(sorter->bins[i], all, sorter->time);
	*ret_chain = (struct mz_chain){ .first = all };
	for (; all; all = all->next) {
		ret_chain->last = all;
		if (++ret_chain->nr % MERGE_BATCH == 0)
			cond_resched();
	}
}

void mz_chain_sort_by_alloc(struct mz_chain *chain)
{
	struct mz_sorter sorter = { .time = by_alloc };
	struct mz_object *obj;

	while ((obj = mz_chain_pop(chain))) {
		obj->next = NULL;
		mz_sorter_add(&sorter, obj);
	}
	mz_sorter_finish(&sorter, chain);
}
