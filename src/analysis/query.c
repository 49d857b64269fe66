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

/* What has to be done for an event of a shape. */
struct plan {
	u8 op;
	u8 level;
	bool passes;
	u32 group; /* KS_NONE: it depends on the task */
	u32 bytes_req, bytes_alloc;
};

/* An object that counts; group KS_NONE = none in this slot. */
struct counted {
	u32 group;
	u32 bytes_req, bytes_alloc;
};

enum { PREFETCH_AHEAD = 16 };

struct query {
	struct ks_account *account;
	struct counted *in_slot[KS_LEVELS];
	struct plan plans[KS_DB_BLOCK_EVENTS];
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

static int plan_block(struct query *q, const struct ks_db_block *block)
{
	struct ks_account *acc = q->account;
	u32 i;

	for (i = 0; i < block->shapes_len; i++) {
		const struct ks_db_shape *shape = &block->shapes[i];
		struct plan *plan = &q->plans[i];
		struct ks_group_key key = {
			.kind = shape->kind,
			.site = shape->site,
			.cache = shape->cache,
			.gfp = shape->gfp,
			.node = shape->node,
			.stack = shape->stack,
			.bytes_alloc = shape->bytes_alloc,
		};
		int passes = 0;

		*plan = (struct plan){
			.op = shape->op,
			.level = shape->level,
			.group = KS_NONE,
			.bytes_req = (u32)shape->bytes_req,
			.bytes_alloc = (u32)shape->bytes_alloc,
		};
		if (shape->op == KS_OP_ALLOC || shape->op == KS_OP_ALLOC_FAILED ||
		    shape->op == KS_OP_ALLOC_UNPAIRED)
			passes = ks_account_passes_shape(acc, &key);
		if (passes < 0)
			return passes;
		plan->passes = passes;
		if (passes && !ks_by_is_task(acc->by)) {
			plan->group = ks_account_group(acc, &key);
			if (plan->group == KS_NONE)
				return -ENOMEM;
		}
	}
	return 0;
}

static struct ks_group_key task_key(const struct ks_db_block *block, u32 i)
{
	const struct ks_db_task *task = &block->tasks[block->task_of[i]];

	return (struct ks_group_key){ .pid = task->pid, .comm = task->comm, .cpu = task->cpu };
}

static u32 task_group(struct query *q, const struct ks_db_block *block, u32 i)
{
	struct ks_group_key key = task_key(block, i);

	return ks_account_group(q->account, &key);
}

/* Whether an allocation of a shape that passes does so itself. */
static inline bool passes(struct query *q, const struct ks_db_block *block, u32 i)
{
	struct ks_group_key key;

	if (!ks_account_in_window(q->account, block->ts[i]))
		return false;
	if (!ks_filter_is_task(&q->account->filter))
		return true;
	key = task_key(block, i);
	return ks_account_passes_task(q->account, &key);
}

static inline void end_counted(struct query *q, struct counted *obj, u8 level, u64 ts, bool implied)
{
	if (obj->group == KS_NONE)
		return;
	if (ks_account_in_window(q->account, ts))
		ks_account_end(q->account, level, obj->group, obj->bytes_req, obj->bytes_alloc, ts,
			       implied);
	obj->group = KS_NONE;
}

static int run_block(struct query *q, const struct ks_db_block *block)
{
	struct ks_account *acc = q->account;
	const u32 *slot = block->slots, *slots_end = slot + block->slots_len;
	u32 i;

	for (i = 0; i < block->count; i++) {
		const struct plan *plan = &q->plans[block->shape_of[i]];
		struct counted *obj;
		u64 ts = block->ts[i];
		u32 group;

		if (slot + PREFETCH_AHEAD < slots_end) /* nearly all are slab objects */
			__builtin_prefetch(&q->in_slot[KS_SLAB][slot[PREFETCH_AHEAD]], 1);
		switch (plan->op) {
		case KS_OP_FREE:
			end_counted(q, &q->in_slot[plan->level][*slot++], plan->level, ts, false);
			break;
		case KS_OP_ALLOC:
			obj = &q->in_slot[plan->level][*slot++];
			end_counted(q, obj, plan->level, ts, true);
			if (!plan->passes || !passes(q, block, i))
				break;
			group = plan->group != KS_NONE ? plan->group : task_group(q, block, i);
			if (unlikely(group == KS_NONE))
				return -ENOMEM;
			*obj = (struct counted){ group, plan->bytes_req, plan->bytes_alloc };
			ks_account_alloc(acc, plan->level, group, plan->bytes_req,
					 plan->bytes_alloc, ts);
			break;
		case KS_OP_ALLOC_FAILED:
		case KS_OP_ALLOC_UNPAIRED:
			if (!plan->passes || !passes(q, block, i))
				break;
			group = plan->group != KS_NONE ? plan->group : task_group(q, block, i);
			if (unlikely(group == KS_NONE))
				return -ENOMEM;
			ks_account_other(acc, plan->level, group, plan->op == KS_OP_ALLOC_FAILED,
					 plan->bytes_req, plan->bytes_alloc, ts);
			break;
		default:
			break;
		}
	}
	return 0;
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
		    const struct ks_frame_filter *blame, u64 first_ts, bool ordered,
		    struct ks_account *account, struct ks_diag *diag)
{
	unsigned int columns = KS_DB_TIMES | KS_DB_SLOTS;
	size_t blocks = ks_db_blocks(db), i;
	struct ks_db_block block = { 0 };
	struct query *q;
	int err = 0;

	if (new_query(&q, db, account))
		return ks_diag_nomem(diag, "asking a DB");
	if (ks_by_is_task(account->by) || ks_filter_is_task(&account->filter))
		columns |= KS_DB_TASKS;
	ks_account_set_start(account, first_ts);
	for (i = 0; i < blocks && !err; i++) {
		struct ks_db_block_info info = ks_db_block_info(db, i);

		if (ordered && (info.max_ts < account->since || info.min_ts >= account->until))
			continue;
		err = ks_db_block_read(db, i, columns, &block, diag);
		if (!err && ((blame && ks_blame_shapes(blame, ks_db_names(db), block.shapes,
						       block.shapes_len)) ||
			     plan_block(q, &block) || run_block(q, &block)))
			err = ks_account_error(account, diag);
		if (!err && opts->progress && opts->progress(opts->progress_ctx, i, blocks))
			err = ks_diag_set(diag, -EINTR, "interrupted");
	}
	ks_db_block_deinit(&block);
	free(q->in_slot[0]);
	free(q->in_slot[1]);
	free(q);
	return err;
}
