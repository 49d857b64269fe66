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
	bool stacks;
	KS_VEC(u32) stack_in; /* by slot of the live table */
	struct ks_map64 keys; /* site << 32 | stack, numbered as rows */
	KS_VEC(struct ks_leak) rows;
};

/* === Internals ============================================================================ */

/* The live table has no room for stacks: they are kept beside it, by slot. */
static int on_event(void *ctx, const struct ks_engine *engine, const struct ks_event *ev,
		    const struct ks_match *match, bool counted)
{
	struct gather *g = ctx;

	if (!g->stacks || match->op != KS_OP_ALLOC || match->level != g->level)
		return 0;
	while (g->stack_in.len <= match->slot)
		if (!ks_vec_push(&g->stack_in))
			return -ENOMEM;
	g->stack_in.items[match->slot] = ev->stack;
	return 0;
}

static int add_object(struct gather *g, const struct ks_obj *obj, u32 stack, u64 now)
{
	u64 born = ks_obj_ts(obj), age = now > born ? now - born : 0;
	struct ks_leak *leak;
	u32 at;

	if (age < g->leaks->min_age) {
		g->leaks->young_objects++;
		g->leaks->young_bytes += obj->bytes_alloc;
		return 0;
	}
	at = ks_map64_add(&g->keys, (u64)obj->site << 32 | stack);
	if (at == KS_NONE || (at == g->rows.len && !ks_vec_push(&g->rows)))
		return -ENOMEM;
	leak = &g->rows.items[at];
	leak->oldest = ks_max(leak->oldest, age);
	leak->youngest = leak->objects ? ks_min(leak->youngest, age) : age;
	leak->age_sum += age;
	leak->objects++;
	leak->bytes += obj->bytes_alloc;
	leak->bytes_req += obj->bytes_req;
	return 0;
}

/* The labels of a stack's frames. */
static int add_frames(struct gather *g, struct ks_engine *engine, u32 stack, struct ks_leak *leak)
{
	const u32 *sites = ks_names_stack(engine->account.names, stack, &leak->frames_len);
	struct ks_arena *arena = &g->leaks->arena;
	size_t i;

	leak->frames = ks_arena_alloc(arena, leak->frames_len * sizeof(*leak->frames) + 1);
	if (!leak->frames)
		return -ENOMEM;
	for (i = 0; i < leak->frames_len; i++) {
		const struct ks_place *place = ks_places_get(&engine->account.frames, sites[i]);

		if (!place)
			return -ENOMEM;
		leak->frames[i] = ks_arena_strndup(arena, place->label, strlen(place->label));
		if (!leak->frames[i])
			return -ENOMEM;
	}
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
	size_t i;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	if (strcmp(a->label, b->label))
		return strcmp(a->label, b->label);
	for (i = 0; i < a->frames_len && i < b->frames_len; i++)
		if (strcmp(a->frames[i], b->frames[i]))
			return strcmp(a->frames[i], b->frames[i]);
	return a->frames_len < b->frames_len ? -1 : a->frames_len > b->frames_len;
}

static int add_row(struct gather *g, struct ks_engine *engine, u32 site, u32 stack,
		   struct ks_leak leak)
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
	if (add_frames(g, engine, stack, &leak))
		return -ENOMEM;
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
	u64 until = ks_min(m->last_ts, engine->account.until);
	size_t i;
	int err = 0;

	for (i = 0; i < live->objs.len && !err; i++) {
		const struct ks_obj *obj = &live->objs.items[i];

		u32 stack = i < g->stack_in.len ? g->stack_in.items[i] : KS_NONE;

		if (obj->kind != KS_OBJ_DEAD && obj->counted)
			err = add_object(g, obj, stack, until - ks_min(until, m->first_ts));
	}
	for (i = 0; i < g->rows.len && !err; i++) {
		u64 key = g->keys.keys.items[i];

		err = add_row(g, engine, (u32)(key >> 32), (u32)key, g->rows.items[i]);
	}
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
	struct gather g = { .level = opts->level, .leaks = &leaks, .stacks = opts->want_stacks };
	struct ks_analysis_opts with = *opts;
	int err;

	with.by = KS_BY_SITE;
	with.observer = &observer;
	with.observer_ctx = &g;
	ks_arena_init(&leaks.arena);
	err = ks_map64_init(&g.keys) ? ks_diag_nomem(diag, "adding up")
				     : ks_analyze(path, &with, ret_model, diag);
	ks_map64_deinit(&g.keys);
	ks_vec_free(&g.stack_in);
	ks_vec_free(&g.rows);
	if (err)
		ks_leaks_deinit(&leaks);
	else
		*ret_leaks = leaks;
	return err;
}
