// SPDX-License-Identifier: LGPL-2.1-only
/* The view of fragmentation: bytes asked for and got, and what crosses CPUs and nodes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view.h"
#include "analysis/views.h"
#include "base/map64.h"

/* === Data ================================================================================= */

/* What lives in a slot. */
struct held {
	u32 site, size; /* numbers of rows */
	u16 cpu;
};

struct frag_view {
	struct ks_view base;
	KS_VEC(struct held) held;	  /* by slot */
	KS_VEC(struct ks_frag_row) sites; /* by site + 1 */
	struct ks_map64 size_keys;	  /* numbered as sizes */
	KS_VEC(struct ks_frag_row) sizes;
	struct ks_frag_row total;
};

/* === Internals: objects =================================================================== */

static int find_rows(struct frag_view *v, const struct ks_event *ev, struct held *ret_held,
		     struct ks_diag *diag)
{
	struct held held = { .site = ev->site + 1, .cpu = ev->cpu };

	while (v->sites.len <= held.site)
		if (!ks_vec_push(&v->sites))
			return ks_diag_nomem(diag, "adding up");
	held.size = ks_map64_add(&v->size_keys, ev->bytes_alloc);
	if (held.size == KS_NONE || (held.size == v->sizes.len && !ks_vec_push(&v->sizes)))
		return ks_diag_nomem(diag, "adding up");
	*ret_held = held;
	return 0;
}

/* Where the capture does not say, all CPUs are taken to be of node 0. */
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

static int count_alloc(struct frag_view *v, const struct ks_run *run, const struct ks_event *ev,
		       struct held *ret_held, struct ks_diag *diag)
{
	bool cross = ev->node >= 0 && ev->node != node_of(run->info, ev->cpu);
	int err = find_rows(v, ev, ret_held, diag);

	if (err)
		return err;
	add_alloc(&v->sites.items[ret_held->site], ev, cross);
	add_alloc(&v->sizes.items[ret_held->size], ev, cross);
	add_alloc(&v->total, ev, cross);
	return 0;
}

static int frag_begin(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		      u32 slot, struct ks_diag *diag)
{
	struct frag_view *v = ks_container_of(view, struct frag_view, base);

	while (v->held.len <= slot)
		if (!ks_vec_push(&v->held))
			return ks_diag_nomem(diag, "adding up");
	return count_alloc(v, run, ev, &v->held.items[slot], diag);
}

static int frag_end(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		    u32 slot, enum ks_end how, struct ks_diag *diag)
{
	struct frag_view *v = ks_container_of(view, struct frag_view, base);
	const struct held *held = &v->held.items[slot];
	bool cross = held->cpu != KS_CPU_UNKNOWN && ev->cpu != KS_CPU_UNKNOWN &&
		     held->cpu != ev->cpu;

	(void)run;
	(void)diag;
	if (how != KS_END_FREED)
		return 0;
	add_free(&v->sites.items[held->site], cross);
	add_free(&v->sizes.items[held->size], cross);
	add_free(&v->total, cross);
	return 0;
}

static int frag_other(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		      enum ks_op op, struct ks_diag *diag)
{
	struct held held;

	if (op != KS_OP_ALLOC_UNPAIRED)
		return 0;
	return count_alloc(ks_container_of(view, struct frag_view, base), run, ev, &held, diag);
}

/* === Internals: a snapshot ================================================================ */

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

static int fill_sites(const struct frag_view *v, const struct ks_run *run, struct ks_frag *frag,
		      struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < v->sites.len; i++) {
		const struct ks_place *place;
		struct ks_frag_row *row;
		int err;

		if (!v->sites.items[i].allocs)
			continue;
		err = ks_places_get(run->places, (u32)i - 1, &place, diag);
		if (err)
			return err;
		row = ks_vec_push(&frag->by_site);
		if (!row)
			return ks_diag_nomem(diag, "adding up");
		*row = v->sites.items[i];
		row->label = ks_arena_strndup(&frag->arena, place->label, strlen(place->label));
		if (!row->label)
			return ks_diag_nomem(diag, "adding up");
	}
	return 0;
}

static int fill_sizes(const struct frag_view *v, struct ks_frag *frag, struct ks_diag *diag)
{
	char text[32];
	size_t i;

	for (i = 0; i < v->sizes.len; i++) {
		struct ks_frag_row *row = ks_vec_push(&frag->by_size);
		int len = snprintf(text, sizeof(text), "%llu",
				   (unsigned long long)v->size_keys.keys.items[i]);

		if (!row)
			return ks_diag_nomem(diag, "adding up");
		*row = v->sizes.items[i];
		row->label = ks_arena_strndup(&frag->arena, text, (size_t)len);
		if (!row->label)
			return ks_diag_nomem(diag, "adding up");
	}
	return 0;
}

static int frag_snapshot(struct ks_view *view, const struct ks_run *run, struct ks_model *model,
			 struct ks_diag *diag)
{
	const struct frag_view *v = ks_container_of(view, struct frag_view, base);
	struct ks_frag *frag = model->frag = calloc(1, sizeof(*frag));
	int err;

	if (!frag)
		return ks_diag_nomem(diag, "adding up");
	ks_arena_init(&frag->arena);
	frag->total = v->total;
	frag->total.label = "all";
	err = fill_sites(v, run, frag, diag);
	if (!err)
		err = fill_sizes(v, frag, diag);
	if (err)
		return err;
	if (frag->by_site.len)
		qsort(frag->by_site.items, frag->by_site.len, sizeof(*frag->by_site.items),
		      compare);
	if (frag->by_size.len)
		qsort(frag->by_size.items, frag->by_size.len, sizeof(*frag->by_size.items),
		      compare);
	return 0;
}

static void frag_free(struct ks_view *view)
{
	struct frag_view *v = ks_container_of(view, struct frag_view, base);

	ks_vec_free(&v->held);
	ks_vec_free(&v->sites);
	ks_vec_free(&v->sizes);
	ks_map64_deinit(&v->size_keys);
	free(v);
}

/* === Public =============================================================================== */

struct ks_view *ks_frag_view_new(void)
{
	static const struct ks_view_ops ops = {
		.name = "fragmentation",
		.begin = frag_begin,
		.end = frag_end,
		.other = frag_other,
		.snapshot = frag_snapshot,
		.free = frag_free,
	};
	struct frag_view *v = calloc(1, sizeof(*v));

	if (!v || ks_map64_init(&v->size_keys)) {
		free(v);
		return NULL;
	}
	v->base.ops = &ops;
	return &v->base;
}
