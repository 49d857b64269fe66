// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A DB file as a source: of matches, which are in its blocks, and of plain events for whoever does not
 * care that they are matched.
 */
#include "source/fmt-ksdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/ksdb-format.h"

/* === Data ================================================================================= */

enum { BATCH = 1024 };

struct ksdb_trace {
	struct ks_source base;
	struct ks_input *input;
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
		u64 address = 0;

		if (ks_db_has_ptr(shape->op, shape->kind))
			address = *ptr++;
		if (shape->op == KS_OP_ALLOC)
			kt->ptr_in[shape->level][*slot++] = address;
		else if (shape->op == KS_OP_FREE)
			address = kt->ptr_in[shape->level][*slot++];
		*ev++ = ks_db_event(block, i, address);
	}
	kt->at = end;
	kt->slots_at = (u32)(slot - block->slots);
	kt->ptrs_at = (u32)(ptr - block->ptrs);
	return (u32)(ev - kt->events);
}

static int next_block(struct ksdb_trace *kt, struct ks_diag *diag)
{
	unsigned int columns = KS_DB_TASKS | KS_DB_TIMES | KS_DB_SLOTS | KS_DB_PTRS;
	int err = ks_db_block_read(kt->base.db, kt->next_block, columns, &kt->block, diag);

	if (err)
		return err;
	kt->next_block++;
	kt->at = kt->slots_at = kt->ptrs_at = 0;
	if (kt->base.opts.helpers && ks_db_skip_helpers(kt->base.opts.helpers, &kt->base.names,
							kt->block.shapes, kt->block.shapes_len))
		return ks_diag_nomem(diag, "reading a DB");
	return 0;
}

/* Only whoever asks for events needs to know where objects are. */
static int make_room(struct ksdb_trace *kt, struct ks_diag *diag)
{
	int level;

	for (level = 0; level < KS_DB_LEVELS; level++) {
		kt->ptr_in[level] = calloc((size_t)ks_db_slots(kt->base.db) + 1, sizeof(u64));
		if (!kt->ptr_in[level])
			return ks_diag_nomem(diag, "reading a DB");
	}
	return 0;
}

static int ksdb_next(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct ksdb_trace *kt = ks_container_of(source, struct ksdb_trace, base);
	int err;

	*ret_batch = (struct ks_batch){ NULL, 0 };
	if (!kt->ptr_in[0]) {
		err = make_room(kt, diag);
		if (err)
			return err;
	}
	if (kt->at == kt->block.count) {
		if (kt->next_block == ks_db_blocks(kt->base.db))
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
	ks_db_free(kt->base.db);
	ks_input_close(kt->input);
	ks_source_free(source);
}

static void ksdb_progress(struct ks_source *source, u64 *ret_done, u64 *ret_total)
{
	struct ksdb_trace *kt = ks_container_of(source, struct ksdb_trace, base);

	*ret_done = kt->next_block;
	*ret_total = ks_db_blocks(kt->base.db);
}

static const struct ks_source_ops ksdb_ops = {
	.next = ksdb_next,
	.close = ksdb_close,
	.progress = ksdb_progress,
};

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
	u64 size;
	int fd, err, i;

	if (!kt) {
		ks_input_close(input);
		return ks_diag_nomem(diag, "opening a DB");
	}
	kt->input = input;
	kt->base.gives |= KS_GIVES_MATCHES;
	err = ks_input_random(input, &fd, &size, diag);
	if (!err)
		err = ks_db_open(fd, size, ks_input_name(input), &kt->base.names, &kt->base.db,
				 diag);
	for (i = 0; !err && i < KS_CENSUS_WHENS; i++)
		kt->base.info.census[i] = ks_db_census(kt->base.db, (enum ks_census_when)i);
	if (!err && copy_nodes(&kt->base.info, kt->base.db))
		err = ks_diag_nomem(diag, "opening a DB");
	if (err) {
		ksdb_close(&kt->base);
		return err;
	}
	kt->base.info.host = *ks_db_host(kt->base.db);
	ks_source_wall_of_census(&kt->base);
	ks_source_tasks_of_census(&kt->base);
	*ret_source = &kt->base;
	return 0;
}
