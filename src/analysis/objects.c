// SPDX-License-Identifier: LGPL-2.1-only
/* Every object of a capture. */
#include "analysis/objects.h"

#include <errno.h>
#include <string.h>

#include "analysis/engine.h"

/* === Data ================================================================================= */

/* What the live table does not keep of an object. */
struct birth {
	u64 ts;
	u32 cache, gfp, comm, pid;
	u16 cpu;
};

struct ks_object_source {
	enum ks_level level;
	ks_object_fn *fn;
	void *ctx;
	struct ks_resolver *resolver;
	const struct ks_names *names; /* NULL until the first event */
	struct ks_places places;
	KS_VEC(struct birth) births; /* by slot */
	struct ks_diag diag;	     /* why fn failed */
};

static const char *const end_names[] = { "live", "freed", "implied" };
_Static_assert(ARRAY_SIZE(end_names) == KS_ENDS, "a name for every end");

/* === Internals ============================================================================ */

static int hand_out(struct ks_object_source *source, const struct ks_obj *obj, u32 slot,
		    enum ks_end end, const struct ks_event *ev)
{
	const struct birth *birth = &source->births.items[slot];
	struct ks_object_row row = {
		.address = obj->ptr,
		.bytes_req = obj->bytes_req,
		.bytes_alloc = obj->bytes_alloc,
		.alloc_ts = birth->ts,
		.end_ts = end == KS_END_LIVE ? 0 : ev->ts,
		.site = obj->site,
		.cache = birth->cache,
		.gfp = birth->gfp,
		.comm = birth->comm,
		.pid = birth->pid,
		.free_site = end == KS_END_FREED ? ev->site : KS_NONE,
		.alloc_cpu = birth->cpu,
		.free_cpu = end == KS_END_FREED ? ev->cpu : KS_CPU_UNKNOWN,
		.kind = obj->kind,
		.end = end,
	};

	return source->fn(source->ctx, source, &row, &source->diag);
}

/* What ends behind the window lives at its end. */
static int end_object(struct ks_object_source *source, const struct ks_engine *engine,
		      const struct ks_event *ev, const struct ks_match *match)
{
	const struct ks_obj *obj = &engine->matcher.live[match->level].objs.items[match->slot];
	enum ks_end end = match->op == KS_OP_FREE ? KS_END_FREED : KS_END_IMPLIED;

	if (!obj->counted)
		return 0;
	if (!ks_account_in_window(&engine->account, ev->ts))
		end = KS_END_LIVE;
	return hand_out(source, obj, match->slot, end, ev);
}

static int begin_object(struct ks_object_source *source, const struct ks_event *ev, u32 slot)
{
	while (source->births.len <= slot)
		if (!ks_vec_push(&source->births))
			return -ENOMEM;
	source->births.items[slot] = (struct birth){
		.ts = ev->ts,
		.cache = ev->cache,
		.gfp = ev->gfp,
		.comm = ev->comm,
		.pid = ev->pid,
		.cpu = ev->cpu,
	};
	return 0;
}

static int on_event(void *ctx, const struct ks_engine *engine, const struct ks_event *ev,
		    const struct ks_match *match, bool counted)
{
	struct ks_object_source *source = ctx;
	int err = 0;

	if (unlikely(!source->names)) {
		source->names = engine->account.names;
		ks_places_init(&source->places, &source->names->sites, source->resolver, NULL);
	}
	if (match->level != source->level)
		return 0;
	if (match->op == KS_OP_FREE || match->reused)
		err = end_object(source, engine, ev, match);
	if (!err && match->op == KS_OP_ALLOC && counted)
		err = begin_object(source, ev, match->slot);
	return err;
}

static int finish(void *ctx, struct ks_engine *engine)
{
	struct ks_object_source *source = ctx;
	const struct ks_live *live = &engine->matcher.live[source->level];
	int err = 0;
	u32 i;

	for (i = 0; i < live->objs.len && !err; i++)
		if (live->objs.items[i].kind != KS_OBJ_DEAD && live->objs.items[i].counted)
			err = hand_out(source, &live->objs.items[i], i, KS_END_LIVE, NULL);
	return err;
}

static const struct ks_observer observer = { .event = on_event, .finish = finish };

/* === Public =============================================================================== */

const char *ks_end_name(enum ks_end end)
{
	return end < KS_ENDS ? end_names[end] : "?";
}

const char *ks_object_name(struct ks_object_source *source, enum ks_object_names table, u32 id)
{
	const struct ks_place *place;

	switch (table) {
	case KS_NAMES_SITE:
		if (id == KS_NONE)
			return "";
		place = ks_places_get(&source->places, id);
		return place ? place->label : NULL;
	case KS_NAMES_CACHE:
		return ks_intern_get(&source->names->caches, id).s;
	case KS_NAMES_GFP:
		return ks_intern_get(&source->names->gfps, id).s;
	case KS_NAMES_COMM:
		return ks_intern_get(&source->names->comms, id).s;
	case KS_NAME_TABLES:
		break;
	}
	return "";
}

int ks_analyze_objects(const char *path, const struct ks_analysis_opts *opts, ks_object_fn *fn,
		       void *ctx, struct ks_model **ret_model, struct ks_diag *diag)
{
	struct ks_object_source source = {
		.level = opts->level,
		.fn = fn,
		.ctx = ctx,
		.resolver = opts->resolver,
	};
	struct ks_analysis_opts with = *opts;
	int err;

	with.by = KS_BY_SITE;
	with.observer = &observer;
	with.observer_ctx = &source;
	err = ks_analyze(path, &with, ret_model, diag);
	if (err && source.diag.err && diag)
		*diag = source.diag;
	if (err && source.diag.err)
		err = source.diag.err;
	if (source.names)
		ks_places_deinit(&source.places);
	ks_vec_free(&source.births);
	return err;
}
