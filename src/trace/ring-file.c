// SPDX-License-Identifier: LGPL-2.1-only
/* Pages of the ring buffer from a trace.dat: plain, in compressed chunks, or in blocks. */
#include "trace/ring-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* === Data ================================================================================= */

enum { MAX_CHUNK = 64 << 20 };

/* === Internals ============================================================================ */

static int grow(u8 **buf, size_t *cap, size_t need, struct ks_diag *diag)
{
	u8 *grown;

	if (need <= *cap)
		return 0;
	grown = realloc(*buf, need);
	if (!grown)
		return ks_diag_nomem(diag, "reading a trace.dat");
	*buf = grown;
	*cap = need;
	return 0;
}

static int damaged(const struct ks_tracedat *td, u32 cpu, u64 offset, const char *what,
		   struct ks_diag *diag)
{
	return ks_diag_set(diag, KS_EBADINPUT, "%s: CPU %u is damaged at byte %llu: %s", td->name,
			   cpu, (unsigned long long)offset, what);
}

/* Reads all of the @len bytes. */
static int read_at(const struct ks_tracedat *td, u32 cpu, void *buf, size_t len, u64 offset,
		   struct ks_diag *diag)
{
	ssize_t n = ks_pread_full(td->fd, buf, len, offset);

	if (n < 0)
		return ks_diag_set(diag, (int)n, "%s: cannot read at byte %llu: %s", td->name,
				   (unsigned long long)offset, strerror((int)-n));
	if ((size_t)n < len)
		return damaged(td, cpu, offset + (u64)n, "the file ends there", diag);
	return 0;
}

static int read_uints(struct ks_ring_file *file, u32 *values, size_t count, struct ks_diag *diag)
{
	bool swap = file->td->start.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	u8 bytes[8];
	size_t i;
	int err = read_at(file->td, file->cpu->cpu, bytes, count * 4, file->pos, diag);

	for (i = 0; i < count && !err; i++)
		values[i] = (u32)ks_load(bytes + i * 4, 4, swap);
	return err;
}

static void next_plain(struct ks_ring_file *file, struct ks_ring_piece *piece)
{
	piece->offset = file->pos;
	piece->size = (u32)ks_min((u64)file->read_size, file->end - file->pos);
	piece->stored = piece->size;
	file->pos += piece->size;
}

static int next_chunk(struct ks_ring_file *file, struct ks_ring_piece *piece, struct ks_diag *diag)
{
	u32 sizes[2];
	int err = 0;

	if (!file->counted) {
		file->counted = true;
		err = file->cpu->size ? read_uints(file, &file->chunks_left, 1, diag) : 0;
		file->pos += 4;
	}
	/* A chunk of nothing, which leads past the blocks of other CPUs, is no piece. */
	while (!err && !piece->size && file->chunks_left) {
		err = read_uints(file, sizes, 2, diag);
		if (err)
			break;
		*piece = (struct ks_ring_piece){
			.offset = file->pos + 8,
			.stored = sizes[0],
			.size = sizes[1],
			.compressed = true,
		};
		file->pos += 8 + (u64)sizes[0];
		file->chunks_left--;
	}
	return err;
}

static void next_block(struct ks_ring_file *file, struct ks_ring_piece *piece)
{
	const struct ks_td_block *block;

	while (!piece->size && file->block < file->cpu->blocks.len) {
		block = &file->cpu->blocks.items[file->block++];
		*piece = (struct ks_ring_piece){
			.offset = block->offset,
			.stored = block->stored,
			.size = block->size,
			.following = (u32)(file->cpu->blocks.len - file->block),
			.compressed = true,
		};
	}
}

/* === Public =============================================================================== */

void ks_ring_file_init(struct ks_ring_file *file, const struct ks_tracedat *td,
		       const struct ks_td_buffer *buffer, const struct ks_td_cpu *cpu,
		       u32 read_size)
{
	*file = (struct ks_ring_file){
		.td = td,
		.cpu = cpu,
		.pos = cpu->offset,
		.end = cpu->size > UINT64_MAX - cpu->offset ? UINT64_MAX : cpu->offset + cpu->size,
		.read_size = ks_max(read_size / buffer->page_size, 1u) * buffer->page_size,
	};
}

int ks_ring_file_next(struct ks_ring_file *file, struct ks_ring_piece *ret_piece,
		      struct ks_diag *diag)
{
	struct ks_ring_piece piece = { 0 };
	int err = 0;

	if (file->td->journal)
		next_block(file, &piece);
	else if (file->cpu->compressed)
		err = next_chunk(file, &piece, diag);
	else
		next_plain(file, &piece);
	if (!err)
		*ret_piece = piece;
	return err;
}

void ks_ring_pages_deinit(struct ks_ring_pages *pages)
{
	free(pages->bytes);
	*pages = (struct ks_ring_pages){ 0 };
}

void ks_ring_loader_deinit(struct ks_ring_loader *loader)
{
	free(loader->stored);
	ZSTD_freeDCtx(loader->zstd);
	*loader = (struct ks_ring_loader){ 0 };
}

int ks_ring_load(struct ks_ring_loader *loader, const struct ks_tracedat *td, u32 cpu,
		 const struct ks_ring_piece *piece, struct ks_ring_pages *pages,
		 struct ks_diag *diag)
{
	int err;

	pages->len = 0;
	if (piece->compressed &&
	    (piece->size > MAX_CHUNK || piece->stored > MAX_CHUNK || piece->offset > td->size ||
	     piece->stored > td->size - piece->offset))
		return damaged(td, cpu, piece->offset, "a chunk larger than the file", diag);
	err = grow(&pages->bytes, &pages->cap, piece->size, diag);
	if (!err && piece->compressed)
		err = grow(&loader->stored, &loader->stored_cap, piece->stored, diag);
	if (!err)
		err = read_at(td, cpu, piece->compressed ? loader->stored : pages->bytes,
			      piece->stored, piece->offset, diag);
	if (err)
		return err;
	if (piece->compressed && ks_td_inflate(&loader->zstd, td->codec, pages->bytes, piece->size,
					       loader->stored, piece->stored))
		return damaged(td, cpu, piece->offset, "a chunk that cannot be decompressed", diag);
	pages->len = piece->size;
	return 0;
}
