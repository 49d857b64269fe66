// SPDX-License-Identifier: LGPL-2.1-only
/* What the kernel itself had of slabs. */
#include "analysis/kernel-slabs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

static int compare(const void *pa, const void *pb)
{
	const struct ks_kernel_cache *a = pa, *b = pb;

	if (a->bytes[KS_CENSUS_END] != b->bytes[KS_CENSUS_END])
		return a->bytes[KS_CENSUS_END] > b->bytes[KS_CENSUS_END] ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* A cache may be gone at the end, or have come meanwhile. */
static struct ks_kernel_cache *cache_of(struct ks_model *model, const struct ks_slab_cache *from)
{
	struct ks_kernel_slabs *slabs = &model->kernel_slabs;
	struct ks_kernel_cache *cache;
	size_t i;

	for (i = 0; i < slabs->caches.len; i++)
		if (!strcmp(slabs->caches.items[i].name, from->name))
			return &slabs->caches.items[i];
	cache = ks_vec_push(&slabs->caches);
	if (!cache)
		return NULL;
	*cache = (struct ks_kernel_cache){
		.name = ks_arena_strndup(&model->arena, from->name, strlen(from->name)),
		.aliases = ks_arena_strndup(&model->arena, from->aliases, strlen(from->aliases)),
		.object_size = from->object_size,
		.reclaimable = from->reclaimable,
	};
	return cache->name && cache->aliases ? cache : NULL;
}

static int compare_types(const void *pa, const void *pb)
{
	const struct ks_kernel_type *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return order ? order : strcmp(a->cache, b->cache);
}

/* A type that is known in several ways has a row for each in the census. */
static int fill_types(const struct ks_slab_census *census, struct ks_model *model)
{
	struct ks_kernel_slabs *slabs = &model->kernel_slabs;
	size_t i, j;

	for (i = 0; i < census->types.len; i++) {
		const struct ks_slab_type *from = &census->types.items[i];
		const char *cache = census->caches.items[from->cache].name;
		struct ks_kernel_type *type = NULL;

		for (j = 0; j < slabs->types.len && !type; j++)
			if (!strcmp(slabs->types.items[j].name, from->name) &&
			    !strcmp(slabs->types.items[j].cache, cache))
				type = &slabs->types.items[j];
		if (!type) {
			type = ks_vec_push(&slabs->types);
			if (!type)
				return -ENOMEM;
			type->name =
				ks_arena_strndup(&model->arena, from->name, strlen(from->name));
			type->cache = ks_arena_strndup(&model->arena, cache, strlen(cache));
			if (!type->name || !type->cache)
				return -ENOMEM;
		}
		type->objects += from->objects;
		type->bytes += from->bytes;
	}
	if (slabs->types.len)
		qsort(slabs->types.items, slabs->types.len, sizeof(*slabs->types.items),
		      compare_types);
	return 0;
}

/* Whether a word is in a list with commas. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	const char *p = list;

	while (len && (p = strstr(p, word))) {
		if ((p == list || p[-1] == ',') && (!p[len] || p[len] == ','))
			return true;
		p++;
	}
	return false;
}

static bool is_kmalloc(const char *name)
{
	return !strncmp(name, "kmalloc-", 8) || !strncmp(name, "dma-kmalloc-", 12);
}

/*
 * More than the kernel has can't live. Where it was counted object by object, objects end one by one, and what is left
 * here are pages that went from one cache to another of the same size of objects.
 */
static void clamp(struct ks_model *model, struct ks_group *group)
{
	struct ks_stat *stat = &group->stat, *total = &model->levels[KS_SLAB];
	u64 excess = stat->live_objs - group->kernel_objects, bytes, req;

	bytes = stat->live_bytes / stat->live_objs * excess;
	req = stat->live_req / stat->live_objs * excess;
	stat->live_objs -= excess;
	stat->live_bytes -= bytes;
	stat->live_req -= req;
	stat->census_frees += excess;
	stat->unseen_bytes += bytes;
	total->live_objs -= excess;
	total->live_bytes -= bytes;
	total->live_req -= req;
	total->census_frees += excess;
	total->unseen_bytes += bytes;
	model->quality[KS_Q_CENSUS_FREES] += excess;
	group->bounds = ks_bounds_of(model, stat);
}

static void compare_group(struct ks_model *model, struct ks_group *group)
{
	struct ks_kernel_cache sum;

	if (!ks_kernel_slabs_find(&model->kernel_slabs, group->label, &sum))
		return;
	group->aliases = sum.aliases;
	group->reclaimable = sum.reclaimable;
	group->kernel_counted = model->kernel_slabs.counted[KS_CENSUS_END];
	group->kernel_objects = sum.objects[KS_CENSUS_END];
	group->kernel_bytes = sum.bytes[KS_CENSUS_END];
	if (group->kernel_counted && !model->window_ends &&
	    group->stat.live_objs > group->kernel_objects)
		clamp(model, group);
}

static int compare_unseen(const void *pa, const void *pb)
{
	const struct ks_unseen_allocs *a = pa, *b = pb;

	if (a->least != b->least)
		return a->least > b->least ? -1 : 1;
	return strcmp(a->cache, b->cache);
}

/*
 * What was there before can be freed once. What more is freed was allocated unseen, but for a few objects of the moment
 * between the count and the first event.
 */
static void compare_unseen_allocs(struct ks_model *model)
{
	const struct ks_kernel_slabs *slabs = &model->kernel_slabs;
	size_t i, kept = 0;
	int when;

	for (i = 0; i < model->unseen_allocs.len; i++) {
		struct ks_unseen_allocs *unseen = &model->unseen_allocs.items[i];
		struct ks_kernel_cache sum;

		if (*unseen->cache && ks_kernel_slabs_find(slabs, unseen->cache, &sum)) {
			u64 before = sum.objects[KS_CENSUS_START];

			for (when = 0; when < KS_CENSUS_WHENS; when++) {
				unseen->counted[when] = slabs->counted[when];
				unseen->objects[when] = sum.objects[when];
			}
			unseen->object_size = sum.object_size;
			if (slabs->counted[KS_CENSUS_START] &&
			    unseen->frees > before + before / 100 + 100)
				unseen->least = ks_max(unseen->least, unseen->frees - before);
		}
		if (unseen->least)
			model->unseen_allocs.items[kept++] = *unseen;
	}
	model->unseen_allocs.len = kept;
	if (kept)
		qsort(model->unseen_allocs.items, kept, sizeof(*model->unseen_allocs.items),
		      compare_unseen);
}

/* === Public =============================================================================== */

int ks_kernel_slabs_fill(const struct ks_slab_census *const census[KS_CENSUS_WHENS],
			 struct ks_model *model)
{
	struct ks_kernel_slabs *slabs = &model->kernel_slabs;
	size_t i;
	int when;

	for (when = 0; when < KS_CENSUS_WHENS; when++) {
		if (!census[when])
			continue;
		slabs->counted[when] = true;
		for (i = 0; i < census[when]->caches.len; i++) {
			const struct ks_slab_cache *from = &census[when]->caches.items[i];
			struct ks_kernel_cache *cache = cache_of(model, from);

			if (!cache)
				return -ENOMEM;
			cache->objects[when] += from->objects;
			cache->bytes[when] += from->bytes;
			slabs->objects[when] += from->objects;
			slabs->bytes[when] += from->bytes;
		}
	}
	slabs->by_object = census[KS_CENSUS_END] && census[KS_CENSUS_END]->has_objects;
	if (slabs->caches.len)
		qsort(slabs->caches.items, slabs->caches.len, sizeof(*slabs->caches.items),
		      compare);
	return census[KS_CENSUS_START] ? fill_types(census[KS_CENSUS_START], model) : 0;
}

bool ks_kernel_slabs_find(const struct ks_kernel_slabs *slabs, const char *label,
			  struct ks_kernel_cache *ret_sum)
{
	unsigned long long size = 0;
	bool found = false;
	size_t i;
	int when;

	*ret_sum = (struct ks_kernel_cache){ .name = "", .aliases = "", .reclaimable = true };
	if (sscanf(label, "kmalloc of %llu bytes", &size) != 1)
		size = 0;
	for (i = 0; i < slabs->caches.len; i++) {
		const struct ks_kernel_cache *cache = &slabs->caches.items[i];
		bool mine = size ? is_kmalloc(cache->name) && cache->object_size == size
				 : !strcmp(cache->name, label) || has_word(cache->aliases, label);

		if (!mine)
			continue;
		for (when = 0; when < KS_CENSUS_WHENS; when++) {
			ret_sum->objects[when] += cache->objects[when];
			ret_sum->bytes[when] += cache->bytes[when];
		}
		ret_sum->name = cache->name;
		ret_sum->object_size = cache->object_size;
		ret_sum->aliases = cache->aliases;
		ret_sum->reclaimable &= cache->reclaimable;
		found = true;
	}
	ret_sum->reclaimable &= found;
	return found;
}

struct ks_bounds ks_bounds_of(const struct ks_model *model, const struct ks_stat *stat)
{
	struct ks_bounds bounds = {
		.above = model->quality[KS_Q_LOST_EVENTS] || model->quality[KS_Q_LOST_WINDOWS],
		.live_objs = stat->live_objs,
		.live_bytes = stat->live_bytes,
		.peak_bytes = stat->peak_bytes,
	};
	bool proven = model->level == KS_SLAB && model->kernel_slabs.by_object;

	if (!ks_stat_unseen(stat) && !bounds.above)
		return bounds;
	bounds.open = true;
	if (!proven)
		bounds.live_objs = bounds.live_bytes = 0;
	if (ks_stat_has_peak(stat))
		bounds.peak_bytes = bounds.above
					    ? bounds.live_bytes
					    : ks_max(bounds.live_bytes,
						     stat->peak_bytes - ks_min(stat->peak_bytes,
									       stat->unseen_bytes));
	return bounds;
}

void ks_kernel_slabs_compare(struct ks_model *model)
{
	size_t i, k;

	compare_unseen_allocs(model);
	model->bounds = ks_bounds_of(model, ks_model_total(model));
	for (i = 0; i < model->accounts.len; i++) {
		struct ks_sums *sums = &model->accounts.items[i];

		for (k = 0; k < sums->groups.len; k++) {
			struct ks_group *group = &sums->groups.items[k];

			group->aliases = "";
			group->bounds = ks_bounds_of(model, &group->stat);
			if (sums->by == KS_BY_CACHE && model->level == KS_SLAB)
				compare_group(model, group);
		}
	}
}
