// SPDX-License-Identifier: LGPL-2.1-only
/* A DB file as a plain stream of events, for whoever does not care that they are matched. */
#include "source/fmt-ksdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/ksdb-format.h"

/* === Data ================================================================================= */

enum { BATCH = 1024 };

struct ksdb_trace {
	struct ks_source base;
	struct ks_db *db;
	size_t next_block;
	struct ks_db_block block;
	u32 at, slots_at, ptrs_at; /* how far the block is through */
	u64 *ptr_in[KS_DB_LEVELS]; /* by slot: where its object is */
	struct ks_event events[BATCH];
};

/* === Internals ============================================================================ */

/* The next events of the block; their number. */
static u32 unpack_events(struct ksdb_trace *kt)
{
	const struct ks_db_block *block = &kt->block;
	const u32 *slot = block->slots + kt->slots_at;
	const u64 *ptr = block->ptrs + kt->ptrs_at;
	struct ks_event *ev = kt->events;
	u32 i, end = ks_min(kt->at + BATCH, block->count);

	for (i = kt->at; i < end; i++) {
		const struct ks_db_shape *shape = &block->shapes[block->shape_of[i]];
		const struct ks_db_task *task = &block->tasks[block->task_of[i]];
		u64 address = 0;

		if (ks_db_has_ptr(shape->op, shape->kind))
			address = *ptr++;
		if (shape->op == KS_OP_ALLOC)
			kt->ptr_in[shape->level][*slot++] = address;
		else if (shape->op == KS_OP_FREE)
			address = kt->ptr_in[shape->level][*slot++];
		*ev++ = (struct ks_event){
			.ts = block->ts[i],
			.ptr = address,
			.bytes_req = shape->bytes_req,
			.bytes_alloc = shape->bytes_alloc,
			.site = shape->site,
			.cache = shape->cache,
			.comm = task->comm,
			.gfp = shape->gfp,
			.stack = shape->stack,
			.pid = task->pid,
			.node = shape->node,
			.cpu = (u16)task->cpu,
			.kind = shape->kind,
			.flags = shape->flags,
		};
	}
	kt->at = end;
	kt->slots_at = (u32)(slot - block->slots);
	kt->ptrs_at = (u32)(ptr - block->ptrs);
	return (u32)(ev - kt->events);
}

static int next_block(struct ksdb_trace *kt, struct ks_diag *diag)
{
	unsigned int columns = KS_DB_TASKS | KS_DB_TIMES | KS_DB_SLOTS | KS_DB_PTRS;
	int err = ks_db_block_read(kt->db, kt->next_block, columns, &kt->block, diag);

	if (err)
		return err;
	kt->next_block++;
	kt->at = kt->slots_at = kt->ptrs_at = 0;
	if (kt->base.opts.helpers && ks_db_skip_helpers(kt->base.opts.helpers, &kt->base.names,
							kt->block.shapes, kt->block.shapes_len))
		return ks_diag_nomem(diag, "reading a DB");
	return 0;
}

static int ksdb_next(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct ksdb_trace *kt = ks_container_of(source, struct ksdb_trace, base);
	int err;

	*ret_batch = (struct ks_batch){ NULL, 0 };
	if (kt->at == kt->block.count) {
		if (kt->next_block == ks_db_blocks(kt->db))
			return 0;
		err = next_block(kt, diag);
		if (err)
			return err;
	}
	*ret_batch = (struct ks_batch){ kt->events, unpack_events(kt) };
	return 0;
}

static void ksdb_close(struct ks_source *source)
{
	struct ksdb_trace *kt = ks_container_of(source, struct ksdb_trace, base);
	int level;

	for (level = 0; level < KS_DB_LEVELS; level++)
		free(kt->ptr_in[level]);
	ks_db_block_deinit(&kt->block);
	ks_db_free(kt->db);
	ks_source_free(source);
}

static void ksdb_progress(struct ks_source *source, u64 *ret_done, u64 *ret_total)
{
	struct ksdb_trace *kt = ks_container_of(source, struct ksdb_trace, base);

	*ret_done = kt->next_block;
	*ret_total = ks_db_blocks(kt->db);
}

static const struct ks_source_ops ksdb_ops = {
	.next = ksdb_next,
	.close = ksdb_close,
	.progress = ksdb_progress,
};

/* The names with the numbers that the DB gave them. */
static int copy_names(struct ks_names *to, const struct ks_names *from)
{
	const struct ks_sites *src_sites[] = { &from->sites, &from->frames };
	struct ks_sites *dst_sites[] = { &to->sites, &to->frames };
	const struct ks_intern *src[] = { &from->caches, &from->comms, &from->gfps, &from->stacks };
	struct ks_intern *dst[] = { &to->caches, &to->comms, &to->gfps, &to->stacks };
	size_t table, i;

	for (table = 0; table < ARRAY_SIZE(src_sites); table++)
		for (i = 0; i < src_sites[table]->texts.strs.len; i++) {
			struct ks_str s = ks_intern_get(&src_sites[table]->texts, (u32)i);

			if (ks_sites_add(dst_sites[table], s.s, s.len) == KS_NONE)
				return -ENOMEM;
		}
	for (table = 0; table < ARRAY_SIZE(src); table++)
		for (i = 0; i < src[table]->strs.len; i++) {
			struct ks_str s = ks_intern_get(src[table], (u32)i);

			if (ks_intern_add(dst[table], s.s, s.len) == KS_NONE)
				return -ENOMEM;
		}
	return 0;
}

static int copy_nodes(struct ks_source_info *info, const struct ks_db *db)
{
	size_t len;
	const u16 *nodes = ks_db_nodes(db, &len);

	if (ks_vec_reserve(&info->cpu_nodes, len))
		return -ENOMEM;
	if (len)
		memcpy(info->cpu_nodes.items, nodes, len * sizeof(*nodes));
	info->cpu_nodes.len = len;
	return 0;
}

/* === Public =============================================================================== */

int ks_ksdb_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag)
{
	struct ksdb_trace *kt = ks_source_new(sizeof(*kt), &ksdb_ops, "kmemscope DB", opts);
	int level, err = 0;

	if (!kt)
		err = ks_diag_nomem(diag, "opening a DB");
	if (!err && !ks_db_is_db(ks_input_name(input)))
		err = ks_diag_set(
			diag, KS_EBADINPUT,
			"%s: a DB is read from a plain file, not compressed and not from a pipe",
			ks_input_name(input));
	if (!err)
		err = ks_db_open(ks_input_name(input), &kt->db, diag);
	ks_input_close(input);
	if (!kt)
		return err;
	for (level = 0; level < KS_DB_LEVELS && !err; level++) {
		kt->ptr_in[level] = calloc((size_t)ks_db_slots(kt->db) + 1, sizeof(u64));
		if (!kt->ptr_in[level])
			err = ks_diag_nomem(diag, "opening a DB");
	}
	if (!err && (copy_names(&kt->base.names, ks_db_names(kt->db)) ||
		     copy_nodes(&kt->base.info, kt->db)))
		err = ks_diag_nomem(diag, "opening a DB");
	if (!err)
		kt->base.info.host = *ks_db_host(kt->db);
	if (err) {
		ksdb_close(&kt->base);
		return err;
	}
	*ret_source = &kt->base;
	return 0;
}
