// SPDX-License-Identifier: LGPL-2.1-only
/* The part of a snapshot that a census gives: sums by cache and node, pages by kind, and what made no sense. */
#include "heap/snapshot.h"

#include <errno.h>
#include <string.h>

#include "heap/aliases.h"
#include "heap/witness.h"

/* === Data ================================================================================= */

static const char large_name[] = "large kmalloc";

/* === Internals ============================================================================ */

static const char *copy(struct ks_snapshot *s, const char *text)
{
	return ks_arena_strndup(&s->arena, text, strlen(text));
}

static int add_cache(struct ks_snapshot *s, const struct ks_kernel *kernel,
		     const struct ks_census *census, size_t number)
{
	const struct ks_cache *from = &census->caches->items.items[number];
	struct ks_heap_cache *cache = ks_vec_push(&s->caches);

	if (!cache)
		return -ENOMEM;
	*cache = (struct ks_heap_cache){
		.name = copy(s, from->name),
		.size = from->size,
		.object_size = from->object_size,
		.reclaimable = ks_cache_reclaimable(&kernel->layout, from),
		.slabinfo = UINT64_MAX,
	};
	if (number < census->rows.len)
		cache->census = census->rows.items[number];
	return cache->name ? 0 : -ENOMEM;
}

static struct ks_heap_cache *large_cache(struct ks_snapshot *s, u32 bytes)
{
	u32 number = ks_snapshot_large_cache(s, bytes);
	struct ks_heap_cache *cache;

	if (number != KS_NONE)
		return &s->caches.items[number];
	cache = ks_vec_push(&s->caches);
	if (cache)
		*cache = (struct ks_heap_cache){ .name = large_name,
						 .size = bytes,
						 .object_size = bytes,
						 .large = true,
						 .slabinfo = UINT64_MAX };
	return cache;
}

static int add_large(struct ks_snapshot *s, const struct ks_census *census)
{
	size_t i;

	for (i = 0; i < census->pages->large.len; i++) {
		u64 pages = census->pages->large.items[i].pages;
		struct ks_heap_cache *cache =
			large_cache(s, (u32)ks_min(pages * 4096, (u64)UINT32_MAX));

		if (!cache)
			return -ENOMEM;
		cache->census.pages += pages;
		cache->census.slabs++;
		cache->census.room++;
		cache->census.used++;
		cache->census.objects++;
		cache->census.bytes += pages * 4096;
	}
	return 0;
}

static int add_nodes(struct ks_snapshot *s, const struct ks_census *census)
{
	size_t len = census->nodes.len;

	if (!len)
		return 0;
	if (ks_vec_reserve(&s->nodes, len))
		return -ENOMEM;
	memcpy(s->nodes.items, census->nodes.items, len * sizeof(*s->nodes.items));
	s->nodes.len = len;
	return 0;
}

static int add_slabinfo(struct ks_snapshot *s, const struct ks_caches *caches)
{
	struct ks_witness *witness;
	int err = ks_witness_read(caches, &witness);
	size_t i;

	if (err)
		return err;
	for (i = 0; i < witness->caches; i++)
		s->caches.items[i].slabinfo = witness->active[i];
	s->total = witness->total;
	ks_witness_free(witness);
	return 0;
}

static int add_names(struct ks_snapshot *s, const struct ks_aliases *aliases)
{
	const struct ks_alias *items = aliases->items.items;
	size_t i = 0, k, end;

	while (i < aliases->items.len) {
		struct ks_heap_cache *cache = &s->caches.items[items[i].cache];

		for (end = i; end < aliases->items.len && items[end].cache == items[i].cache;)
			end++;
		cache->merged = ks_arena_alloc(&s->arena, (end - i) * sizeof(*cache->merged));
		if (!cache->merged)
			return -ENOMEM;
		for (k = i; k < end; k++) {
			cache->merged[k - i] = copy(s, items[k].name);
			if (!cache->merged[k - i])
				return -ENOMEM;
		}
		cache->nr_merged = (u32)(end - i);
		i = end;
	}
	return 0;
}

static int add_aliases(struct ks_snapshot *s, const struct ks_kernel *kernel,
		       const struct ks_caches *caches)
{
	struct ks_aliases *aliases;
	int err = ks_aliases_read(kernel, caches, &aliases);

	if (err)
		return err;
	err = add_names(s, aliases);
	ks_aliases_free(aliases);
	return err;
}

static void add_quality(struct ks_snapshot *s, const struct ks_census *census)
{
	s->quality[KS_HEAP_TORN_SLABS] = census->torn;
	s->quality[KS_HEAP_REREAD_SLABS] = census->reread;
	s->quality[KS_HEAP_TORN_LISTS] = census->waiting->torn;
	s->quality[KS_HEAP_STRAY_OBJECTS] = census->waiting->stray;
	s->quality[KS_HEAP_VANISHED_OBJECTS] = census->over;
	s->quality[KS_HEAP_INVALID_CACHES] = census->caches->invalid;
	s->quality[KS_HEAP_TORN_PAGES] = census->pages->torn;
	if (census->charges)
		s->quality[KS_HEAP_UNREADABLE_CHARGES] = census->charges->unreadable;
}

/* === Public =============================================================================== */

int ks_snapshot_add_census(struct ks_snapshot *s, const struct ks_kernel *kernel,
			   const struct ks_census *census, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	s->memory_by = kernel->memory->ops->name;
	memcpy(s->kinds, census->pages->kinds, sizeof(s->kinds));
	add_quality(s, census);
	for (i = 0; i < census->caches->items.len && !err; i++)
		err = add_cache(s, kernel, census, i);
	if (!err)
		err = add_large(s, census);
	if (!err)
		err = add_nodes(s, census);
	if (!err && kernel->live)
		err = add_slabinfo(s, census->caches);
	if (!err && kernel->live)
		err = add_aliases(s, kernel, census->caches);
	return err ? ks_diag_nomem(diag, "taking a snapshot of the heap") : 0;
}

u32 ks_snapshot_large_cache(const struct ks_snapshot *s, u64 bytes)
{
	size_t i;

	for (i = s->caches.len; i && s->caches.items[i - 1].large; i--)
		if (s->caches.items[i - 1].size == ks_min(bytes, (u64)UINT32_MAX))
			return (u32)i - 1;
	return KS_NONE;
}
