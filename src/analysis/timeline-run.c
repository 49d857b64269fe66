// SPDX-License-Identifier: LGPL-2.1-only
/* Where a timeline gets its events from: the engine, or a DB. */
#include "analysis/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/engine.h"
#include "analysis/timeline-gather.h"
#include "analysis/walk.h"

/* === Data ================================================================================= */

enum { FIRST_WIDTH = 1000 };

struct run {
	enum ks_level level;
	struct ks_tl_gather *gather;
	struct ks_timeline *timeline;
	u64 first_width, last_ts;

	/* Of a DB's block: the kind of each shape and the owner of each task; KS_NONE = not asked yet. */
	u32 kinds[KS_DB_BLOCK_EVENTS], owners[KS_DB_BLOCK_EVENTS];
};

/* === Internals: the engine ================================================================ */

static int begin_event(struct run *run, const struct ks_event *ev, const struct ks_match *match)
{
	struct ks_group_key key = {
		.kind = ev->kind,
		.site = ev->site,
		.cache = ev->cache,
		.stack = ev->stack,
		.bytes_alloc = ev->bytes_alloc,
	};
	struct ks_tl_birth birth = {
		.ts = ev->ts,
		.ptr = ev->ptr,
		.kind = ks_tl_gather_kind(run->gather, &key),
		.owner = ks_tl_gather_owner(run->gather, ev->pid, ev->comm, ev->cpu),
		.bytes_req = (u32)ev->bytes_req,
		.bytes_alloc = (u32)ev->bytes_alloc,
		.cpu = ev->cpu,
	};

	if (birth.kind == KS_NONE || birth.owner == KS_NONE)
		return -ENOMEM;
	return ks_tl_gather_begin(run->gather, &birth,
				  match->op == KS_OP_ALLOC ? match->slot : KS_NONE);
}

static int on_event(void *ctx, const struct ks_engine *engine, const struct ks_event *ev,
		    const struct ks_match *match, bool counted)
{
	struct run *run = ctx;

	if (ev->kind == KS_LOST || match->level != run->level)
		return 0;
	if (unlikely(!run->gather) &&
	    ks_tl_gather_new(engine->account.names, engine->matcher.first_ts, run->first_width,
			     &run->gather))
		return -ENOMEM;
	if ((match->op == KS_OP_FREE || match->reused) &&
	    ks_tl_gather_end(run->gather, match->slot, ev->ts, ev->cpu, match->op == KS_OP_ALLOC,
			     ks_account_in_window(&engine->account, ev->ts)))
		return -ENOMEM;
	if (counted && (match->op == KS_OP_ALLOC || match->op == KS_OP_ALLOC_UNPAIRED))
		return begin_event(run, ev, match);
	return 0;
}

static int finish_gather(struct run *run, struct ks_account *acc)
{
	return ks_tl_gather_finish(run->gather, run->last_ts, ks_min(run->last_ts, acc->until),
				   &acc->places, &acc->frames, &run->timeline);
}

static int finish_engine(void *ctx, struct ks_engine *engine)
{
	struct run *run = ctx;

	run->last_ts = engine->matcher.last_ts;
	if (!run->gather && ks_tl_gather_new(engine->account.names, engine->matcher.first_ts,
					     run->first_width, &run->gather))
		return -ENOMEM;
	return finish_gather(run, &engine->account);
}

static const struct ks_observer observer = { .event = on_event, .finish = finish_engine };

/* === Internals: a DB ====================================================================== */

static int start_walk(void *ctx, struct ks_account *account, const struct ks_model *model)
{
	struct run *run = ctx;

	run->last_ts = model->last_ts;
	return ks_tl_gather_new(account->names, model->first_ts, run->first_width, &run->gather);
}

static int on_block(void *ctx, const struct ks_db_block *block)
{
	struct run *run = ctx;

	memset(run->kinds, 0xff, block->shapes_len * sizeof(*run->kinds));
	memset(run->owners, 0xff, block->tasks_len * sizeof(*run->owners));
	return 0;
}

static u32 kind_of_shape(struct run *run, const struct ks_db_shape *shape, u32 *known)
{
	struct ks_group_key key = {
		.kind = shape->kind,
		.site = shape->site,
		.cache = shape->cache,
		.stack = shape->stack,
		.bytes_alloc = shape->bytes_alloc,
	};

	if (*known == KS_NONE)
		*known = ks_tl_gather_kind(run->gather, &key);
	return *known;
}

static u32 owner_of_task(struct run *run, const struct ks_db_task *task, u32 *known)
{
	if (*known == KS_NONE)
		*known = ks_tl_gather_owner(run->gather, task->pid, task->comm, task->cpu);
	return *known;
}

static int on_begin(void *ctx, const struct ks_db_block *block, u32 i, u32 slot, u64 ptr)
{
	struct run *run = ctx;
	u16 shape_at = block->shape_of[i], task_at = block->task_of[i];
	const struct ks_db_shape *shape = &block->shapes[shape_at];
	const struct ks_db_task *task = &block->tasks[task_at];
	struct ks_tl_birth birth = {
		.ts = block->ts[i],
		.ptr = ptr,
		.kind = kind_of_shape(run, shape, &run->kinds[shape_at]),
		.owner = owner_of_task(run, task, &run->owners[task_at]),
		.bytes_req = (u32)shape->bytes_req,
		.bytes_alloc = (u32)shape->bytes_alloc,
		.cpu = (u16)task->cpu,
	};

	if (unlikely(birth.kind == KS_NONE || birth.owner == KS_NONE))
		return -ENOMEM;
	return ks_tl_gather_begin(run->gather, &birth, slot);
}

static int on_end(void *ctx, const struct ks_db_block *block, u32 i, u32 slot, bool implied,
		  bool in_window)
{
	struct run *run = ctx;

	return ks_tl_gather_end(run->gather, slot, block->ts[i],
				(u16)block->tasks[block->task_of[i]].cpu, implied, in_window);
}

static void on_prefetch(void *ctx, u32 slot)
{
	ks_tl_gather_prefetch(((const struct run *)ctx)->gather, slot);
}

static int finish_walk(void *ctx, struct ks_account *account)
{
	return finish_gather(ctx, account);
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

int ks_analyze_timeline(const char *path, const struct ks_analysis_opts *opts,
			struct ks_timeline **ret_timeline, struct ks_model **ret_model,
			struct ks_diag *diag)
{
	struct run *run = calloc(1, sizeof(*run));
	struct ks_analysis_opts with = *opts;
	int err;

	if (!run)
		return ks_diag_nomem(diag, "adding up over time");
	run->level = opts->level;
	/* A thousand nanoseconds are nothing; but what a caller made may count in jiffies. */
	run->first_width = opts->trace ? 1 : FIRST_WIDTH;
	with.by = KS_BY_SITE;
	with.want_stacks = true;
	with.observer = &observer;
	with.observer_ctx = run;
	err = !opts->trace && ks_db_is_db(path)
		      ? ks_walk_db(path, &with, &walker, run, NULL, ret_model, diag)
		      : ks_analyze(path, &with, ret_model, diag);
	if (!err) {
		run->timeline->has_time = (*ret_model)->clock != KS_CLOCK_NONE;
		*ret_timeline = run->timeline;
	}
	ks_tl_gather_free(run->gather);
	free(run);
	return err;
}
