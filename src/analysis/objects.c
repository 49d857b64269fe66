// SPDX-License-Identifier: LGPL-2.1-only
/* The view of every single object. */
#include "analysis/objects.h"

#include <stdlib.h>

#include "analysis/view.h"
#include "analysis/views.h"

/* === Data ================================================================================= */

enum { NOTHING = 0xff }; /* a kind that none has */

struct ks_object_source {
	const struct ks_run *run;
};

struct objects_view {
	struct ks_view base;
	ks_object_fn *fn;
	void *ctx;
	KS_VEC(struct ks_object_row) rows; /* by slot: what lives there; kind NOTHING: nothing */
};

/* === Internals ============================================================================ */

static int hand_out(struct objects_view *v, const struct ks_run *run, struct ks_object_row *row,
		    struct ks_diag *diag)
{
	struct ks_object_source source = { run };
	int err = v->fn(v->ctx, &source, row, diag);

	row->kind = NOTHING;
	return err;
}

static int objects_begin(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
			 u32 slot, struct ks_diag *diag)
{
	struct objects_view *v = ks_container_of(view, struct objects_view, base);

	int err = 0;

	while (v->rows.len <= slot) {
		struct ks_object_row *fresh = ks_vec_push(&v->rows);

		if (!fresh)
			return ks_diag_nomem(diag, "gathering objects");
		fresh->kind = NOTHING;
	}
	if (unlikely(v->rows.items[slot].kind != NOTHING))
		err = hand_out(v, run, &v->rows.items[slot], diag);
	v->rows.items[slot] = (struct ks_object_row){
		.address = ev->ptr,
		.bytes_req = ev->bytes_req,
		.bytes_alloc = ev->bytes_alloc,
		.alloc_ts = ev->ts,
		.site = ev->site,
		.cache = ev->cache,
		.gfp = ev->gfp,
		.comm = ev->comm,
		.pid = ev->pid,
		.free_site = KS_NONE,
		.alloc_cpu = ev->cpu,
		.free_cpu = KS_CPU_UNKNOWN,
		.kind = ev->kind,
		.end = KS_END_LIVE,
	};
	return err;
}

static int objects_end(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		       u32 slot, enum ks_end how, struct ks_diag *diag)
{
	struct objects_view *v = ks_container_of(view, struct objects_view, base);
	struct ks_object_row *row = &v->rows.items[slot];

	row->end = (u8)how;
	row->end_ts = ev->ts;
	if (how == KS_END_FREED) {
		row->free_site = ev->site;
		row->free_cpu = ev->cpu;
	}
	return hand_out(v, run, row, diag);
}

static void objects_prefetch(struct ks_view *view, u32 slot)
{
	const struct objects_view *v = ks_container_of(view, struct objects_view, base);
	const struct ks_object_row *row = &v->rows.items[slot];

	if (slot >= v->rows.len)
		return;
	__builtin_prefetch(row, 1); /* it is longer than a line of the cache */
	__builtin_prefetch(&row->end, 1);
}

static int objects_finish(struct ks_view *view, const struct ks_run *run, struct ks_diag *diag)
{
	struct objects_view *v = ks_container_of(view, struct objects_view, base);
	size_t i;
	int err = 0;

	for (i = 0; i < v->rows.len && !err; i++)
		if (v->rows.items[i].kind != NOTHING)
			err = hand_out(v, run, &v->rows.items[i], diag);
	return err;
}

static void objects_free(struct ks_view *view)
{
	struct objects_view *v = ks_container_of(view, struct objects_view, base);

	ks_vec_free(&v->rows);
	free(v);
}

/* === Public =============================================================================== */

const char *ks_object_name(struct ks_object_source *source, enum ks_object_names table, u32 id,
			   struct ks_diag *diag)
{
	const struct ks_names *names = source->run->names;
	const struct ks_place *place;

	switch (table) {
	case KS_NAMES_SITE:
		if (id == KS_NONE)
			return "";
		return ks_places_get(source->run->places, id, &place, diag) ? NULL : place->label;
	case KS_NAMES_CACHE:
		return ks_intern_get(&names->caches, id).s;
	case KS_NAMES_GFP:
		return ks_intern_get(&names->gfps, id).s;
	case KS_NAMES_COMM:
		return ks_intern_get(&names->comms, id).s;
	case KS_NAME_TABLES:
		break;
	}
	return "";
}

struct ks_view *ks_objects_view_new(ks_object_fn *fn, void *ctx)
{
	static const struct ks_view_ops ops = {
		.name = "objects",
		.begin = objects_begin,
		.end = objects_end,
		.prefetch = objects_prefetch,
		.finish = objects_finish,
		.free = objects_free,
	};
	struct objects_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->base.ops = &ops;
	v->fn = fn;
	v->ctx = ctx;
	return &v->base;
}
