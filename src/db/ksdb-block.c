// SPDX-License-Identifier: LGPL-2.1-only
/* The blocks of a DB file, decoded and checked column by column. */
#include "db/ksdb.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "db/ksdb-format.h"
#include "db/planes.h"

/* === Data ================================================================================= */

/* The memory of a decoded block. Each thread that reads blocks has its own. */
struct ks_db_buffers {
	ZSTD_DCtx *zstd;
	u8 *stored;
	size_t stored_cap;
	u8 *table;
	size_t table_cap;
	u8 planes[KS_DB_BLOCK_EVENTS * 8];
	u16 shape_of[KS_DB_BLOCK_EVENTS], task_of[KS_DB_BLOCK_EVENTS];
	u64 ts[KS_DB_BLOCK_EVENTS];
	u32 narrow_ts[KS_DB_BLOCK_EVENTS];
	u32 slots[KS_DB_BLOCK_EVENTS + KS_DB_SLACK];
	u64 ptrs[KS_DB_BLOCK_EVENTS + KS_DB_SLACK];
	u64 has[KS_DB_BLOCK_EVENTS]; /* by shape: slots in the lower half, pointers in the upper */
	struct ks_db_shape shapes[KS_DB_BLOCK_EVENTS];
	struct ks_db_task tasks[KS_DB_BLOCK_EVENTS];
};

/* === Internals ============================================================================ */

/* A number that is stored plus one, so that 0 is none. */
static inline u32 id_of(u64 v, size_t limit, struct ks_bytes *b)
{
	b->overrun |= v > limit;
	return (u32)v - 1;
}

static int parse_tables(const struct ks_db *db, const u8 *data, size_t len,
			struct ks_db_block *block)
{
	struct ks_db_buffers *buf = block->buffers;
	/* Kept apart: what is written to the shapes might change the tables, for all that the compiler knows. */
	const size_t sites = db->names->sites.sites.len, caches = db->names->caches.strs.len;
	const size_t gfps = db->names->gfps.strs.len, stacks = db->names->stacks.strs.len;
	const size_t comms = db->names->comms.strs.len;
	struct ks_bytes bytes, *b = &bytes;
	u64 count, i;

	ks_bytes_init(b, data, len);
	count = ks_bytes_varint(b);
	if (count > KS_DB_BLOCK_EVENTS)
		return KS_EBADINPUT;
	for (i = 0; i < count && !b->overrun; i++) {
		struct ks_db_shape *shape = &buf->shapes[i];
		const u8 *head = ks_bytes_take(b, 4);
		u64 ids[4], rest[3];

		if (!head)
			return KS_EBADINPUT;
		shape->kind = head[0];
		shape->op = head[1];
		shape->level = head[2];
		shape->flags = head[3];
		ks_bytes_varints(b, 4, ids);
		shape->site = id_of(ids[0], sites, b);
		shape->cache = id_of(ids[1], caches, b);
		shape->gfp = id_of(ids[2], gfps, b);
		shape->stack = id_of(ids[3], stacks, b);
		ks_bytes_varints(b, 3, rest);
		shape->node = (s32)ks_unzigzag(rest[0]);
		shape->bytes_req = rest[1];
		shape->bytes_alloc = rest[2];
		if (shape->kind >= KS_KINDS || shape->op >= KS_OPS || shape->level >= KS_DB_LEVELS)
			return KS_EBADINPUT;
		/* What the engine never writes, and the accounts rely on. */
		if (shape->op == KS_OP_ALLOC || shape->op == KS_OP_ALLOC_UNPAIRED) {
			if (!ks_kind_is_alloc(shape->kind) || shape->bytes_req > UINT32_MAX ||
			    shape->bytes_alloc > UINT32_MAX)
				return KS_EBADINPUT;
		}
		if (shape->level != ks_kind_is_page(shape->kind))
			return KS_EBADINPUT;
	}
	block->shapes = buf->shapes;
	block->shapes_len = (u32)count;
	count = ks_bytes_varint(b);
	if (count > KS_DB_BLOCK_EVENTS)
		return KS_EBADINPUT;
	for (i = 0; i < count && !b->overrun; i++) {
		struct ks_db_task *task = &buf->tasks[i];

		u64 of[3];

		ks_bytes_varints(b, 3, of);
		task->pid = id_of(of[0], UINT32_MAX, b);
		task->comm = id_of(of[1], comms, b);
		task->cpu = (u32)ks_min(of[2], (u64)KS_CPU_UNKNOWN);
	}
	block->tasks = buf->tasks;
	block->tasks_len = (u32)count;
	return b->overrun || ks_bytes_left(b) ? KS_EBADINPUT : 0;
}

static bool all_below(const u16 *values, u32 count, u32 limit)
{
	u32 i, top = 0;

	for (i = 0; i < count; i++)
		top = ks_max(top, (u32)values[i]);
	return top < limit;
}

/* The events' shapes must ask for exactly the slots and pointers that there are. */
static bool counts_agree(const struct ks_db *db, const struct ks_db_block *block,
			 unsigned int columns)
{
	u64 *has = block->buffers->has, sum = 0;
	u32 i, top = 0;

	for (i = 0; i < block->shapes_len; i++) {
		const struct ks_db_shape *shape = &block->shapes[i];

		has[i] = ks_db_has_slot(shape->op) | (u64)ks_db_has_ptr(shape->op, shape->kind)
							     << 32;
	}
	for (i = 0; i < block->count; i++)
		sum += has[block->shape_of[i]];
	if ((u32)sum != block->slots_len || sum >> 32 != block->ptrs_len)
		return false;
	for (i = 0; i < block->slots_len && columns & KS_DB_SLOTS; i++)
		top = ks_max(top, block->slots[i]);
	return !block->slots_len || top < ks_db_slots(db);
}

static void decode_times(struct ks_db_buffers *buf, const struct ks_db_entry *e)
{
	u64 ts = e->first_ts;
	u32 i;

	if (e->wide_ts) {
		for (i = 0; i < e->info.count; i++)
			buf->ts[i] = ts += (u64)ks_unzigzag(buf->ts[i]);
		return;
	}
	for (i = 0; i < e->info.count; i++)
		buf->ts[i] = ts += (u64)ks_unzigzag(buf->narrow_ts[i]);
}

static int new_buffers(struct ks_db_block *block, struct ks_diag *diag)
{
	if (block->buffers)
		return 0;
	block->buffers = calloc(1, sizeof(*block->buffers));
	if (!block->buffers)
		return ks_diag_nomem(diag, "reading a DB");
	block->buffers->zstd = ZSTD_createDCtx();
	return block->buffers->zstd ? 0 : ks_diag_nomem(diag, "reading a DB");
}

/* === Public =============================================================================== */

int ks_db_block_read(struct ks_db *db, size_t i, unsigned int columns, struct ks_db_block *block,
		     struct ks_diag *diag)
{
	const struct ks_db_entry *e = &db->blocks.items[i];
	struct ks_db_buffers *buf;
	u64 at = e->info.offset;
	int col, err = new_buffers(block, diag);

	if (err)
		return err;
	buf = block->buffers;
	if (ks_reserve(buf->table, buf->table_cap, e->columns[KS_COL_SHAPES].raw + 1))
		return ks_diag_nomem(diag, "reading a DB");
	const struct {
		void *to;
		unsigned int width;
		bool wanted;
	} cols[KS_DB_COLUMNS] = {
		[KS_COL_SHAPES] = { buf->table, 1, true },
		[KS_COL_SHAPE_OF] = { buf->shape_of, 2, true },
		[KS_COL_TASK_OF] = { buf->task_of, 2, columns & KS_DB_TASKS },
		[KS_COL_TS] = { e->wide_ts ? (void *)buf->ts : (void *)buf->narrow_ts,
				e->wide_ts ? 8 : 4, columns & KS_DB_TIMES },
		[KS_COL_SLOT] = { buf->slots, 4, columns & KS_DB_SLOTS },
		[KS_COL_PTR] = { buf->ptrs, 8, columns & KS_DB_PTRS },
	};
	for (col = 0; col < KS_DB_COLUMNS; col++) {
		if (cols[col].wanted) {
			err = ks_db_read_frame(
				db, buf->zstd, at, &e->columns[col], &buf->stored, &buf->stored_cap,
				cols[col].width > 1 ? buf->planes : cols[col].to, "a block", diag);
			if (err)
				return err;
			if (cols[col].width > 1)
				ks_planes_join(buf->planes,
					       (size_t)e->columns[col].raw / cols[col].width,
					       cols[col].width, cols[col].to);
		}
		at += e->columns[col].stored;
	}
	block->count = e->info.count;
	block->shape_of = buf->shape_of;
	block->task_of = buf->task_of;
	block->ts = buf->ts;
	block->slots = buf->slots;
	block->slots_len = (u32)(e->columns[KS_COL_SLOT].raw / 4);
	block->ptrs = buf->ptrs;
	block->ptrs_len = (u32)(e->columns[KS_COL_PTR].raw / 8);
	if (parse_tables(db, buf->table, (size_t)e->columns[KS_COL_SHAPES].raw, block) ||
	    !all_below(buf->shape_of, block->count, block->shapes_len) ||
	    ((columns & KS_DB_TASKS) && !all_below(buf->task_of, block->count, block->tasks_len)) ||
	    !counts_agree(db, block, columns))
		return ks_db_damaged(db, e->info.offset, "the tables of a block make no sense",
				     diag);
	if (columns & KS_DB_TIMES)
		decode_times(buf, e);
	if (columns & KS_DB_PTRS) {
		u64 ptr = 0;
		u32 k;

		for (k = 0; k < block->ptrs_len; k++)
			buf->ptrs[k] = ptr ^= buf->ptrs[k];
	}
	return 0;
}

void ks_db_block_deinit(struct ks_db_block *block)
{
	struct ks_db_buffers *buf = block->buffers;

	if (!buf)
		return;
	ZSTD_freeDCtx(buf->zstd);
	free(buf->stored);
	free(buf->table);
	free(buf);
	memset(block, 0, sizeof(*block));
}
