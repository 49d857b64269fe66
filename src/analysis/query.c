// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Asking a DB. Its events are matched already and name their objects by slot, and what the filter
 * and the grouping need is the same for all events of a shape: so the work for one event is a look
 * into a small table and a few additions.
 */
#include "analysis/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view.h"

/* === Data ================================================================================= */

/* An object that counts; group KS_NONE = none in this slot. */
struct counted {
	u32 group;
	u32 bytes_req, bytes_alloc;
};

/* What has to be done for an event of a shape. */
struct plan {
	struct counted next; /* what it puts into the slot, if its task and time pass too */
	u8 op;
	u8 level;
	u8 how; /* enum ks_end, of the object that was in the slot */
	bool has_slot : 1;
	bool is_other : 1; /* an allocation that no slot has */
};

_Static_assert(sizeof(struct plan) == 16,
	       "one load for each event, of a table that stays in the cache");

/* The same for those of a task. */
struct task_plan {
	u32 group; /* KS_NONE: that of the shape */
	bool passes;
};

enum { PREFETCH_AHEAD = KS_DB_SLACK - 1 };

struct ks_query {
	struct ks_account *account;
	struct ks_selector *selector;
	struct counted *in_slot[KS_LEVELS]; /* by slot + 1; the first is for events without one */
	bool by_task;
	bool untimed;		   /* neither the window nor the sums need times */
	struct ks_map64 pairs;	   /* of a block: shape and task, where groups depend on both */
	KS_VEC(u32) group_of_pair; /* as these are numbered */
	bool failed;		   /* to find the group of a pair */
	struct plan plans[KS_DB_BLOCK_EVENTS];
	struct task_plan task_plans[KS_DB_BLOCK_EVENTS];
};

/* === Internals ============================================================================ */

static int plan_shape(struct ks_query *q, const struct ks_db_shape *shape, struct plan *plan,
		      struct ks_diag *diag)
{
	struct ks_event ev = {
		.kind = shape->kind,
		.site = shape->site,
		.cache = shape->cache,
		.gfp = shape->gfp,
		.node = shape->node,
		.stack = shape->stack,
		.bytes_alloc = shape->bytes_alloc,
	};
	int passes;

	*plan = (struct plan){
		.next = { KS_NONE, (u32)shape->bytes_req, (u32)shape->bytes_alloc },
		.op = shape->op,
		.level = shape->level,
		.how = (u8)ks_end_of(shape->op, shape->flags),
		.has_slot = shape->op == KS_OP_ALLOC || shape->op == KS_OP_FREE,
		.is_other = shape->op == KS_OP_ALLOC_FAILED || shape->op == KS_OP_ALLOC_UNPAIRED,
	};
	if (shape->op != KS_OP_ALLOC && !plan->is_other)
		return 0;
	passes = ks_selector_passes_shape(q->selector, &ev, diag);
	if (passes <= 0)
		return passes;
	if (q->account->grouping.by == KS_BY_SITE)
		return ks_account_site(q->account, &ev, &plan->next.group, diag);
	if (!ks_by_is_task(q->account->grouping.by) && !ks_by_is_both(q->account->grouping.by))
		return ks_account_group(q->account, &ev, &plan->next.group, diag);
	plan->next.group = 0; /* groups depend on tasks: any number says that it passes */
	return 0;
}

static int plan_task(struct ks_query *q, const struct ks_db_task *task, struct task_plan *plan,
		     struct ks_diag *diag)
{
	struct ks_event ev = { .pid = task->pid, .comm = task->comm, .cpu = (u16)task->cpu };

	plan->group = KS_NONE;
	plan->passes = ks_selector_passes_task(q->selector, &ev);
	if (!plan->passes || !ks_by_is_task(q->account->grouping.by))
		return 0;
	return ks_account_group(q->account, &ev, &plan->group, diag);
}

/* The group of an event by its shape and its task. They are few in a block; each is asked for once. */
static u32 group_of_pair(struct ks_query *q, const struct ks_db_block *block, u32 i)
{
	u32 pair = ks_map64_add(&q->pairs, (u64)block->shape_of[i] << 16 | block->task_of[i]),
	    *slot;
	struct ks_event ev;

	if (pair < q->group_of_pair.len)
		return q->group_of_pair.items[pair];
	ev = ks_db_event(block, i, 0);
	slot = pair == KS_NONE ? NULL : ks_vec_push(&q->group_of_pair);
	if (!slot || ks_account_group(q->account, &ev, slot, NULL)) {
		q->failed = true;
		return KS_NONE;
	}
	return *slot;
}

static int plan_block(struct ks_query *q, const struct ks_db_block *block, struct ks_diag *diag)
{
	int err = 0;
	u32 i;

	ks_map64_clear(&q->pairs);
	q->group_of_pair.len = 0;
	for (i = 0; i < block->shapes_len && !err; i++)
		err = plan_shape(q, &block->shapes[i], &q->plans[i], diag);
	for (i = 0; q->by_task && i < block->tasks_len && !err; i++)
		err = plan_task(q, &block->tasks[i], &q->task_plans[i], diag);
	return err;
}

/* The group of an event whose shape passes. */
static inline u32 group_by_task(struct ks_query *q, const struct ks_db_block *block, u32 i,
				u32 group)
{
	const struct task_plan *plan = &q->task_plans[block->task_of[i]];

	if (!plan->passes)
		return KS_NONE;
	if (unlikely(ks_by_is_both(q->account->grouping.by)))
		return group_of_pair(q, block, i);
	return plan->group != KS_NONE ? plan->group : group;
}

/*
 * There is no telling what the next event is, so as little as can be is a branch on it: all exchange
 * the content of a slot. Two constants: @simple, neither time nor task decide; @untimed, all times are 0.
 */
ks_inline void run_events(struct ks_query *q, const struct ks_db_block *block, bool simple,
			  bool untimed)
{
	struct counted *const in_slot[KS_LEVELS] = { q->in_slot[KS_SLAB], q->in_slot[KS_PAGES] };
	const u32 *slot = block->slots;
	const u16 *shape_of = block->shape_of;
	const u64 *times = block->ts;
	struct ks_account *acc = q->account;
	u32 i, count = block->count;

	for (i = 0; i < count; i++) {
		const struct plan *plan = &q->plans[shape_of[i]];
		struct counted next = plan->next, *obj, old;
		u64 ts = untimed ? 0 : times[i];
		bool in_window = simple || untimed || ks_selector_in_window(q->selector, ts);

		/* Nearly all are slab objects. */
		__builtin_prefetch(&in_slot[KS_SLAB][(size_t)slot[PREFETCH_AHEAD] + 1], 1);
		if (!in_window)
			next.group = KS_NONE;
		else if (!simple && q->by_task && next.group != KS_NONE)
			next.group = group_by_task(q, block, i, next.group);
		if (unlikely(plan->is_other)) {
			if (next.group != KS_NONE)
				ks_account_other(acc, plan->level, next.group,
						 plan->op == KS_OP_ALLOC_FAILED, next.bytes_req,
						 next.bytes_alloc, ts);
			continue;
		}
		obj = &in_slot[plan->level][plan->has_slot * (*slot + 1)];
		slot += plan->has_slot;
		old = *obj;
		*obj = next;
		if ((old.group != KS_NONE) & in_window)
			ks_tally_end(&acc->tally[plan->level], old.group, old.bytes_req,
				     old.bytes_alloc, ts, plan->how);
		if (next.group != KS_NONE)
			ks_tally_alloc(&acc->tally[plan->level], next.group, next.bytes_req,
				       next.bytes_alloc, ts);
	}
}

/* === Public =============================================================================== */

int ks_query_new(struct ks_account *account, struct ks_selector *selector, struct ks_db *db,
		 bool untimed, struct ks_query **ret_query)
{
	struct ks_query *q = calloc(1, sizeof(*q));
	size_t slots = (size_t)ks_db_slots(db) + 1, i;
	int level;

	if (!q)
		return -ENOMEM;
	q->account = account;
	q->selector = selector;
	q->by_task = ks_by_is_task(account->grouping.by) || ks_by_is_both(account->grouping.by) ||
		     ks_filter_is_task(&selector->filter);
	q->untimed = untimed && !selector->filter.since.set && !selector->filter.until.set;
	if (ks_map64_init(&q->pairs)) {
		free(q);
		return -ENOMEM;
	}
	for (level = 0; level < KS_LEVELS; level++) {
		q->in_slot[level] = malloc(slots * sizeof(struct counted));
		if (!q->in_slot[level]) {
			ks_query_free(q);
			return -ENOMEM;
		}
		for (i = 0; i < slots; i++)
			q->in_slot[level][i].group = KS_NONE;
	}
	*ret_query = q;
	return 0;
}

void ks_query_free(struct ks_query *q)
{
	if (!q)
		return;
	ks_map64_deinit(&q->pairs);
	ks_vec_free(&q->group_of_pair);
	free(q->in_slot[KS_SLAB]);
	free(q->in_slot[KS_PAGES]);
	free(q);
}

unsigned int ks_query_columns(const struct ks_query *q)
{
	return KS_DB_SLOTS | (q->untimed ? 0 : KS_DB_TIMES) | (q->by_task ? KS_DB_TASKS : 0);
}

int ks_query_block(struct ks_query *q, const struct ks_db_block *block,
		   const struct ks_db_block_info *info, struct ks_diag *diag)
{
	int err = plan_block(q, block, diag);

	if (err)
		return err;
	if (!q->by_task && q->untimed)
		run_events(q, block, true, true);
	else if (q->untimed)
		run_events(q, block, false, true);
	else if (!q->by_task && ks_selector_in_window(q->selector, info->min_ts) &&
		 ks_selector_in_window(q->selector, info->max_ts))
		run_events(q, block, true, false);
	else
		run_events(q, block, false, false);
	return q->failed ? ks_diag_nomem(diag, "accounting events") : 0;
}
