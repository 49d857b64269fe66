// SPDX-License-Identifier: LGPL-2.1-only
/* The view of leaks: what lives at the end of a capture, by site, with ages. */
#include "analysis/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

struct gather {
	enum ks_level level;
	struct ks_leaks *leaks;
};

/* === Internals ============================================================================ */

static int on_event(void *ctx, const struct ks_engine *engine, const struct ks_event *ev,
		    const struct ks_match *match, bool counted)
{
	return 0; /* the end is all that counts */
}

struct by_site {
	KS_VEC(struct ks_leak) items; /* by site + 1 */
};

static int add_object(struct gather *g, struct by_site *sites, const struct ks_obj *obj, u64 now)
{
	u64 born = ks_obj_ts(obj), age = now > born ? now - born : 0;
	size_t at = (u32)(obj->site + 1);
	struct ks_leak *leak;

	if (age < g->leaks->min_age) {
		g->leaks->young_objects++;
		g->leaks->young_bytes += obj->bytes_alloc;
		return 0;
	}
	while (sites->items.len <= at)
		if (!ks_vec_push(&sites->items))
			return -ENOMEM;
	leak = &sites->items.items[at];
	leak->oldest = ks_max(leak->oldest, age);
	leak->youngest = leak->objects ? ks_min(leak->youngest, age) : age;
	leak->age_sum += age;
	leak->objects++;
	leak->bytes += obj->bytes_alloc;
	leak->bytes_req += obj->bytes_req;
	return 0;
}

/* A site whose objects mostly end unseen would be called a leak by mistake. */
static bool is_unseen(const struct ks_leak *leak)
{
	return leak->implied_frees > leak->frees;
}

static int compare(const void *pa, const void *pb)
{
	const struct ks_leak *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	return strcmp(a->label, b->label);
}

static int add_site(struct gather *g, struct ks_engine *engine, u32 site, struct ks_leak leak)
{
	struct ks_account *acc = &engine->account;
	const struct ks_place *place = ks_places_get(&acc->places, site);
	u32 group = acc->group_of_site.items[(u32)(site + 1)];
	const struct ks_stat *stat = &acc->tally[g->level].groups.items[group];
	struct ks_leaks *leaks = g->leaks;
	struct ks_leak *slot;

	if (!place)
		return -ENOMEM;
	leak.label = ks_arena_strndup(&leaks->arena, place->label, strlen(place->label));
	leak.allocs = stat->allocs;
	leak.frees = stat->frees;
	leak.implied_frees = stat->implied_frees;
	slot = is_unseen(&leak) ? ks_vec_push(&leaks->unseen) : ks_vec_push(&leaks->sites);
	if (!slot || !leak.label)
		return -ENOMEM;
	*slot = leak;
	if (!is_unseen(&leak)) {
		leaks->objects += leak.objects;
		leaks->bytes += leak.bytes;
	}
	return 0;
}

static int finish(void *ctx, struct ks_engine *engine)
{
	struct gather *g = ctx;
	const struct ks_matcher *m = &engine->matcher;
	const struct ks_live *live = &m->live[g->level];
	struct ks_leaks *leaks = g->leaks;
	struct by_site sites = { 0 };
	u64 until = ks_min(m->last_ts, engine->account.until);
	size_t i;
	int err = 0;

	for (i = 0; i < live->objs.len && !err; i++) {
		const struct ks_obj *obj = &live->objs.items[i];

		if (obj->kind != KS_OBJ_DEAD && obj->counted)
			err = add_object(g, &sites, obj, until - ks_min(until, m->first_ts));
	}
	for (i = 0; i < sites.items.len && !err; i++)
		if (sites.items.items[i].objects)
			err = add_site(g, engine, (u32)i - 1, sites.items.items[i]);
	ks_vec_free(&sites.items);
	if (leaks->sites.len)
		qsort(leaks->sites.items, leaks->sites.len, sizeof(struct ks_leak), compare);
	if (leaks->unseen.len)
		qsort(leaks->unseen.items, leaks->unseen.len, sizeof(struct ks_leak), compare);
	return err;
}

static const struct ks_observer observer = { .event = on_event, .finish = finish };

/* === Public =============================================================================== */

int ks_analyze_leaks(const char *path, const struct ks_analysis_opts *opts, u64 min_age,
		     struct ks_leaks *ret_leaks, struct ks_model **ret_model, struct ks_diag *diag)
{
	struct ks_leaks leaks = { .min_age = min_age };
	struct gather g = { .level = opts->level, .leaks = &leaks };
	struct ks_analysis_opts with = *opts;
	int err;

	with.by = KS_BY_SITE;
	with.observer = &observer;
	with.observer_ctx = &g;
	ks_arena_init(&leaks.arena);
	err = ks_analyze(path, &with, ret_model, diag);
	if (err)
		ks_leaks_deinit(&leaks);
	else
		*ret_leaks = leaks;
	return err;
}
