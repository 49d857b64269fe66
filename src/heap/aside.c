// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Free objects of slabs that are set aside for one CPU. They are in use by nobody and wait on no list of
 * objects, but /proc/slabinfo, which looks at the nodes' lists alone, counts them as used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/waiting.h"

/* === Data ================================================================================= */

enum { STEPS_MAX = 4096 };

struct chain {
	u64 next; /* a struct slab; 0 = done */
	u32 cache;
};

struct chains {
	KS_VEC(struct chain) items;
	KS_VEC(struct ks_piece) pieces;
	u8 *raw;
};

/* === Internals ============================================================================ */

/* What was given back to the slab that a CPU allocates from. */
static void add_own(const struct ks_kernel *k, const struct ks_pages *pages, u64 page, u32 cache,
		    u64 *aside)
{
	const struct ks_slab *slab;

	if (page < k->vmemmap)
		return;
	slab = ks_slab_at(k, pages, ks_kernel_addr(k, (page - k->vmemmap) / k->layout.page_size));
	if (slab && slab->cache == cache && slab->freelist && slab->inuse <= slab->objects)
		aside[cache] += slab->objects - slab->inuse;
}

/* Where each CPU keeps its slabs: the one that it allocates from, and a chain of others. */
static int read_heads(struct ks_kernel *k, const struct ks_pages *pages,
		      const struct ks_caches *caches, struct chains *chains, u64 *aside,
		      struct ks_diag *diag)
{
	const struct ks_memory_facts *facts = &k->memory->facts;
	const struct ks_layout *l = &k->layout;
	struct ks_piece *piece;
	struct chain *chain;
	size_t i, cpu;
	int err;

	for (i = 0; i < caches->items.len; i++) {
		const struct ks_cache *cache = &caches->items.items[i];

		for (cpu = 0; cache->valid && cache->cpu_slab && cpu < facts->percpu.len; cpu++) {
			piece = ks_vec_push(&chains->pieces);
			chain = ks_vec_push(&chains->items);
			if (!piece || !chain)
				return -ENOMEM;
			piece->addr = facts->percpu.items[cpu] + cache->cpu_slab;
			piece->len = l->cpu_size;
			chain->cache = (u32)i;
		}
	}
	chains->raw = malloc(chains->items.len * (size_t)ks_max(l->cpu_size, l->page_size) + 1);
	if (!chains->raw)
		return -ENOMEM;
	for (i = 0; i < chains->pieces.len; i++)
		chains->pieces.items[i].buf = chains->raw + i * l->cpu_size;
	err = ks_memory_read(k->memory, chains->pieces.items, chains->pieces.len, diag);
	for (i = 0; !err && i < chains->items.len; i++) {
		const void *raw = chains->pieces.items[i].buf;

		if (chains->pieces.items[i].failed)
			continue;
		add_own(k, pages, ks_u64_at(raw, l->cpu_slab), chains->items.items[i].cache, aside);
		if (l->cpu_partial != KS_NONE && l->slab_next != KS_NONE)
			chains->items.items[i].next = ks_u64_at(raw, l->cpu_partial);
	}
	return err;
}

/* All chains one slab further. */
static int step(struct ks_kernel *k, const struct ks_caches *caches, struct chains *chains,
		u64 *aside, size_t *ret_active, struct ks_diag *diag)
{
	const struct ks_layout *l = &k->layout;
	size_t i, n = 0;
	int err;

	for (i = 0; i < chains->items.len; i++) {
		if (!chains->items.items[i].next)
			continue;
		chains->items.items[n] = chains->items.items[i];
		chains->pieces.items[n] = (struct ks_piece){ .addr = chains->items.items[n].next,
							     .buf = chains->raw + n * l->page_size,
							     .len = l->page_size };
		n++;
	}
	chains->items.len = n;
	err = ks_memory_read(k->memory, chains->pieces.items, n, diag);
	for (i = 0; !err && i < n; i++) {
		struct chain *chain = &chains->items.items[i];
		struct ks_slab slab = { 0 };
		u64 cache;

		ks_slab_parse(l, chains->pieces.items[i].buf, &slab, &cache);
		chain->next = 0;
		if (chains->pieces.items[i].failed ||
		    cache != caches->items.items[chain->cache].addr || slab.inuse > slab.objects)
			continue;
		aside[chain->cache] += slab.objects - slab.inuse;
		chain->next = ks_u64_at(chains->pieces.items[i].buf, l->slab_next);
	}
	*ret_active = n;
	return err;
}

/* === Public =============================================================================== */

int ks_aside_read(struct ks_kernel *k, const struct ks_pages *pages, const struct ks_caches *caches,
		  u64 *aside, struct ks_diag *diag)
{
	const struct ks_layout *l = &k->layout;
	struct chains chains = { 0 };
	size_t active = 1;
	int steps, err;

	if (l->cache_cpu_slab == KS_NONE)
		return 0;
	err = read_heads(k, pages, caches, &chains, aside, diag);
	for (steps = 0; !err && active && steps < STEPS_MAX; steps++)
		err = step(k, caches, &chains, aside, &active, diag);
	ks_vec_free(&chains.items);
	ks_vec_free(&chains.pieces);
	free(chains.raw);
	return err == -ENOMEM ? ks_diag_nomem(diag, "reading the slabs of CPUs") : err;
}
