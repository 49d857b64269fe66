// SPDX-License-Identifier: LGPL-2.1-only
/* Writing a DB file: events are gathered into blocks, each block compressed column by column. */
#include "db/ksdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/hash.h"
#include "base/outfile.h"
#include "base/pack.h"
#include "db/ksdb-format.h"
#include "db/planes.h"

/* === Data ================================================================================= */

/* Level 3 compresses as well as 9 on these columns, and twice as fast. */
enum { ZSTD_LEVEL = 3, DICT_BUCKETS = 2 * KS_DB_BLOCK_EVENTS };

/* Finds equal records of a block's table; buckets hold index + 1 and the block that it is from. */
struct dict {
	struct {
		u32 block;
		u32 at;
	} buckets[DICT_BUCKETS];
};

struct ks_db_writer {
	struct ks_outfile out;
	bool open;
	u64 offset; /* where the next byte goes */
	ZSTD_CCtx *zstd;
	struct ks_strbuf packed; /* scratch: a compressed column */
	struct ks_strbuf table;	 /* scratch: shapes and tasks */
	struct ks_strbuf index;
	u64 events;
	u64 slots[KS_DB_LEVELS];
	u32 blocks;
	u64 seed;
	const u16 *nodes; /* the caller's */
	size_t nodes_len;
	const struct ks_slab_census *census[KS_CENSUS_WHENS]; /* the caller's; may be NULL */

	/* The block that is being gathered. */
	u32 count, shapes_len, tasks_len, slots_len, ptrs_len;
	u64 last_ts, last_ptr, min_ts, max_ts, first_ts;
	bool wide_ts;
	struct ks_db_shape shapes[KS_DB_BLOCK_EVENTS];
	struct ks_db_task tasks[KS_DB_BLOCK_EVENTS];
	u16 shape_of[KS_DB_BLOCK_EVENTS];
	u16 task_of[KS_DB_BLOCK_EVENTS];
	u64 ts[KS_DB_BLOCK_EVENTS]; /* zigzag differences */
	u32 slot[KS_DB_BLOCK_EVENTS];
	u64 ptr[KS_DB_BLOCK_EVENTS];
	u32 narrow_ts[KS_DB_BLOCK_EVENTS]; /* scratch */
	u8 planes[KS_DB_BLOCK_EVENTS * 8]; /* scratch */
	struct dict shape_dict, task_dict;
};

/* === Internals ============================================================================ */

/* The index of the record in the table, added if it is new. The table has room for a whole block. */
static u16 dict_add(struct ks_db_writer *w, struct dict *dict, void *table, u32 *len,
		    const void *record, size_t size)
{
	u32 at = (u32)ks_hash_bytes(record, size, w->seed) & (DICT_BUCKETS - 1);

	for (;; at = (at + 1) & (DICT_BUCKETS - 1)) {
		if (dict->buckets[at].block != w->blocks + 1) {
			dict->buckets[at].block = w->blocks + 1;
			dict->buckets[at].at = *len;
			memcpy((char *)table + size * *len, record, size);
			return (u16)(*len)++;
		}
		if (!memcmp((char *)table + size * dict->buckets[at].at, record, size))
			return (u16)dict->buckets[at].at;
	}
}

static int write_frame(struct ks_db_writer *w, const void *data, size_t len, u64 *ret_stored,
		       struct ks_diag *diag)
{
	size_t bound = ZSTD_compressBound(len), got;
	int err;

	w->packed.len = 0;
	if (ks_reserve(w->packed.s, w->packed.cap, bound))
		return ks_diag_nomem(diag, "writing a DB");
	got = ZSTD_compress2(w->zstd, w->packed.s, w->packed.cap, data, len);
	if (ZSTD_isError(got))
		return ks_diag_set(diag, -EIO, "compressing a DB failed: %s",
				   ZSTD_getErrorName(got));
	err = ks_outfile_write(&w->out, w->packed.s, got, diag);
	if (err)
		return err;
	w->offset += got;
	*ret_stored = got;
	return 0;
}

static void pack_tables(struct ks_db_writer *w)
{
	struct ks_strbuf *sb = &w->table;
	u32 i;

	sb->len = 0;
	ks_pack_varint(sb, w->shapes_len);
	for (i = 0; i < w->shapes_len; i++) {
		const struct ks_db_shape *shape = &w->shapes[i];

		ks_pack_uint(sb, shape->kind, 1);
		ks_pack_uint(sb, shape->op, 1);
		ks_pack_uint(sb, shape->level, 1);
		ks_pack_uint(sb, shape->flags, 1);
		/* Plus one, so that "none" is the shortest number. */
		ks_pack_varint(sb, (u32)(shape->site + 1));
		ks_pack_varint(sb, (u32)(shape->cache + 1));
		ks_pack_varint(sb, (u32)(shape->gfp + 1));
		ks_pack_varint(sb, (u32)(shape->stack + 1));
		ks_pack_varint(sb, ks_zigzag(shape->node));
		ks_pack_varint(sb, shape->bytes_req);
		ks_pack_varint(sb, shape->bytes_alloc);
	}
	ks_pack_varint(sb, w->tasks_len);
	for (i = 0; i < w->tasks_len; i++) {
		ks_pack_varint(sb, (u32)(w->tasks[i].pid + 1));
		ks_pack_varint(sb, (u32)(w->tasks[i].comm + 1));
		ks_pack_varint(sb, w->tasks[i].cpu);
	}
}

/* Writes the gathered block and its line of the index. */
static int flush_block(struct ks_db_writer *w, struct ks_diag *diag)
{
	struct {
		void *data;
		size_t len;
		unsigned int width;
	} cols[KS_DB_COLUMNS] = {
		[KS_COL_SHAPE_OF] = { w->shape_of, w->count * sizeof(*w->shape_of), 2 },
		[KS_COL_TASK_OF] = { w->task_of, w->count * sizeof(*w->task_of), 2 },
		[KS_COL_SLOT] = { w->slot, w->slots_len * sizeof(*w->slot), 4 },
		[KS_COL_PTR] = { w->ptr, w->ptrs_len * sizeof(*w->ptr), 8 },
	};
	struct ks_strbuf *index = &w->index;
	u64 start = w->offset, stored;
	u32 i;
	int err;

	if (!w->count)
		return 0;
	pack_tables(w);
	for (i = 0; i < w->count && !w->wide_ts; i++)
		w->narrow_ts[i] = (u32)w->ts[i];
	cols[KS_COL_SHAPES].data = w->table.s;
	cols[KS_COL_SHAPES].len = w->table.len;
	cols[KS_COL_SHAPES].width = 1;
	cols[KS_COL_TS].data = w->wide_ts ? (void *)w->ts : (void *)w->narrow_ts;
	cols[KS_COL_TS].width = w->wide_ts ? 8 : 4;
	cols[KS_COL_TS].len = w->count * cols[KS_COL_TS].width;

	ks_pack_varint(index, start);
	ks_pack_varint(index, w->count);
	ks_pack_varint(index, w->wide_ts ? KS_DB_BLOCK_WIDE_TS : 0);
	ks_pack_varint(index, w->first_ts);
	ks_pack_varint(index, w->min_ts);
	ks_pack_varint(index, w->max_ts);
	for (i = 0; i < KS_DB_COLUMNS; i++) {
		if (cols[i].width > 1)
			ks_planes_split(cols[i].data, cols[i].len / cols[i].width, cols[i].width,
					w->planes);
		err = write_frame(w, cols[i].width == 1 ? cols[i].data : w->planes, cols[i].len,
				  &stored, diag);
		if (err)
			return err;
		ks_pack_varint(index, stored);
		ks_pack_varint(index, cols[i].len);
	}
	w->blocks++;
	w->count = w->shapes_len = w->tasks_len = w->slots_len = w->ptrs_len = 0;
	w->wide_ts = false;
	w->last_ptr = 0;
	return w->table.failed || index->failed ? ks_diag_nomem(diag, "writing a DB") : 0;
}

static void pack_intern(struct ks_strbuf *sb, const struct ks_intern *in)
{
	size_t i;

	ks_pack_varint(sb, in->strs.len);
	for (i = 0; i < in->strs.len; i++)
		ks_pack_string(sb, in->strs.items[i].s, in->strs.items[i].len);
}

static void pack_host(struct ks_strbuf *sb, const struct ks_host *host)
{
	ks_pack_string(sb, host->kernel, strlen(host->kernel));
	ks_pack_string(sb, host->arch, strlen(host->arch));
	ks_pack_varint(sb, host->cpus);
}

static void pack_stacks(struct ks_strbuf *sb, const struct ks_names *names)
{
	size_t i, k;

	pack_intern(sb, &names->frames.texts);
	ks_pack_varint(sb, names->stacks.strs.len);
	for (i = 0; i < names->stacks.strs.len; i++) {
		size_t len;
		const u32 *frames = ks_names_stack(names, (u32)i, &len);

		ks_pack_varint(sb, len);
		for (k = 0; k < len; k++)
			ks_pack_varint(sb, frames[k]);
	}
}

/* Where all are of node 0, as they are taken to be anyway, nothing has to be said. */
static bool pack_nodes(struct ks_strbuf *sb, const u16 *nodes, size_t len)
{
	bool told = false;
	size_t i;

	len = ks_min(len, (size_t)KS_CPU_UNKNOWN);
	ks_pack_varint(sb, len);
	for (i = 0; i < len; i++) {
		ks_pack_varint(sb, nodes[i]);
		told |= nodes[i];
	}
	return told;
}

static int write_header(struct ks_db_writer *w, u64 features, u64 tail_offset, u32 tail_len,
			struct ks_diag *diag)
{
	struct ks_strbuf sb;
	int err;

	ks_strbuf_init(&sb);
	ks_strbuf_add(&sb, KS_DB_MAGIC, KS_DB_MAGIC_LEN);
	ks_pack_uint(&sb, KS_DB_VERSION, 4);
	ks_pack_uint(&sb, KS_DB_HEADER_SIZE, 4);
	ks_pack_uint(&sb, features, 8);
	ks_pack_uint(&sb, tail_offset, 8);
	ks_pack_uint(&sb, tail_len, 4);
	if (!sb.failed)
		ks_pack_uint(&sb, crc32(0, (const Bytef *)sb.s, (uInt)sb.len), 4);
	err = sb.failed ? ks_diag_nomem(diag, "writing a DB")
			: ks_outfile_write_at(&w->out, 0, sb.s, sb.len, diag);
	ks_strbuf_deinit(&sb);
	return err;
}

/* Each with its length in front; whether there is one. */
static bool pack_census(struct ks_strbuf *sb, const struct ks_slab_census *const census[])
{
	bool any = false;
	int when;

	for (when = 0; when < KS_CENSUS_WHENS; when++) {
		struct ks_strbuf one;

		if (!census[when])
			continue;
		ks_strbuf_init(&one);
		ks_slab_census_pack(census[when], (enum ks_census_when)when, &one);
		ks_pack_string(sb, ks_strbuf_str(&one), one.len);
		sb->failed |= one.failed;
		ks_strbuf_deinit(&one);
		any = true;
	}
	return any;
}

/* === Public =============================================================================== */

int ks_db_writer_new(const char *path, struct ks_db_writer **ret_writer, struct ks_diag *diag)
{
	static const char blank[KS_DB_HEADER_SIZE];
	struct ks_db_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return ks_diag_nomem(diag, "writing a DB");
	w->seed = ks_hash_seed();
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd) {
		err = ks_diag_nomem(diag, "writing a DB");
		goto fail;
	}
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	err = ks_outfile_open(&w->out, path, diag);
	if (err)
		goto fail;
	w->open = true;
	if (!w->out.tmp_path || !strcmp(path, "-")) {
		err = ks_diag_set(diag, -EINVAL, "%s: a DB must be a regular file; give it a name",
				  path);
		goto fail;
	}
	/* The header comes last: until then the file is no DB. */
	err = ks_outfile_write(&w->out, blank, sizeof(blank), diag);
	if (err)
		goto fail;
	w->offset = sizeof(blank);
	*ret_writer = w;
	return 0;
fail:
	ks_db_writer_free(w);
	return err;
}

void ks_db_writer_free(struct ks_db_writer *w)
{
	if (!w)
		return;
	if (w->open)
		ks_outfile_abort(&w->out);
	ZSTD_freeCCtx(w->zstd);
	ks_strbuf_deinit(&w->packed);
	ks_strbuf_deinit(&w->table);
	ks_strbuf_deinit(&w->index);
	free(w);
}

int ks_db_writer_add(struct ks_db_writer *w, const struct ks_event *ev,
		     const struct ks_match *match, struct ks_diag *diag)
{
	struct ks_db_shape shape;
	struct ks_db_task task;
	u64 delta;

	/* Compared as bytes: no holes with chance content. */
	memset(&shape, 0, sizeof(shape));
	shape.kind = ev->kind;
	shape.op = match->op;
	shape.level = match->level;
	shape.flags = ev->flags;
	shape.site = ev->site;
	shape.cache = ev->cache;
	shape.gfp = ev->gfp;
	shape.stack = ev->stack;
	shape.node = ev->node;
	if (ev->kind == KS_LOST) {
		shape.bytes_req = ev->lost.count; /* where the format has it */
	} else {
		shape.bytes_req = ev->bytes_req;
		shape.bytes_alloc = ev->bytes_alloc;
	}
	memset(&task, 0, sizeof(task));
	task.pid = ev->pid;
	task.comm = ev->comm;
	task.cpu = ev->cpu;

	if (!w->count)
		w->first_ts = w->last_ts = w->min_ts = w->max_ts = ev->ts;
	delta = ks_zigzag((s64)(ev->ts - w->last_ts));
	w->last_ts = ev->ts;
	w->min_ts = ks_min(w->min_ts, ev->ts);
	w->max_ts = ks_max(w->max_ts, ev->ts);
	w->wide_ts |= delta > UINT32_MAX;
	w->ts[w->count] = delta;
	w->shape_of[w->count] =
		dict_add(w, &w->shape_dict, w->shapes, &w->shapes_len, &shape, sizeof(shape));
	w->task_of[w->count] =
		dict_add(w, &w->task_dict, w->tasks, &w->tasks_len, &task, sizeof(task));
	if (ks_db_has_slot(match->op)) {
		w->slot[w->slots_len++] = match->slot;
		w->slots[match->level] = ks_max(w->slots[match->level], (u64)match->slot + 1);
	}
	if (ks_db_has_ptr(match->op, ev->kind)) {
		w->ptr[w->ptrs_len++] = ev->ptr ^ w->last_ptr;
		w->last_ptr = ev->ptr;
	}
	w->events++;
	return ++w->count == KS_DB_BLOCK_EVENTS ? flush_block(w, diag) : 0;
}

void ks_db_writer_set_nodes(struct ks_db_writer *w, const u16 *nodes, size_t len)
{
	w->nodes = nodes;
	w->nodes_len = len;
}

void ks_db_writer_set_census(struct ks_db_writer *w,
			     const struct ks_slab_census *const census[KS_CENSUS_WHENS])
{
	memcpy(w->census, census, sizeof(w->census));
}

int ks_db_writer_finish(struct ks_db_writer *w, const struct ks_names *names,
			const struct ks_host *host, const struct ks_strbuf *summary,
			struct ks_diag *diag)
{
	struct ks_strbuf sections[KS_DB_SECTIONS], tail;
	u64 tail_offset, features = 0;
	int i, err;

	for (i = 0; i < KS_DB_SECTIONS; i++)
		ks_strbuf_init(&sections[i]);
	ks_strbuf_init(&tail);
	err = flush_block(w, diag);
	if (err)
		goto out;
	pack_intern(&sections[KS_SEC_NAMES], &names->sites.texts);
	pack_intern(&sections[KS_SEC_NAMES], &names->caches);
	pack_intern(&sections[KS_SEC_NAMES], &names->comms);
	pack_intern(&sections[KS_SEC_NAMES], &names->gfps);
	ks_strbuf_add(&sections[KS_SEC_SUMMARY], summary->s, summary->len);
	ks_pack_varint(&sections[KS_SEC_INDEX], w->events);
	for (i = 0; i < KS_DB_LEVELS; i++)
		ks_pack_varint(&sections[KS_SEC_INDEX], w->slots[i]);
	ks_pack_varint(&sections[KS_SEC_INDEX], w->blocks);
	ks_strbuf_add(&sections[KS_SEC_INDEX], w->index.s, w->index.len);
	if (ks_host_is_known(host)) {
		features |= KS_DB_HAS_HOST;
		pack_host(&sections[KS_SEC_HOST], host);
	}
	if (names->stacks.strs.len) {
		features |= KS_DB_HAS_STACKS;
		pack_stacks(&sections[KS_SEC_STACKS], names);
	}
	if (pack_nodes(&sections[KS_SEC_NODES], w->nodes, w->nodes_len))
		features |= KS_DB_HAS_NODES;
	if (pack_census(&sections[KS_SEC_CENSUS], w->census))
		features |= KS_DB_HAS_CENSUS;
	for (i = 0; i < KS_DB_SECTIONS; i++) {
		u64 start = w->offset, stored;

		if (!ks_db_has_section(features, (enum ks_db_section)i))
			continue;
		if (sections[i].failed) {
			err = ks_diag_nomem(diag, "writing a DB");
			goto out;
		}
		err = write_frame(w, sections[i].s, sections[i].len, &stored, diag);
		if (err)
			goto out;
		ks_pack_uint(&tail, start, 8);
		ks_pack_uint(&tail, stored, 8);
		ks_pack_uint(&tail, sections[i].len, 8);
	}
	tail_offset = w->offset;
	ks_pack_uint(&tail, crc32(0, (const Bytef *)tail.s, (uInt)tail.len), 4);
	err = tail.failed ? ks_diag_nomem(diag, "writing a DB")
			  : ks_outfile_write(&w->out, tail.s, tail.len, diag);
	if (!err)
		err = write_header(w, features, tail_offset, (u32)tail.len, diag);
	if (!err) {
		err = ks_outfile_commit(&w->out, diag);
		w->open = false;
	}
out:
	for (i = 0; i < KS_DB_SECTIONS; i++)
		ks_strbuf_deinit(&sections[i]);
	ks_strbuf_deinit(&tail);
	return err;
}
