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

#include "base/bytes.h"
#include "base/pack.h"

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
	bool has_slot;
	bool is_other; /* an allocation that no slot has */
};

/* The same for those of a task. */
struct task_plan {
	u32 group; /* KS_NONE: that of the shape */
	bool passes;
};

enum { PREFETCH_AHEAD = 16 };

struct query {
	struct ks_account *account;
	struct counted *in_slot[KS_LEVELS]; /* by slot + 1; the first is for events without one */
	bool by_task;
	struct plan plans[KS_DB_BLOCK_EVENTS];
	struct task_plan task_plans[KS_DB_BLOCK_EVENTS];
};

/* === Internals: the summary's tally ======================================================= */

enum { STAT_FIELDS = sizeof(struct ks_stat) / sizeof(u64) };

static void pack_stat(struct ks_strbuf *sb, const struct ks_stat *stat)
{
	u64 fields[STAT_FIELDS];
	size_t i;

	memcpy(fields, stat, sizeof(fields));
	for (i = 0; i < STAT_FIELDS; i++)
		ks_pack_varint(sb, fields[i]);
}

static void unpack_stat(struct ks_bytes *b, struct ks_stat *stat)
{
	u64 fields[STAT_FIELDS];
	size_t i;

	for (i = 0; i < STAT_FIELDS; i++)
		fields[i] = ks_bytes_varint(b);
	memcpy(stat, fields, sizeof(fields));
}

/* === Internals: blocks ==================================================================== */

static int plan_shape(struct query *q, const struct ks_db_shape *shape, struct plan *plan)
{
	struct ks_account *acc = q->account;
	struct ks_group_key key = {
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
		.has_slot = shape->op == KS_OP_ALLOC || shape->op == KS_OP_FREE,
		.is_other = shape->op == KS_OP_ALLOC_FAILED || shape->op == KS_OP_ALLOC_UNPAIRED,
	};
	if (shape->op != KS_OP_ALLOC && !plan->is_other)
		return 0;
	passes = ks_account_passes_shape(acc, &key);
	if (passes <= 0)
		return passes;
	/* Where groups are tasks, any number says that it passes. */
	plan->next.group = ks_by_is_task(acc->by) ? 0 : ks_account_group(acc, &key);
	return plan->next.group == KS_NONE ? -ENOMEM : 0;
}

static int plan_task(struct query *q, const struct ks_db_task *task, struct task_plan *plan)
{
	struct ks_account *acc = q->account;
	struct ks_group_key key = { .pid = task->pid, .comm = task->comm, .cpu = task->cpu };

	plan->group = KS_NONE;
	plan->passes = ks_account_passes_task(acc, &key);
	if (!plan->passes || !ks_by_is_task(acc->by))
		return 0;
	plan->group = ks_account_group(acc, &key);
	return plan->group == KS_NONE ? -ENOMEM : 0;
}

static int plan_block(struct query *q, const struct ks_db_block *block)
{
	int err = 0;
	u32 i;

	for (i = 0; i < block->shapes_len && !err; i++)
		err = plan_shape(q, &block->shapes[i], &q->plans[i]);
	for (i = 0; q->by_task && i < block->tasks_len && !err; i++)
		err = plan_task(q, &block->tasks[i], &q->task_plans[i]);
	return err;
}

/* The group of an event whose shape passes. */
static inline u32 group_by_task(const struct query *q, const struct ks_db_block *block, u32 i,
				u32 group)
{
	const struct task_plan *plan = &q->task_plans[block->task_of[i]];

	if (!plan->passes)
		return KS_NONE;
	return plan->group != KS_NONE ? plan->group : group;
}

/*
 * There is no telling what the next event is, so as little as can be is a branch on it: all exchange
 * the content of a slot. @simple is a constant: neither time nor task decide.
 */
ks_inline void run_events(struct query *q, const struct ks_db_block *block, bool simple)
{
	struct counted *const in_slot[KS_LEVELS] = { q->in_slot[KS_SLAB], q->in_slot[KS_PAGES] };
	const u32 *slot = block->slots, *slots_end = slot + block->slots_len;
	const u16 *shape_of = block->shape_of;
	const u64 *times = block->ts;
	struct ks_account *acc = q->account;
	u32 i, count = block->count;

	for (i = 0; i < count; i++) {
		const struct plan *plan = &q->plans[shape_of[i]];
		struct counted next = plan->next, *obj, old;
		u64 ts = times[i];
		bool in_window = simple || ks_account_in_window(acc, ts);

		if (slot + PREFETCH_AHEAD < slots_end) /* nearly all are slab objects */
			__builtin_prefetch(&in_slot[KS_SLAB][slot[PREFETCH_AHEAD] + 1], 1);
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
			ks_account_end(acc, plan->level, old.group, old.bytes_req, old.bytes_alloc,
				       ts, plan->op == KS_OP_ALLOC);
		if (next.group != KS_NONE)
			ks_account_alloc(acc, plan->level, next.group, next.bytes_req,
					 next.bytes_alloc, ts);
	}
}

static void run_block(struct query *q, const struct ks_db_block *block,
		      const struct ks_db_block_info *info)
{
	if (!q->by_task && ks_account_in_window(q->account, info->min_ts) &&
	    ks_account_in_window(q->account, info->max_ts))
		run_events(q, block, true);
	else
		run_events(q, block, false);
}

static int new_query(struct query **ret, struct ks_db *db, struct ks_account *account)
{
	struct query *q = calloc(1, sizeof(*q));
	size_t slots = (size_t)ks_db_slots(db) + 1, i;
	int level;

	if (!q)
		return -ENOMEM;
	q->account = account;
	for (level = 0; level < KS_LEVELS; level++) {
		q->in_slot[level] = malloc(slots * sizeof(struct counted));
		if (!q->in_slot[level]) {
			free(q->in_slot[0]);
			free(q);
			return -ENOMEM;
		}
		for (i = 0; i < slots; i++)
			q->in_slot[level][i].group = KS_NONE;
	}
	*ret = q;
	return 0;
}

/* === Public =============================================================================== */

void ks_tally_pack(const struct ks_account *acc, struct ks_strbuf *sb)
{
	int level;
	size_t i;

	for (level = 0; level < KS_LEVELS; level++) {
		const struct ks_tally *tally = &acc->tally[level];
		struct ks_stat total = ks_tally_total(tally);

		pack_stat(sb, &total);
		ks_pack_varint(sb, tally->groups.len);
		for (i = 0; i < tally->groups.len; i++) {
			ks_pack_varint(sb, (u32)(acc->keys.keys.items[i] + 1)); /* the site */
			pack_stat(sb, &tally->groups.items[i]);
		}
	}
}

int ks_tally_unpack(struct ks_account *acc, struct ks_bytes *b)
{
	int level;

	for (level = 0; level < KS_LEVELS; level++) {
		struct ks_stat total;
		u64 count, i;

		unpack_stat(b, &total);
		count = ks_bytes_varint(b);
		for (i = 0; i < count && !b->overrun; i++) {
			struct ks_group_key key = { .site = (u32)ks_bytes_varint(b) - 1 };
			struct ks_stat stat;
			u32 group;

			unpack_stat(b, &stat);
			if (key.site != KS_NONE && key.site >= acc->names->sites.sites.len)
				return KS_EBADINPUT;
			group = ks_account_group(acc, &key);
			if (group == KS_NONE)
				return -ENOMEM;
			acc->tally[level].groups.items[group] = stat;
		}
		acc->tally[level].total = total;
	}
	return b->overrun ? KS_EBADINPUT : 0;
}

int ks_query_blocks(struct ks_db *db, const struct ks_analysis_opts *opts,
		    const struct ks_frame_filter *helpers, u64 first_ts, bool ordered,
		    struct ks_account *account, struct ks_diag *diag)
{
	unsigned int columns = KS_DB_TIMES | KS_DB_SLOTS;
	size_t blocks = ks_db_blocks(db), i;
	struct ks_db_block block = { 0 };
	struct query *q;
	int err = 0;

	if (new_query(&q, db, account))
		return ks_diag_nomem(diag, "asking a DB");
	q->by_task = ks_by_is_task(account->by) || ks_filter_is_task(&account->filter);
	if (q->by_task)
		columns |= KS_DB_TASKS;
	ks_account_set_start(account, first_ts);
	for (i = 0; i < blocks && !err; i++) {
		struct ks_db_block_info info = ks_db_block_info(db, i);

		if (ordered && (info.max_ts < account->since || info.min_ts >= account->until))
			continue;
		err = ks_db_block_read(db, i, columns, &block, diag);
		if (!err && ((helpers && ks_db_skip_helpers(helpers, ks_db_names(db), block.shapes,
							    block.shapes_len)) ||
			     plan_block(q, &block)))
			err = ks_account_error(account, diag);
		if (!err)
			run_block(q, &block, &info);
		if (!err && opts->progress && opts->progress(opts->progress_ctx, i, blocks))
			err = ks_diag_set(diag, -EINTR, "interrupted");
	}
	ks_db_block_deinit(&block);
	free(q->in_slot[0]);
	free(q->in_slot[1]);
	free(q);
	return err;
}
