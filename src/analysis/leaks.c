// SPDX-License-Identifier: LGPL-2.1-only
/* The view of leaks: what lives, by site, with ages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view.h"
#include "analysis/views.h"
#include "base/map64.h"

/* === Data ================================================================================= */

/* What lives in a slot. */
struct held {
	u64 born;
	u32 site, stack;
	u32 bytes_req, bytes_alloc;
	bool lives;
};

/* What came of the objects of a site. */
struct fate {
	u64 allocs, frees, implied, paged;
};

struct leaks_view {
	struct ks_view base;
	u64 min_age;
	KS_VEC(struct held) held;  /* by slot */
	KS_VEC(struct held) left;  /* that live, and another has their slot */
	KS_VEC(struct fate) fates; /* by site + 1 */
};

/* A snapshot in the making. */
struct gather {
	const struct leaks_view *view;
	const struct ks_run *run;
	struct ks_leaks *leaks;
	struct ks_map64 keys; /* site << 32 | stack, numbered as rows */
	KS_VEC(struct ks_leak) rows;
};

/* === Internals: objects =================================================================== */

static struct fate *fate_of(struct leaks_view *v, u32 site)
{
	size_t at = (u32)(site + 1);

	while (v->fates.len <= at)
		if (!ks_vec_push(&v->fates))
			return NULL;
	return &v->fates.items[at];
}

static int count_alloc(struct leaks_view *v, u32 site, struct ks_diag *diag)
{
	struct fate *fate = fate_of(v, site);

	if (!fate)
		return ks_diag_nomem(diag, "looking for leaks");
	fate->allocs++;
	return 0;
}

static int keep_left(struct leaks_view *v, const struct held *held)
{
	struct held *left = ks_vec_push(&v->left);

	if (!left)
		return -ENOMEM;
	*left = *held;
	return 0;
}

static int leaks_begin(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		       u32 slot, struct ks_diag *diag)
{
	struct leaks_view *v = ks_container_of(view, struct leaks_view, base);

	(void)run;
	while (v->held.len <= slot)
		if (!ks_vec_push(&v->held))
			return ks_diag_nomem(diag, "looking for leaks");
	if (unlikely(v->held.items[slot].lives) && keep_left(v, &v->held.items[slot]))
		return ks_diag_nomem(diag, "looking for leaks");
	v->held.items[slot] = (struct held){
		.born = ev->ts,
		.site = ev->site,
		.stack = view->wants_stacks ? ev->stack : KS_NONE,
		.bytes_req = (u32)ev->bytes_req,
		.bytes_alloc = (u32)ev->bytes_alloc,
		.lives = true,
	};
	return count_alloc(v, ev->site, diag);
}

static int leaks_end(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		     u32 slot, enum ks_end how, struct ks_diag *diag)
{
	struct leaks_view *v = ks_container_of(view, struct leaks_view, base);
	struct held *held = &v->held.items[slot];
	struct fate *fate = &v->fates.items[(u32)(held->site + 1)];

	(void)run;
	(void)ev;
	(void)diag;
	fate->frees += how == KS_END_FREED;
	fate->implied += how == KS_END_IMPLIED;
	fate->paged += how == KS_END_PAGE;
	held->lives = false;
	return 0;
}

static int leaks_other(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		       enum ks_op op, struct ks_diag *diag)
{
	(void)run;
	if (op != KS_OP_ALLOC_UNPAIRED)
		return 0;
	return count_alloc(ks_container_of(view, struct leaks_view, base), ev->site, diag);
}

static void leaks_prefetch(struct ks_view *view, u32 slot)
{
	const struct leaks_view *v = ks_container_of(view, struct leaks_view, base);

	if (slot < v->held.len)
		__builtin_prefetch(&v->held.items[slot], 1);
}

/* === Internals: a snapshot ================================================================ */

static int add_object(struct gather *g, const struct held *held, u64 now)
{
	u64 born = held->born > g->run->first_ts ? held->born - g->run->first_ts : 0;
	u64 age = now > born ? now - born : 0;
	struct ks_leak *leak;
	u32 at;

	if (age < g->leaks->min_age) {
		g->leaks->young_objects++;
		g->leaks->young_bytes += held->bytes_alloc;
		return 0;
	}
	at = ks_map64_add(&g->keys, (u64)held->site << 32 | held->stack);
	if (at == KS_NONE || (at == g->rows.len && !ks_vec_push(&g->rows)))
		return -ENOMEM;
	leak = &g->rows.items[at];
	leak->oldest = ks_max(leak->oldest, age);
	leak->youngest = leak->objects ? ks_min(leak->youngest, age) : age;
	leak->age_sum += age;
	leak->objects++;
	leak->bytes += held->bytes_alloc;
	leak->bytes_req += held->bytes_req;
	return 0;
}

/* The labels of a stack's frames. */
static int add_frames(struct gather *g, u32 stack, struct ks_leak *leak, struct ks_diag *diag)
{
	const u32 *sites = ks_names_stack(g->run->names, stack, &leak->frames_len);
	struct ks_arena *arena = &g->leaks->arena;
	size_t i;

	leak->frames = ks_arena_alloc(arena, leak->frames_len * sizeof(*leak->frames) + 1);
	if (!leak->frames)
		return ks_diag_nomem(diag, "looking for leaks");
	for (i = 0; i < leak->frames_len; i++) {
		const struct ks_place *place;
		int err = ks_places_get(g->run->frames, sites[i], &place, diag);

		if (err)
			return err;
		leak->frames[i] = ks_arena_strndup(arena, place->label, strlen(place->label));
		if (!leak->frames[i])
			return ks_diag_nomem(diag, "looking for leaks");
	}
	return 0;
}

/* A site whose objects mostly end unseen would be called a leak by mistake. */
static bool is_unseen(const struct ks_leak *leak)
{
	return leak->implied_frees + leak->page_frees > leak->frees;
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

static int add_row(struct gather *g, u32 site, u32 stack, struct ks_leak leak, struct ks_diag *diag)
{
	const struct fate *fate = &g->view->fates.items[(u32)(site + 1)];
	struct ks_leaks *leaks = g->leaks;
	const struct ks_place *place;
	struct ks_leak *slot;
	int err = ks_places_get(g->run->places, site, &place, diag);

	if (err)
		return err;
	leak.label = ks_arena_strndup(&leaks->arena, place->label, strlen(place->label));
	leak.allocs = fate->allocs;
	leak.frees = fate->frees;
	leak.implied_frees = fate->implied;
	leak.page_frees = fate->paged;
	err = add_frames(g, stack, &leak, diag);
	if (err)
		return err;
	slot = is_unseen(&leak) ? ks_vec_push(&leaks->unseen) : ks_vec_push(&leaks->sites);
	if (!slot || !leak.label)
		return ks_diag_nomem(diag, "looking for leaks");
	*slot = leak;
	if (!is_unseen(&leak)) {
		leaks->objects += leak.objects;
		leaks->bytes += leak.bytes;
	}
	return 0;
}

static int fill(struct gather *g, struct ks_diag *diag)
{
	u64 until = ks_run_end(g->run);
	u64 now = until - ks_min(until, g->run->first_ts);
	struct ks_leaks *leaks = g->leaks;
	size_t i;
	int err = 0;

	for (i = 0; i < g->view->held.len; i++)
		if (g->view->held.items[i].lives && add_object(g, &g->view->held.items[i], now))
			return ks_diag_nomem(diag, "looking for leaks");
	for (i = 0; i < g->view->left.len; i++)
		if (add_object(g, &g->view->left.items[i], now))
			return ks_diag_nomem(diag, "looking for leaks");
	for (i = 0; i < g->rows.len && !err; i++) {
		u64 key = g->keys.keys.items[i];

		err = add_row(g, (u32)(key >> 32), (u32)key, g->rows.items[i], diag);
	}
	if (leaks->sites.len)
		qsort(leaks->sites.items, leaks->sites.len, sizeof(struct ks_leak), compare);
	if (leaks->unseen.len)
		qsort(leaks->unseen.items, leaks->unseen.len, sizeof(struct ks_leak), compare);
	return err;
}

static int leaks_snapshot(struct ks_view *view, const struct ks_run *run, struct ks_model *model,
			  struct ks_diag *diag)
{
	struct gather g = { .view = ks_container_of(view, struct leaks_view, base), .run = run };
	int err;

	model->leaks = g.leaks = calloc(1, sizeof(*g.leaks));
	if (!g.leaks || ks_map64_init(&g.keys))
		return ks_diag_nomem(diag, "looking for leaks");
	ks_arena_init(&g.leaks->arena);
	g.leaks->min_age = g.view->min_age;
	err = fill(&g, diag);
	ks_map64_deinit(&g.keys);
	ks_vec_free(&g.rows);
	return err;
}

static void leaks_free(struct ks_view *view)
{
	struct leaks_view *v = ks_container_of(view, struct leaks_view, base);

	ks_vec_free(&v->held);
	ks_vec_free(&v->left);
	ks_vec_free(&v->fates);
	free(v);
}

/* === Public =============================================================================== */

struct ks_view *ks_leaks_view_new(u64 min_age, bool stacks)
{
	static const struct ks_view_ops ops = {
		.name = "leaks",
		.needs = KS_GIVES_AGES,
		.begin = leaks_begin,
		.end = leaks_end,
		.other = leaks_other,
		.prefetch = leaks_prefetch,
		.snapshot = leaks_snapshot,
		.free = leaks_free,
	};
	struct leaks_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->base = (struct ks_view){ .ops = &ops, .wants_stacks = stacks };
	v->min_age = min_age;
	return &v->base;
}
