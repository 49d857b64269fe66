// SPDX-License-Identifier: GPL-2.0-only
/* The census of a recording, from the kernel's memory: what heap/ counts, in the form that captures have. */
#include "cli/record-census.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap-source.h"
#include "heap/aliases.h"
#include "heap/objects.h"
#include "heap/typing.h"

/* === Internals ============================================================================ */

static char *alias_names(struct ks_slab_census *to, const struct ks_aliases *aliases, u32 cache,
			 const char *name)
{
	struct ks_strbuf sb;
	char *names;
	size_t i;

	ks_strbuf_init(&sb);
	for (i = 0; i < aliases->items.len; i++) {
		const struct ks_alias *alias = &aliases->items.items[i];

		if (alias->cache == cache && strcmp(alias->name, name) != 0)
			ks_strbuf_printf(&sb, "%s%s", sb.len ? "," : "", alias->name);
	}
	names = sb.failed ? NULL : ks_arena_strndup(&to->arena, ks_strbuf_str(&sb), sb.len);
	ks_strbuf_deinit(&sb);
	return names;
}

/* @used: how many objects of the cache are in use, object by object; NULL where only slabs were counted. */
static int add_cache(const struct ks_kernel *kernel, const struct ks_census *from, u32 number,
		     const struct ks_aliases *aliases, const u64 *used, struct ks_slab_census *to)
{
	const struct ks_cache *cache = &from->caches->items.items[number];
	const struct ks_census_row *row = &from->rows.items[number];
	struct ks_slab_cache *entry = ks_vec_push(&to->caches);
	const char *name = cache->valid ? cache->name : "";
	size_t place;

	if (!entry)
		return -ENOMEM;
	entry->name = ks_arena_strndup(&to->arena, name, strlen(name));
	entry->aliases = alias_names(to, aliases, number, name);
	if (!entry->name || !entry->aliases)
		return -ENOMEM;
	entry->object_size = cache->object_size;
	entry->stride = cache->size;
	entry->pad = cache->pad;
	entry->reclaimable = ks_cache_reclaimable(&kernel->layout, cache);
	entry->slabs = row->slabs;
	/* Of one moment with the objects, so that there are never more of these. */
	entry->objects = used ? *used : row->objects;
	entry->bytes = used ? *used * cache->size : row->bytes;
	for (place = 0; place < KS_WAITING_PLACES; place++)
		entry->waiting += row->waiting[place];
	return 0;
}

/* @used: by number of the cache, or NULL. */
static int add_caches(const struct ks_kernel *kernel, const struct ks_census *from, const u64 *used,
		      struct ks_slab_census *to)
{
	struct ks_aliases *aliases;
	int err = ks_aliases_read(kernel, from->caches, &aliases);
	size_t i;

	if (err)
		return err;
	for (i = 0; i < from->caches->items.len && !err; i++)
		err = add_cache(kernel, from, (u32)i, aliases, used ? &used[i] : NULL, to);
	for (i = 0; i < from->pages->slabs.len && !err; i++) {
		const struct ks_slab *slab = &from->pages->slabs.items[i];
		u32 *pages = &to->caches.items[slab->cache].pages;

		*pages = ks_max(*pages, (u32)slab->pages);
	}
	ks_aliases_free(aliases);
	return err;
}

static int add_slab(const struct ks_kernel *kernel, const struct ks_census *from,
		    const struct ks_slots *slots, size_t number, u64 *used,
		    struct ks_slab_census *to)
{
	const struct ks_slab *slab = &from->pages->slabs.items[number];
	u32 first = slots->first[number], objects = slab->objects, i;
	struct ks_slab_place *place;

	/* Its number of objects is of a later moment than the slots. */
	if (objects != slots->first[number + 1] - first)
		objects = 0;
	place = ks_slab_census_add(to, ks_kernel_addr(kernel, slab->pfn), slab->cache, objects,
				   slab->pages);
	if (!place)
		return -ENOMEM;
	for (i = 0; i < objects; i++) {
		if (!ks_slot_used(slots, first + i))
			continue;
		ks_slab_census_use(to, place, i);
		used[slab->cache]++;
	}
	if (!objects)
		used[slab->cache] += slab->inuse;
	return 0;
}

static int add_large(const struct ks_kernel *kernel, const struct ks_large *large,
		     struct ks_slab_census *to)
{
	struct ks_slab_place *place = ks_slab_census_add(to, ks_kernel_addr(kernel, large->pfn),
							 KS_NONE, 1, large->pages);

	if (!place)
		return -ENOMEM;
	ks_slab_census_use(to, place, 0);
	return 0;
}

/* Slabs and large kmalloc() are each in the order of their addresses; so is what comes of them. */
static int add_objects(struct ks_kernel *kernel, struct ks_census *from, u64 *used,
		       struct ks_slab_census *to)
{
	const struct ks_pages *pages = from->pages;
	struct ks_slots *slots;
	size_t slab = 0, large = 0;
	int err = ks_slots_read(kernel, from, &slots, NULL);

	if (err)
		return err;
	to->has_objects = true;
	to->has_large = kernel->layout.type_large_kmalloc != KS_NONE;
	to->page_shift = 12;
	while (!err && (slab < pages->slabs.len || large < pages->large.len)) {
		if (large == pages->large.len ||
		    (slab < pages->slabs.len &&
		     pages->slabs.items[slab].pfn < pages->large.items[large].pfn))
			err = add_slab(kernel, from, slots, slab++, used, to);
		else
			err = add_large(kernel, &pages->large.items[large++], to);
	}
	ks_slots_free(slots);
	return err;
}

static int add_type_rows(const struct ks_typing *typing, struct ks_slab_census *to)
{
	size_t i;

	for (i = 0; i < typing->rows.len; i++) {
		const struct ks_typing_row *row = &typing->rows.items[i];
		const char *name = row->type ? ks_type_text(typing->types, row->type) : "unknown";
		struct ks_slab_type *type = ks_vec_push(&to->types);

		if (!type)
			return -ENOMEM;
		*type = (struct ks_slab_type){
			ks_arena_strndup(&to->arena, name, strlen(name)),
			row->cache,
			row->objects,
			row->bytes,
		};
		if (!type->name)
			return -ENOMEM;
	}
	return 0;
}

/* What can't be typed is counted by cache all the same. */
static int add_types(struct ks_kernel *kernel, struct ks_census *from, struct ks_slab_census *to)
{
	const char *symbols = *kernel->memory->facts.symbols ? kernel->memory->facts.symbols : NULL;
	struct ks_typing *typing = NULL;
	struct ks_slots *slots = NULL;
	int err = ks_slots_read(kernel, from, &slots, NULL);

	if (!err)
		err = ks_typing_make(kernel, from, slots, symbols, &typing, NULL);
	if (!err)
		err = add_type_rows(typing, to);
	ks_typing_free(typing);
	ks_slots_free(slots);
	return err == -ENOMEM ? err : 0;
}

/* On one processor no threads are made, whose own allocations would be in the capture. */
static void stay_here(cpu_set_t *before)
{
	int cpu = sched_getcpu();
	cpu_set_t here;

	CPU_ZERO(before);
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*before), before))
		return;
	CPU_ZERO(&here);
	CPU_SET((size_t)cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
}

static int count(struct ks_kernel *kernel, bool objects, bool types, struct ks_slab_census *to)
{
	struct ks_census *census;
	u64 *used = NULL;
	cpu_set_t before;
	int err;

	stay_here(&before);
	err = ks_census_take(kernel, &(struct ks_census_options){ 0 }, &census, NULL);
	if (!err) {
		to->how = KS_CENSUS_BY_MEMORY;
		if (objects) {
			used = calloc(census->caches->items.len + 1, sizeof(*used));
			err = used ? add_objects(kernel, census, used, to) : -ENOMEM;
		}
		if (!err)
			err = add_caches(kernel, census, used, to);
		if (!err && types)
			err = add_types(kernel, census, to);
		free(used);
		ks_census_free(census);
	}
	if (CPU_COUNT(&before))
		sched_setaffinity(0, sizeof(before), &before);
	return err;
}

/* === Public =============================================================================== */

int ks_record_census_take(void *ctx, bool objects, struct ks_slab_census *census)
{
	const struct ks_heap_source source = { .memory = KS_HEAP_AUTO };
	struct ks_record_census *state = ctx;

	if (!state->kernel && !state->refused)
		state->refused = ks_heap_source_kernel(&source, &state->kernel, &state->why) != 0;
	return state->refused ? -EOPNOTSUPP
			      : count(state->kernel, objects, state->types && !objects, census);
}

void ks_record_census_deinit(struct ks_record_census *state)
{
	ks_kernel_free(state->kernel);
	state->kernel = NULL;
}
