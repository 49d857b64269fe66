// SPDX-License-Identifier: LGPL-2.1-only
/* Walking through the objects of a DB. */
#include "analysis/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/source.h"

/* === Data ================================================================================= */

/* What has to be done for an event of a shape. */
struct plan {
	u8 op;
	bool mine;   /* of the level */
	bool passes; /* the filter, as far as the shape tells */
	bool has_ptr;
};

enum { PREFETCH_AHEAD = 16 };

struct walk {
	const struct ks_walker *walker;
	void *ctx;
	struct ks_account account;
	enum ks_level level;
	u8 *counted; /* by slot of the level: whether the walker knows the object */
	struct plan plans[KS_DB_BLOCK_EVENTS];
};

/* === Internals ============================================================================ */

static bool skip_frame(const void *ctx, const char *func, size_t len)
{
	return ks_helpers_has(ctx, func, len);
}

static int plan_block(struct walk *w, const struct ks_db_block *block)
{
	u32 i;

	for (i = 0; i < block->shapes_len; i++) {
		const struct ks_db_shape *shape = &block->shapes[i];
		struct ks_group_key key = { .kind = shape->kind,
					    .site = shape->site,
					    .cache = shape->cache };
		int passes = 0;

		if (shape->level == w->level &&
		    (shape->op == KS_OP_ALLOC || shape->op == KS_OP_ALLOC_UNPAIRED))
			passes = ks_account_passes_shape(&w->account, &key);
		if (passes < 0)
			return passes;
		w->plans[i] = (struct plan){
			.op = shape->op,
			.mine = shape->level == w->level,
			.passes = passes,
			.has_ptr = shape->op != KS_OP_FREE && shape->kind != KS_LOST,
		};
	}
	return 0;
}

/* Whether an allocation of a shape that passes does so itself. */
static bool passes(const struct walk *w, const struct ks_db_block *block, u32 i)
{
	const struct ks_db_task *task = &block->tasks[block->task_of[i]];
	struct ks_group_key key = { .pid = task->pid, .comm = task->comm, .cpu = task->cpu };

	return ks_account_in_window(&w->account, block->ts[i]) &&
	       (!ks_filter_is_task(&w->account.filter) ||
		ks_account_passes_task(&w->account, &key));
}

static int end_object(struct walk *w, const struct ks_db_block *block, u32 i, u32 slot,
		      bool implied)
{
	w->counted[slot] = false;
	return w->walker->end(w->ctx, block, i, slot, implied,
			      ks_account_in_window(&w->account, block->ts[i]));
}

static inline void prefetch(const struct walk *w, u32 slot)
{
	__builtin_prefetch(&w->counted[slot], 1);
	if (w->walker->prefetch)
		w->walker->prefetch(w->ctx, slot);
}

static int walk_block(struct walk *w, const struct ks_db_block *block)
{
	const u32 *slots = block->slots, *slots_end = slots + block->slots_len;
	const u64 *ptrs = block->ptrs;
	int err = 0;
	u32 i;

	for (i = 0; i < block->count && !err; i++) {
		const struct plan *plan = &w->plans[block->shape_of[i]];
		u64 ptr = plan->has_ptr ? *ptrs++ : 0;
		u32 slot = KS_NONE;

		if (plan->op == KS_OP_ALLOC || plan->op == KS_OP_FREE) {
			slot = *slots++;
			if (slots + PREFETCH_AHEAD < slots_end) /* nearly all are of one level */
				prefetch(w, slots[PREFETCH_AHEAD]);
			if (!plan->mine)
				continue;
			if (w->counted[slot])
				err = end_object(w, block, i, slot, plan->op == KS_OP_ALLOC);
		}
		if (!plan->passes || err || !passes(w, block, i))
			continue;
		if (slot != KS_NONE)
			w->counted[slot] = true;
		err = w->walker->begin(w->ctx, block, i, slot, ptr);
	}
	return err;
}

static int walk_blocks(struct walk *w, struct ks_db *db, const struct ks_analysis_opts *opts,
		       bool ordered, struct ks_diag *diag)
{
	const unsigned int columns = KS_DB_TASKS | KS_DB_TIMES | KS_DB_SLOTS | KS_DB_PTRS;
	struct ks_frame_filter helpers = { skip_frame, opts->helpers };
	struct ks_db_block block = { 0 };
	size_t blocks = ks_db_blocks(db), i;
	int err = 0;

	for (i = 0; i < blocks && !err; i++) {
		if (ordered && ks_db_block_info(db, i).max_ts < w->account.since)
			continue;
		err = ks_db_block_read(db, i, columns, &block, diag);
		if (err)
			break;
		if (opts->skip_helpers)
			err = ks_db_skip_helpers(&helpers, ks_db_names(db), block.shapes,
						 block.shapes_len);
		if (!err)
			err = plan_block(w, &block);
		if (!err)
			err = w->walker->block(w->ctx, &block);
		if (!err)
			err = walk_block(w, &block);
		if (err)
			err = ks_account_error(&w->account, diag);
		else if (opts->progress && opts->progress(opts->progress_ctx, i, blocks))
			err = ks_diag_set(diag, -EINTR, "interrupted");
	}
	ks_db_block_deinit(&block);
	return err;
}

static int run(struct walk *w, struct ks_db *db, const struct ks_analysis_opts *opts,
	       const struct ks_model *model, struct ks_diag *diag)
{
	int err;

	ks_account_set_start(&w->account, model->first_ts);
	err = w->walker->start(w->ctx, &w->account, model);
	if (err)
		return ks_account_error(&w->account, diag);
	err = walk_blocks(w, db, opts, !model->quality[KS_Q_BACKWARDS], diag);
	if (!err && w->walker->finish(w->ctx, &w->account))
		err = ks_account_error(&w->account, diag);
	return err;
}

/* === Public =============================================================================== */

int ks_walk_db(const char *path, const struct ks_analysis_opts *opts,
	       const struct ks_walker *walker, void *ctx, const struct ks_diag *why,
	       struct ks_model **ret_model, struct ks_diag *diag)
{
	struct ks_analysis_opts plain = *opts;
	struct walk *w = calloc(1, sizeof(*w));
	struct ks_model *model = NULL;
	struct ks_db *db = NULL;
	int err;

	if (!w)
		return ks_diag_nomem(diag, "asking a DB");
	plain.by = KS_BY_SITE;
	plain.observer = NULL;
	w->walker = walker;
	w->ctx = ctx;
	w->level = opts->level;
	err = ks_analyze(path, &plain, &model, diag);
	if (!err)
		err = ks_db_open(path, &db, diag);
	if (err)
		goto out;
	w->counted = calloc((size_t)ks_db_slots(db) + 1, 1);
	if (!w->counted || ks_account_init(&w->account, KS_BY_SITE, &opts->filter, ks_db_names(db),
					   opts->resolver)) {
		err = ks_diag_nomem(diag, "asking a DB");
		goto out;
	}
	err = run(w, db, opts, model, diag);
	if (err && why && why->err) {
		err = why->err;
		if (diag)
			*diag = *why;
	}
	ks_account_deinit(&w->account);
out:
	if (err)
		ks_model_free(model);
	else
		*ret_model = model;
	ks_db_free(db);
	free(w->counted);
	free(w);
	return err;
}
