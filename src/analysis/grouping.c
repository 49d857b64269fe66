// SPDX-License-Identifier: LGPL-2.1-only
/* How allocations are told apart. */
#include "analysis/grouping.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* === Data ================================================================================= */

/* Keys of kmalloc's size classes among the keys of named caches. */
#define KMALLOC_CLASS (1ull << 63)
#define UNNAMED	      (1ull << 62)

/* === Internals: numbers =================================================================== */

static int number_of_key(struct ks_grouping *g, u64 key, u32 *ret_group, struct ks_diag *diag)
{
	u32 group = ks_map64_add(&g->keys, key);

	if (group == KS_NONE)
		return ks_diag_nomem(diag, "accounting events");
	*ret_group = group;
	return 0;
}

/* Functions and modules: names are numbers in g->strings; KS_NONE stands for an unknown one. */
static int number_of_name(struct ks_grouping *g, const char *name, u32 *ret_group,
			  struct ks_diag *diag)
{
	u32 id = KS_NONE;

	if (*name) {
		id = ks_intern_add(&g->strings, name, strlen(name));
		if (id == KS_NONE)
			return ks_diag_nomem(diag, "accounting events");
	}
	return number_of_key(g, id, ret_group, diag);
}

static int number_of_site(struct ks_grouping *g, u32 site, u32 *ret_group, struct ks_diag *diag)
{
	const struct ks_place *place;
	int err;

	if (g->by == KS_BY_SITE)
		return number_of_key(g, site, ret_group, diag);
	err = ks_places_get(g->places, site, &place, diag);
	if (err)
		return err;
	if (g->by == KS_BY_FUNCTION)
		return number_of_name(g, place->owner, ret_group, diag);
	return number_of_name(g, *place->module || !*place->func ? place->module : "kernel",
			      ret_group, diag);
}

static int find_site(struct ks_grouping *g, u32 site, u32 *ret_group, struct ks_diag *diag)
{
	size_t at = (u32)(site + 1);
	int err;

	*ret_group = ks_grouping_known_site(g, site);
	if (*ret_group != KS_NONE)
		return 0;
	while (g->of_site.len <= at) {
		u32 *group = ks_vec_push(&g->of_site);

		if (!group)
			return ks_diag_nomem(diag, "accounting events");
		*group = KS_NONE;
	}
	err = number_of_site(g, site, ret_group, diag);
	if (!err)
		g->of_site.items[at] = *ret_group;
	return err;
}

static u64 cache_key(const struct ks_event *ev)
{
	if (ev->kind == KS_KMALLOC)
		return ev->bytes_alloc | KMALLOC_CLASS;
	if (ev->cache == KS_NONE && ev->kind == KS_CACHE_ALLOC)
		return ev->bytes_alloc | UNNAMED;
	return ev->cache;
}

static int find_origin(struct ks_grouping *g, const struct ks_event *ev, u32 *ret_group,
		       struct ks_diag *diag)
{
	struct ks_origin origin = {
		.cache = g->by != KS_BY_STACK ? cache_key(ev) : 0,
		.site = ev->site,
		.comm = g->by == KS_BY_OWNER ? ev->comm : KS_NONE,
	};
	u32 stack = g->by == KS_BY_OWNER ? KS_NONE : ev->stack, number = KS_NONE;

	if (!ks_alike_find(&g->alike, g->names, stack, &origin.stack))
		number = ks_origin_add(&g->strings, origin);
	return number == KS_NONE ? ks_diag_nomem(diag, "accounting events")
				 : number_of_key(g, number, ret_group, diag);
}

/* === Internals: labels ==================================================================== */

static const char *number_label(struct ks_arena *arena, const char *format, u64 value)
{
	char text[64];
	int len = snprintf(text, sizeof(text), format, (unsigned long long)value);

	return ks_arena_strndup(arena, text, (size_t)len);
}

static const char *string_label(struct ks_arena *arena, const struct ks_intern *in, u64 key)
{
	struct ks_str s = ks_intern_get(in, (u32)key);

	if (key >= in->strs.len)
		return "unknown";
	return ks_arena_strndup(arena, s.s, s.len);
}

static const char *cache_label(const struct ks_grouping *g, struct ks_arena *arena, u64 key)
{
	if (key & KMALLOC_CLASS)
		return number_label(arena, "kmalloc of %llu bytes", key & ~KMALLOC_CLASS);
	if (key & UNNAMED)
		return number_label(arena, "unnamed cache of %llu bytes", key & ~UNNAMED);
	return string_label(arena, &g->names->caches, key);
}

static const char *keep(struct ks_arena *arena, const char *s)
{
	return ks_arena_strndup(arena, s, strlen(s));
}

static int fill_site(const struct ks_grouping *g, u32 site, struct ks_arena *arena,
		     struct ks_group *group, struct ks_diag *diag)
{
	const struct ks_site *raw = ks_sites_get(&g->names->sites, site);
	const struct ks_place *place;
	int err = ks_places_get(g->places, site, &place, diag);

	if (err)
		return err;
	group->label = keep(arena, place->label);
	group->func = keep(arena, place->func);
	group->module = keep(arena, place->module);
	group->path = keep(arena, place->path);
	group->inlined = keep(arena, place->inlined);
	group->text = keep(arena, raw->text);
	group->offset = place->offset;
	group->addr = raw->addr;
	if (!group->label || !group->func || !group->module || !group->path || !group->inlined ||
	    !group->text)
		return ks_diag_nomem(diag, "gathering results");
	return 0;
}

static int fill_origin(const struct ks_grouping *g, u32 number, struct ks_arena *arena,
		       struct ks_group *group, struct ks_diag *diag)
{
	struct ks_origin origin = ks_origin_get(&g->strings, number);
	int err = fill_site(g, origin.site, arena, group, diag);

	if (!err)
		err = ks_origin_fill(g->names, origin.stack, g->frames, arena, group, diag);
	if (err || g->by == KS_BY_STACK)
		return err;
	group->cache = cache_label(g, arena, origin.cache);
	if (g->by == KS_BY_OWNER && origin.cache == KS_NONE)
		group->cache = ""; /* of pages: that would be a level of one */
	if (g->by == KS_BY_OWNER)
		group->owner = g->names->comms.strs.len
				       ? string_label(arena, &g->names->comms, origin.comm)
				       : "";
	return group->cache && (g->by != KS_BY_OWNER || group->owner)
		       ? 0
		       : ks_diag_nomem(diag, "gathering results");
}

/* === Public =============================================================================== */

int ks_grouping_init(struct ks_grouping *g, enum ks_by by, const struct ks_names *names,
		     struct ks_places *places, struct ks_places *frames)
{
	memset(g, 0, sizeof(*g));
	g->by = by;
	g->names = names;
	g->places = places;
	g->frames = frames;
	if (ks_map64_init(&g->keys) || ks_intern_init(&g->strings) || ks_alike_init(&g->alike)) {
		ks_grouping_deinit(g);
		return -ENOMEM;
	}
	return 0;
}

void ks_grouping_deinit(struct ks_grouping *g)
{
	ks_vec_free(&g->of_site);
	ks_map64_deinit(&g->keys);
	ks_intern_deinit(&g->strings);
	ks_alike_deinit(&g->alike);
}

int ks_grouping_find(struct ks_grouping *g, const struct ks_event *ev, u32 *ret_group,
		     struct ks_diag *diag)
{
	switch (g->by) {
	case KS_BY_SITE:
	case KS_BY_FUNCTION:
	case KS_BY_MODULE:
		return find_site(g, ev->site, ret_group, diag);
	case KS_BY_CACHE:
		return number_of_key(g, cache_key(ev), ret_group, diag);
	case KS_BY_SIZE:
		return number_of_key(g, ev->bytes_alloc, ret_group, diag);
	case KS_BY_PID:
		return number_of_key(g, ev->pid, ret_group, diag);
	case KS_BY_COMM:
		return number_of_key(g, ev->comm, ret_group, diag);
	case KS_BY_CGROUP:
		return number_of_key(g, ks_task_cgroup_of(g->names->tasks, ev->pid), ret_group,
				     diag);
	case KS_BY_CPU:
		return number_of_key(g, ev->cpu, ret_group, diag);
	case KS_BY_NODE:
		return number_of_key(g, (u32)ev->node, ret_group, diag);
	case KS_BY_GFP:
		return number_of_key(g, ev->gfp, ret_group, diag);
	case KS_BY_STACK:
	case KS_BY_SAMPLE:
	case KS_BY_OWNER:
		break;
	}
	return find_origin(g, ev, ret_group, diag);
}

const char *ks_grouping_label(const struct ks_grouping *g, u32 group, struct ks_arena *arena)
{
	u64 key = g->keys.keys.items[group];

	switch (g->by) {
	case KS_BY_FUNCTION:
	case KS_BY_MODULE:
		return string_label(arena, &g->strings, key);
	case KS_BY_CACHE:
		return cache_label(g, arena, key);
	case KS_BY_COMM:
		return string_label(arena, &g->names->comms, key);
	case KS_BY_CGROUP:
		return key == KS_NONE ? "unknown"
				      : string_label(arena, &g->names->tasks->paths, key);
	case KS_BY_GFP:
		return string_label(arena, &g->names->gfps, key);
	case KS_BY_PID:
		return key == KS_PID_UNKNOWN ? "unknown" : number_label(arena, "%llu", key);
	case KS_BY_CPU:
		return key == KS_CPU_UNKNOWN ? "unknown" : number_label(arena, "%llu", key);
	case KS_BY_NODE:
		return key == (u32)-1 ? "any" : number_label(arena, "%llu", key);
	case KS_BY_SIZE:
		return number_label(arena, "%llu", key);
	case KS_BY_SITE:
	case KS_BY_STACK:
	case KS_BY_SAMPLE:
	case KS_BY_OWNER:
		break;
	}
	return "?";
}

int ks_grouping_fill(const struct ks_grouping *g, u32 group, struct ks_arena *arena,
		     struct ks_group *ret_group, struct ks_diag *diag)
{
	u32 number = (u32)g->keys.keys.items[group];

	ret_group->func = ret_group->module = ret_group->path = ret_group->inlined =
		ret_group->text = ret_group->cache = "";
	ret_group->owner = NULL;
	if (g->by == KS_BY_SITE)
		return fill_site(g, number, arena, ret_group, diag);
	if (g->by >= KS_BY_STACK)
		return fill_origin(g, number, arena, ret_group, diag);
	ret_group->label = ks_grouping_label(g, group, arena);
	return ret_group->label ? 0 : ks_diag_nomem(diag, "gathering results");
}
