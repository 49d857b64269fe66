// SPDX-License-Identifier: LGPL-2.1-only
/* Saves a snapshot: blocks are packed and compressed on all processors, and written in their order. */
#include "heap/snapshot-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/outfile.h"
#include "base/pack.h"
#include "heap/snapshot-format.h"

/* === Data ================================================================================= */

enum { ZSTD_LEVEL = 3, BATCH = 32 /* blocks that are packed before they are written */ };

/* A block that is packed and waits to be written. */
struct packed {
	struct ks_hs_frame columns[KS_HS_COLUMNS];
	struct ks_hs_bytes bytes; /* the frames, one behind the other */
	int err;
};

struct worker {
	struct ks_hs_scratch scratch;
	ZSTD_CCtx *zstd;
};

struct saving {
	const struct ks_snapshot *s;
	struct ks_outfile out;
	u64 offset; /* where the next byte goes */
	struct worker *workers;
	unsigned int nr_workers;
	struct packed batch[BATCH];
	size_t first; /* number of the first block of the batch */
	int columns;  /* of a block: from 0, or of roots */
	bool roots;
	struct ks_strbuf index, tail;
};

/* === Internals ============================================================================ */

static int compress_into(ZSTD_CCtx *zstd, const void *data, size_t len, struct ks_hs_bytes *out,
			 u64 *ret_stored)
{
	size_t bound = ZSTD_compressBound(len), got;

	if (ks_reserve(out->data, out->cap, out->len + bound))
		return -ENOMEM;
	got = ZSTD_compress2(zstd, out->data + out->len, bound, data, len);
	if (ZSTD_isError(got))
		return -ENOMEM; /* the only way to fail with enough room */
	out->len += got;
	*ret_stored = got;
	return 0;
}

static void pack_block(void *arg, size_t index, unsigned int number)
{
	struct saving *saving = arg;
	struct packed *packed = &saving->batch[index];
	struct worker *w = &saving->workers[number];
	size_t block = saving->first + index;
	int i, err;

	err = saving->roots ? ks_hs_pack_root_refs(saving->s, block, &w->scratch)
			    : ks_hs_pack_objects(saving->s, block, &w->scratch);
	packed->bytes.len = 0;
	for (i = saving->roots ? KS_HS_AT : 0; i < saving->columns && !err; i++) {
		packed->columns[i].raw = w->scratch.columns[i].len;
		err = compress_into(w->zstd, w->scratch.columns[i].data, w->scratch.columns[i].len,
				    &packed->bytes, &packed->columns[i].stored);
	}
	packed->err = err;
}

static int write_bytes(struct saving *saving, const void *data, size_t len, struct ks_diag *diag)
{
	int err = ks_outfile_write(&saving->out, data, len, diag);

	saving->offset += len;
	return err;
}

static int write_block(struct saving *saving, size_t block, const struct packed *packed,
		       struct ks_diag *diag)
{
	const struct ks_snapshot *s = saving->s;
	int i;

	if (packed->err)
		return ks_diag_nomem(diag, "saving a snapshot of the heap");
	ks_pack_varint(&saving->index, saving->offset);
	if (!saving->roots && s->ref_first) {
		u32 first = (u32)block * KS_HS_BLOCK;

		ks_pack_varint(&saving->index,
			       s->ref_first[first + ks_hs_block_len(s->count, block)] -
				       s->ref_first[first]);
	}
	for (i = saving->roots ? KS_HS_AT : 0; i < saving->columns; i++) {
		ks_pack_varint(&saving->index, packed->columns[i].stored);
		ks_pack_varint(&saving->index, packed->columns[i].raw);
	}
	return write_bytes(saving, packed->bytes.data, packed->bytes.len, diag);
}

static int write_blocks(struct saving *saving, u64 items, u32 block,
			ks_snapshot_progress_fn *progress, void *arg, struct ks_diag *diag)
{
	size_t blocks = ks_hs_blocks(items, block), i, count;
	int err = 0;

	for (saving->first = 0; saving->first < blocks && !err; saving->first += count) {
		count = ks_min(blocks - saving->first, (size_t)BATCH);
		ks_parallel_for(count, pack_block, saving);
		for (i = 0; i < count && !err; i++)
			err = write_block(saving, saving->first + i, &saving->batch[i], diag);
		if (!err && progress &&
		    progress(arg, ks_min((saving->first + count) * block, items), items))
			err = ks_diag_set(diag, -EINTR, "stopped");
	}
	return err;
}

static int write_section(struct saving *saving, const struct ks_strbuf *section,
			 struct ks_diag *diag)
{
	struct ks_hs_bytes bytes = { 0 };
	u64 stored = 0;
	int err = section->failed ? -ENOMEM
				  : compress_into(saving->workers[0].zstd, section->s, section->len,
						  &bytes, &stored);

	if (err) {
		err = ks_diag_nomem(diag, "saving a snapshot of the heap");
	} else {
		ks_pack_uint(&saving->tail, saving->offset, 8);
		ks_pack_uint(&saving->tail, stored, 8);
		ks_pack_uint(&saving->tail, section->len, 8);
		err = write_bytes(saving, bytes.data, bytes.len, diag);
	}
	free(bytes.data);
	return err;
}

static int write_sections(struct saving *saving, struct ks_diag *diag)
{
	struct ks_strbuf facts, roots;
	int err;

	ks_strbuf_init(&facts);
	ks_strbuf_init(&roots);
	ks_hs_pack_facts(saving->s, &facts);
	err = write_section(saving, &facts, diag);
	if (!err)
		err = write_section(saving, &saving->index, diag);
	if (!err && saving->s->ref_first) {
		ks_hs_pack_roots(saving->s, &roots);
		err = write_section(saving, &roots, diag);
	}
	ks_strbuf_deinit(&facts);
	ks_strbuf_deinit(&roots);
	return err;
}

/* The header comes last: until then the file is no snapshot. */
static int write_ends(struct saving *saving, struct ks_diag *diag)
{
	struct ks_strbuf *tail = &saving->tail, head;
	u64 offset = saving->offset;
	int err;

	ks_strbuf_init(&head);
	ks_strbuf_add(&head, KS_HS_MAGIC, KS_HS_MAGIC_LEN);
	ks_pack_uint(&head, KS_HS_VERSION, 4);
	ks_pack_uint(&head, KS_HS_HEADER_SIZE, 4);
	ks_pack_uint(&head, saving->s->ref_first ? KS_HS_GRAPH : 0, 8);
	ks_pack_uint(&head, offset, 8);
	ks_pack_uint(&head, tail->len + 4, 4);
	if (!head.failed && !tail->failed) {
		ks_pack_uint(&head, crc32(0, (const Bytef *)head.s, (uInt)head.len), 4);
		ks_pack_uint(tail, crc32(0, (const Bytef *)tail->s, (uInt)tail->len), 4);
	}
	err = head.failed || tail->failed ? ks_diag_nomem(diag, "saving a snapshot of the heap")
					  : write_bytes(saving, tail->s, tail->len, diag);
	if (!err)
		err = ks_outfile_write_at(&saving->out, 0, head.s, head.len, diag);
	ks_strbuf_deinit(&head);
	return err;
}

static int write_all(struct saving *saving, ks_snapshot_progress_fn *progress, void *arg,
		     struct ks_diag *diag)
{
	static const char blank[KS_HS_HEADER_SIZE];
	const struct ks_snapshot *s = saving->s;
	int err = write_bytes(saving, blank, sizeof(blank), diag);

	ks_pack_varint(&saving->index, s->count);
	if (s->ref_first) {
		ks_pack_varint(&saving->index, s->refs.len);
		ks_pack_varint(&saving->index, s->root_refs.len);
	}
	saving->columns = ks_hs_columns(s->ref_first ? KS_HS_GRAPH : 0);
	if (!err)
		err = write_blocks(saving, s->count, KS_HS_BLOCK, progress, arg, diag);
	saving->roots = true;
	if (!err && s->ref_first)
		err = write_blocks(saving, s->root_refs.len, KS_HS_ROOT_BLOCK, NULL, NULL, diag);
	if (!err)
		err = write_sections(saving, diag);
	return err ? err : write_ends(saving, diag);
}

static int start_workers(struct saving *saving)
{
	unsigned int i, count = ks_parallel_workers(BATCH);
	int err = 0;

	saving->workers = calloc(count, sizeof(*saving->workers));
	if (!saving->workers)
		return -ENOMEM;
	for (i = 0; i < count && !err; i++) {
		struct worker *w = &saving->workers[i];

		err = ks_hs_scratch_init(&w->scratch);
		saving->nr_workers = i + 1;
		w->zstd = ZSTD_createCCtx();
		if (!w->zstd)
			return -ENOMEM;
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	}
	return err;
}

static void end_saving(struct saving *saving)
{
	unsigned int i;

	for (i = 0; i < saving->nr_workers; i++) {
		ks_hs_scratch_deinit(&saving->workers[i].scratch);
		ZSTD_freeCCtx(saving->workers[i].zstd);
	}
	free(saving->workers);
	for (i = 0; i < BATCH; i++)
		free(saving->batch[i].bytes.data);
	ks_strbuf_deinit(&saving->index);
	ks_strbuf_deinit(&saving->tail);
}

/* === Public =============================================================================== */

int ks_snapshot_save(const struct ks_snapshot *snapshot, const char *path,
		     ks_snapshot_progress_fn *progress, void *arg, struct ks_diag *diag)
{
	struct saving saving = { .s = snapshot };
	int err = ks_outfile_open(&saving.out, path, diag);

	if (err)
		return err;
	if (!saving.out.tmp_path)
		err = ks_diag_set(diag, -EINVAL,
				  "%s: a snapshot must be a regular file; give it a name", path);
	if (!err && start_workers(&saving))
		err = ks_diag_nomem(diag, "saving a snapshot of the heap");
	if (!err)
		err = write_all(&saving, progress, arg, diag);
	if (err)
		ks_outfile_abort(&saving.out);
	else
		err = ks_outfile_commit(&saving.out, diag);
	end_saving(&saving);
	return err;
}
