// SPDX-License-Identifier: LGPL-2.1-only
/* Every object of a capture. */
#include "analysis/objects.h"

#include <errno.h>
#include <string.h>

#include "analysis/engine.h"
#include "analysis/walk.h"

/* === Data ================================================================================= */

struct ks_object_source {
	enum ks_level level;
	ks_object_fn *fn;
	void *ctx;
	struct ks_resolver *resolver;
	const struct ks_names *names; /* NULL until the first event */
	struct ks_places places;
	KS_VEC(struct ks_object_row)
	rows;		     /* by slot: what lives there; kind KS_OBJ_DEAD: nothing */
	struct ks_diag diag; /* why fn failed */
};

static const char *const end_names[] = { "live", "freed", "implied" };
_Static_assert(ARRAY_SIZE(end_names) == KS_ENDS, "a name for every end");

/* === Internals: objects =================================================================== */

static void set_names(struct ks_object_source *source, const struct ks_names *names)
{
	source->names = names;
	ks_places_init(&source->places, &names->sites, source->resolver, NULL);
}

static int begin_object(struct ks_object_source *source, u32 slot, const struct ks_object_row *row)
{
	while (source->rows.len <= slot) {
		struct ks_object_row *fresh = ks_vec_push(&source->rows);

		if (!fresh)
			return -ENOMEM;
		fresh->kind = KS_OBJ_DEAD;
	}
	source->rows.items[slot] = *row;
	return 0;
}

/* How an object ends: when, where, and seen by what. */
struct end {
	enum ks_end how;
	u64 ts;
	u32 site;
	u16 cpu;
};

static int end_object(struct ks_object_source *source, u32 slot, const struct end *end)
{
	struct ks_object_row *row;
	int err;

	if (slot >= source->rows.len || source->rows.items[slot].kind == KS_OBJ_DEAD)
		return 0;
	row = &source->rows.items[slot];
	row->end = end->how;
	row->end_ts = end->how == KS_END_LIVE ? 0 : end->ts;
	row->free_site = end->how == KS_END_FREED ? end->site : KS_NONE;
	row->free_cpu = end->how == KS_END_FREED ? end->cpu : KS_CPU_UNKNOWN;
	err = source->fn(source->ctx, source, row, &source->diag);
	row->kind = KS_OBJ_DEAD;
	return err;
}

/* What ends behind the window lives at its end. */
static enum ks_end how(bool implied, bool in_window)
{
	return !in_window ? KS_END_LIVE : implied ? KS_END_IMPLIED : KS_END_FREED;
}

static int end_all(struct ks_object_source *source)
{
	static const struct end lives = { .how = KS_END_LIVE };
	int err = 0;
	u32 i;

	for (i = 0; i < source->rows.len && !err; i++)
		err = end_object(source, i, &lives);
	return err;
}

/* === Internals: the engine ================================================================ */

static int on_event(void *ctx, const struct ks_engine *engine, const struct ks_event *ev,
		    const struct ks_match *match, bool counted)
{
	struct ks_object_source *source = ctx;
	bool in_window = ks_account_in_window(&engine->account, ev->ts);
	int err = 0;

	if (unlikely(!source->names))
		set_names(source, engine->account.names);
	if (match->level != source->level)
		return 0;
	if (match->op == KS_OP_FREE || match->reused)
		err = end_object(source, match->slot,
				 &(struct end){ .how = how(match->op == KS_OP_ALLOC, in_window),
						.ts = ev->ts,
						.site = ev->site,
						.cpu = ev->cpu });
	if (!err && match->op == KS_OP_ALLOC && counted)
		err = begin_object(source, match->slot,
				   &(struct ks_object_row){ .address = ev->ptr,
							    .bytes_req = ev->bytes_req,
							    .bytes_alloc = ev->bytes_alloc,
							    .alloc_ts = ev->ts,
							    .site = ev->site,
							    .cache = ev->cache,
							    .gfp = ev->gfp,
							    .comm = ev->comm,
							    .pid = ev->pid,
							    .alloc_cpu = ev->cpu,
							    .kind = ev->kind });
	return err;
}

static int finish(void *ctx, struct ks_engine *engine)
{
	(void)engine;
	return end_all(ctx);
}

static const struct ks_observer observer = { .event = on_event, .finish = finish };

/* === Internals: a DB ====================================================================== */

static int start_walk(void *ctx, struct ks_account *account, const struct ks_model *model)
{
	(void)model;
	set_names(ctx, account->names);
	return 0;
}

static int on_block(void *ctx, const struct ks_db_block *block)
{
	(void)ctx;
	(void)block;
	return 0;
}

static int on_begin(void *ctx, const struct ks_db_block *block, u32 i, u32 slot, u64 ptr)
{
	const struct ks_db_shape *shape = &block->shapes[block->shape_of[i]];
	const struct ks_db_task *task = &block->tasks[block->task_of[i]];

	if (slot == KS_NONE)
		return 0;
	return begin_object(ctx, slot,
			    &(struct ks_object_row){ .address = ptr,
						     .bytes_req = shape->bytes_req,
						     .bytes_alloc = shape->bytes_alloc,
						     .alloc_ts = block->ts[i],
						     .site = shape->site,
						     .cache = shape->cache,
						     .gfp = shape->gfp,
						     .comm = task->comm,
						     .pid = task->pid,
						     .alloc_cpu = (u16)task->cpu,
						     .kind = shape->kind });
}

static int on_end(void *ctx, const struct ks_db_block *block, u32 i, u32 slot, bool implied,
		  bool in_window)
{
	return end_object(ctx, slot,
			  &(struct end){ .how = how(implied, in_window),
					 .ts = block->ts[i],
					 .site = block->shapes[block->shape_of[i]].site,
					 .cpu = (u16)block->tasks[block->task_of[i]].cpu });
}

static void on_prefetch(void *ctx, u32 slot)
{
	const struct ks_object_source *source = ctx;

	if (slot < source->rows.len)
		__builtin_prefetch(&source->rows.items[slot], 1);
}

static int finish_walk(void *ctx, struct ks_account *account)
{
	(void)account;
	return end_all(ctx);
}

static const struct ks_walker walker = {
	.start = start_walk,
	.block = on_block,
	.begin = on_begin,
	.end = on_end,
	.prefetch = on_prefetch,
	.finish = finish_walk,
};

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
	err = !opts->trace && ks_db_is_db(path)
		      ? ks_walk_db(path, &with, &walker, &source, &source.diag, ret_model, diag)
		      : ks_analyze(path, &with, ret_model, diag);
	if (err && source.diag.err && diag)
		*diag = source.diag;
	if (err && source.diag.err)
		err = source.diag.err;
	if (source.names)
		ks_places_deinit(&source.places);
	ks_vec_free(&source.rows);
	return err;
}
