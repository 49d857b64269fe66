// SPDX-License-Identifier: LGPL-2.1-only
/* The view of fragmentation: bytes asked for and got, and what crosses CPUs and nodes. */
#include "analysis/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

struct gather {
	enum ks_level level;
	KS_VEC(struct ks_frag_row) sites; /* by site + 1 */
	struct ks_map64 sizes;		  /* numbered as rows_of_size */
	KS_VEC(struct ks_frag_row) rows_of_size;
	struct ks_frag *frag;
};

/* === Internals ============================================================================ */

static struct ks_frag_row *site_row(struct gather *g, u32 site)
{
	size_t at = (u32)(site + 1);

	while (g->sites.len <= at)
		if (!ks_vec_push(&g->sites))
			return NULL;
	return &g->sites.items[at];
}

static struct ks_frag_row *size_row(struct gather *g, u64 size)
{
	u32 at = ks_map64_add(&g->sizes, size);

	if (at == KS_NONE || (at == g->rows_of_size.len && !ks_vec_push(&g->rows_of_size)))
		return NULL;
	return &g->rows_of_size.items[at];
}

/* Where the capture does not tell, all CPUs are taken to be of node 0. */
static s32 node_of(const struct ks_source_info *info, u32 cpu)
{
	return cpu < info->cpu_nodes.len ? info->cpu_nodes.items[cpu] : 0;
}

static void add_alloc(struct ks_frag_row *row, const struct ks_event *ev, bool cross)
{
	row->allocs++;
	row->bytes_req += ev->bytes_req;
	row->bytes_alloc += ev->bytes_alloc;
	row->node_requests += ev->node >= 0;
	row->cross_node += cross;
}

static void add_free(struct ks_frag_row *row, bool cross)
{
	row->frees++;
	row->cross_cpu += cross;
}

static int on_event(void *ctx, const struct ks_engine *engine, const struct ks_event *ev,
		    const struct ks_match *match, bool counted)
{
	struct gather *g = ctx;
	struct ks_frag_row *site, *size;
	const struct ks_obj *obj;
	bool cross;

	if (match->level != g->level)
		return 0;
	if ((match->op == KS_OP_ALLOC || match->op == KS_OP_ALLOC_UNPAIRED) && counted) {
		site = site_row(g, ev->site);
		size = size_row(g, ev->bytes_alloc);
		if (!site || !size)
			return -ENOMEM;
		cross = ev->node >= 0 && ev->node != node_of(engine->info, ev->cpu);
		add_alloc(site, ev, cross);
		add_alloc(size, ev, cross);
		add_alloc(&g->frag->total, ev, cross);
	}
	if (match->op != KS_OP_FREE)
		return 0;
	obj = &engine->matcher.live[match->level].objs.items[match->slot];
	if (!obj->counted || !ks_account_in_window(&engine->account, ev->ts))
		return 0;
	cross = obj->cpu != KS_OBJ_CPU_MAX && ev->cpu != KS_CPU_UNKNOWN &&
		obj->cpu != ks_min(ev->cpu, (u16)KS_OBJ_CPU_MAX);
	site = site_row(g, obj->site);
	size = size_row(g, obj->bytes_alloc);
	if (!site || !size)
		return -ENOMEM;
	add_free(site, cross);
	add_free(size, cross);
	add_free(&g->frag->total, cross);
	return 0;
}

/* Most waste first; then most bytes; then by name. */
static int compare(const void *pa, const void *pb)
{
	const struct ks_frag_row *a = pa, *b = pb;
	u64 waste_a = a->bytes_alloc - a->bytes_req, waste_b = b->bytes_alloc - b->bytes_req;

	if (waste_a != waste_b)
		return waste_a > waste_b ? -1 : 1;
	if (a->bytes_alloc != b->bytes_alloc)
		return a->bytes_alloc > b->bytes_alloc ? -1 : 1;
	return strcmp(a->label, b->label);
}

static int finish(void *ctx, struct ks_engine *engine)
{
	struct gather *g = ctx;
	struct ks_frag *frag = g->frag;
	char text[32];
	size_t i;

	for (i = 0; i < g->sites.len; i++) {
		const struct ks_place *place;
		struct ks_frag_row *row;

		if (!g->sites.items[i].allocs)
			continue;
		place = ks_places_get(&engine->account.places, (u32)i - 1);
		row = place ? ks_vec_push(&frag->by_site) : NULL;
		if (!row)
			return -ENOMEM;
		*row = g->sites.items[i];
		row->label = ks_arena_strndup(&frag->arena, place->label, strlen(place->label));
		if (!row->label)
			return -ENOMEM;
	}
	for (i = 0; i < g->rows_of_size.len; i++) {
		struct ks_frag_row *row = ks_vec_push(&frag->by_size);
		int len = snprintf(text, sizeof(text), "%llu",
				   (unsigned long long)g->sizes.keys.items[i]);

		if (!row)
			return -ENOMEM;
		*row = g->rows_of_size.items[i];
		row->label = ks_arena_strndup(&frag->arena, text, (size_t)len);
		if (!row->label)
			return -ENOMEM;
	}
	if (frag->by_site.len)
		qsort(frag->by_site.items, frag->by_site.len, sizeof(*frag->by_site.items),
		      compare);
	if (frag->by_size.len)
		qsort(frag->by_size.items, frag->by_size.len, sizeof(*frag->by_size.items),
		      compare);
	return 0;
}

static const struct ks_observer observer = { .event = on_event, .finish = finish };

/* === Public =============================================================================== */

int ks_analyze_frag(const char *path, const struct ks_analysis_opts *opts, struct ks_frag *ret_frag,
		    struct ks_model **ret_model, struct ks_diag *diag)
{
	struct ks_frag frag = { .total = { .label = "all" } };
	struct gather g = { .level = opts->level, .frag = &frag };
	struct ks_analysis_opts with = *opts;
	int err;

	with.by = KS_BY_SITE;
	with.observer = &observer;
	with.observer_ctx = &g;
	ks_arena_init(&frag.arena);
	err = ks_map64_init(&g.sizes) ? ks_diag_nomem(diag, "adding up")
				      : ks_analyze(path, &with, ret_model, diag);
	ks_map64_deinit(&g.sizes);
	ks_vec_free(&g.sites);
	ks_vec_free(&g.rows_of_size);
	if (err)
		ks_frag_deinit(&frag);
	else
		*ret_frag = frag;
	return err;
}
