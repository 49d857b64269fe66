// SPDX-License-Identifier: LGPL-2.1-only
/* Showing the objects of a DB to views. */
#include "analysis/walk.h"

#include <errno.h>
#include <stdlib.h>

/* === Data ================================================================================= */

/*
 * What has to be done for an event of a shape. There may be many shapes, so it is small, and has all that the
 * end of an object takes.
 */
struct plan {
	u8 op;
	u8 kind;
	u8 how;		 /* enum ks_end, of the object that was in the slot */
	bool mine : 1;	 /* of the level */
	bool passes : 1; /* the filter, as far as the shape tells */
	bool has_ptr : 1;
	u32 site;
};

enum { PREFETCH_AHEAD = 16, SHAPES_AHEAD = 8 };

struct ks_walk {
	struct ks_audience *to;
	bool by_task; /* the filter asks for the task */
	u8 *counted;  /* by slot of the level: whether the views know the object */
	struct plan plans[KS_DB_BLOCK_EVENTS];
};

/* === Internals ============================================================================ */

static int plan_shape(struct ks_walk *w, const struct ks_db_shape *shape, struct plan *plan,
		      struct ks_diag *diag)
{
	const struct ks_event ev = {
		.kind = shape->kind,
		.site = shape->site,
		.cache = shape->cache,
		.bytes_alloc = shape->bytes_alloc,
	};
	int passes = 0;

	*plan = (struct plan){
		.op = shape->op,
		.kind = shape->kind,
		.how = (u8)ks_end_of(shape->op, shape->flags),
		.site = shape->site,
		.mine = shape->level == w->to->run.level,
		.has_ptr = shape->op != KS_OP_FREE && shape->kind != KS_LOST,
	};
	if (plan->mine && (shape->op == KS_OP_ALLOC || shape->op == KS_OP_ALLOC_UNPAIRED ||
			   shape->op == KS_OP_ALLOC_FAILED))
		passes = ks_selector_passes_shape(&w->to->selector, &ev, diag);
	plan->passes = passes > 0;
	return ks_min(passes, 0);
}

/* As far as the end of an object needs it: the time, the place and the task. */
static inline void fill_end(struct ks_walk *w, const struct ks_db_block *block, u32 i,
			    struct ks_event *ev)
{
	const struct plan *plan = &w->plans[block->shape_of[i]];
	const struct ks_db_task *task = &block->tasks[block->task_of[i]];

	*ev = (struct ks_event){
		.ts = block->ts[i],
		.site = plan->site,
		.cache = KS_NONE,
		.comm = task->comm,
		.gfp = KS_NONE,
		.stack = KS_NONE,
		.pid = task->pid,
		.node = -1,
		.cpu = (u16)task->cpu,
		.kind = plan->kind,
	};
}

/* The event as a reader would give it. */
static inline void fill_event(struct ks_walk *w, const struct ks_db_block *block, u32 i, u64 ptr,
			      struct ks_event *ev)
{
	w->to->run.shape = block->shape_of[i];
	w->to->run.task = block->task_of[i];
	*ev = ks_db_event(block, i, ptr);
}

static inline void prefetch(const struct ks_walk *w, u32 slot)
{
	size_t i;

	__builtin_prefetch(&w->counted[slot], 1);
	for (i = 0; i < w->to->views.len; i++)
		if (w->to->views.items[i]->ops->prefetch)
			w->to->views.items[i]->ops->prefetch(w->to->views.items[i], slot);
}

/* Whether an allocation of a shape that passes does so itself. */
static inline bool passes(const struct ks_walk *w, const struct ks_event *ev)
{
	return ks_selector_in_window(&w->to->selector, ev->ts) &&
	       (!w->by_task || ks_selector_passes_task(&w->to->selector, ev));
}

static inline int walk_event(struct ks_walk *w, const struct ks_db_block *block, u32 i, u32 slot,
			     u64 ptr, struct ks_diag *diag)
{
	const struct plan *plan = &w->plans[block->shape_of[i]];
	bool ends = slot != KS_NONE && w->counted[slot];
	struct ks_event ev;
	int err = 0;

	if (ends) {
		fill_end(w, block, i, &ev);
		w->counted[slot] = false;
		err = ks_audience_end(w->to, &ev, slot, plan->how, diag);
	}
	if (err || !plan->passes)
		return err;
	fill_event(w, block, i, ptr, &ev);
	if (!passes(w, &ev))
		return 0;
	if (slot != KS_NONE)
		w->counted[slot] = true;
	return ks_audience_begin(w->to, &ev, (struct ks_match){ .op = plan->op, .slot = slot },
				 diag);
}

/* === Public =============================================================================== */

int ks_walk_new(struct ks_audience *to, struct ks_db *db, struct ks_walk **ret_walk)
{
	struct ks_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->to = to;
	w->by_task = ks_filter_is_task(&to->selector.filter);
	w->counted = calloc((size_t)ks_db_slots(db) + 1, 1);
	if (!w->counted) {
		free(w);
		return -ENOMEM;
	}
	*ret_walk = w;
	return 0;
}

void ks_walk_free(struct ks_walk *w)
{
	if (!w)
		return;
	free(w->counted);
	free(w);
}

int ks_walk_block(struct ks_walk *w, const struct ks_db_block *block, struct ks_diag *diag)
{
	const u32 *slots = block->slots, *slots_end = slots + block->slots_len;
	const u64 *ptrs = block->ptrs;
	int err = 0;
	u32 i;

	w->to->run.block++;
	w->to->run.shapes = block->shapes_len;
	w->to->run.tasks = block->tasks_len;
	for (i = 0; i < block->shapes_len && !err; i++)
		err = plan_shape(w, &block->shapes[i], &w->plans[i], diag);
	for (i = 0; i < block->count && !err; i++) {
		const struct plan *plan = &w->plans[block->shape_of[i]];
		u64 ptr = *ptrs & -(u64)plan->has_ptr; /* no branch: nobody can tell what is next */
		u32 slot = KS_NONE;

		ptrs += plan->has_ptr;
		if (i + SHAPES_AHEAD < block->count) {
			u16 next = block->shape_of[i + SHAPES_AHEAD];

			__builtin_prefetch(&w->plans[next]);
			__builtin_prefetch(&block->shapes[next]);
		}
		if (plan->op == KS_OP_ALLOC || plan->op == KS_OP_FREE) {
			slot = *slots++;
			if (slots + PREFETCH_AHEAD < slots_end) /* nearly all are of one level */
				prefetch(w, slots[PREFETCH_AHEAD]);
		}
		if (plan->mine)
			err = walk_event(w, block, i, slot, ptr, diag);
	}
	w->to->run.shape = w->to->run.task = KS_NONE;
	return err;
}
