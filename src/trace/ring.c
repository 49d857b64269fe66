// SPDX-License-Identifier: LGPL-2.1-only
/* Pages of the ring buffer from a trace.dat: plain, in compressed chunks, or in blocks. */
#include "trace/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* === Data ================================================================================= */

enum {
	READ_SIZE = 64 * 1024, /* stays in the cache while its records are decoded */
	MAX_CHUNK = 64 << 20,
};

#define COMMIT_MISSED (1u << 31) /* events were lost in front of this page */
#define COMMIT_STORED (1u << 30) /* their number stands behind the records */

/* === Internals: getting pages ============================================================= */

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

static int read_at(struct ks_ring *ring, void *buf, size_t len, u64 offset, size_t *ret_got,
		   struct ks_diag *diag)
{
	ssize_t n = ks_pread_full(ring->td->fd, buf, len, offset);

	if (n < 0)
		return ks_diag_set(diag, (int)n, "%s: cannot read at byte %llu: %s", ring->td->name,
				   (unsigned long long)offset, strerror((int)-n));
	ring->bytes_read += (u64)n;
	*ret_got = (size_t)n;
	return 0;
}

static int damaged(const struct ks_ring *ring, u64 offset, const char *what, struct ks_diag *diag)
{
	return ks_diag_set(diag, KS_EBADINPUT, "%s: CPU %u is damaged at byte %llu: %s",
			   ring->td->name, ring->cpu->cpu, (unsigned long long)offset, what);
}

static int load_plain(struct ks_ring *ring, struct ks_diag *diag)
{
	size_t want = ks_max((size_t)READ_SIZE, (size_t)ring->page_size);
	int err = grow(&ring->pages, &ring->pages_cap, want, diag);

	if (err)
		return err;
	want = ks_min((u64)want, ring->end - ring->pos);
	err = read_at(ring, ring->pages, want, ring->pos, &ring->pages_len, diag);
	if (err)
		return err;
	ring->pos += ring->pages_len;
	if (ring->pages_len < want)
		return damaged(ring, ring->pos, "the file ends there", diag);
	return 0;
}

/* Undoes the compression of @stored bytes at @offset into the page buffer. */
static int load_compressed(struct ks_ring *ring, u64 offset, u32 stored, u32 size,
			   struct ks_diag *diag)
{
	size_t got = 0;
	int err;

	if (size > MAX_CHUNK || stored > MAX_CHUNK || offset > ring->td->size ||
	    stored > ring->td->size - offset)
		return damaged(ring, offset, "a chunk larger than the file", diag);
	err = grow(&ring->stored, &ring->stored_cap, stored, diag);
	if (!err)
		err = grow(&ring->pages, &ring->pages_cap, size, diag);
	if (!err)
		err = read_at(ring, ring->stored, stored, offset, &got, diag);
	if (err)
		return err;
	if (got < stored ||
	    ks_td_decompress(ring->td->codec, ring->pages, size, ring->stored, stored))
		return damaged(ring, offset, "a chunk that cannot be decompressed", diag);
	ring->pages_len = size;
	return 0;
}

static int load_chunk(struct ks_ring *ring, struct ks_diag *diag)
{
	bool swap = ring->swap;
	u32 stored, size;
	u8 header[8];
	size_t got = 0;
	int err;

	err = read_at(ring, header, 8, ring->pos, &got, diag);
	if (err)
		return err;
	if (got < 8)
		return damaged(ring, ring->pos, "the file ends there", diag);
	stored = (u32)ks_load(header, 4, swap);
	size = (u32)ks_load(header + 4, 4, swap);
	/* A chunk of nothing, which leads past the blocks of other CPUs, is not worth reading. */
	if (size)
		err = load_compressed(ring, ring->pos + 8, stored, size, diag);
	ring->pos += 8 + (u64)stored;
	ring->chunks_left--;
	return err;
}

static int load_chunks(struct ks_ring *ring, struct ks_diag *diag)
{
	int err = 0;

	while (!err && !ring->pages_len && ring->chunks_left)
		err = load_chunk(ring, diag);
	return err;
}

/* Fills the page buffer; it stays empty at the end. */
static int load_pages(struct ks_ring *ring, struct ks_diag *diag)
{
	int err;

	ring->pages_pos = 0;
	ring->pages_len = 0;
	if (ring->td->journal) {
		const struct ks_td_block *block;

		if (ring->block == ring->cpu->blocks.len)
			return 0;
		block = &ring->cpu->blocks.items[ring->block++];
		err = load_compressed(ring, block->offset, block->stored, block->size, diag);
		if (err != KS_EBADINPUT)
			return err;
		/* Blocks that a power cut left without content: this CPU ends here. */
		ring->bad += ring->cpu->blocks.len - ring->block + 1;
		ring->block = ring->cpu->blocks.len;
		ring->pages_len = 0;
		return 0;
	}
	if (ring->cpu->compressed)
		return load_chunks(ring, diag);
	return ring->pos < ring->end ? load_plain(ring, diag) : 0;
}

/* === Internals: one page ================================================================== */

/* Prepares the page for stepping; false where there is nothing in it. */
static bool open_page(struct ks_ring *ring, const u8 *page)
{
	const struct ks_page_header *header = &ring->td->page;
	/* The flags come sign-extended into the upper half of a 64-bit word. */
	u32 commit = (u32)ks_load(page + 8, header->commit_size, ring->swap);
	u32 size = commit & ~(COMMIT_MISSED | COMMIT_STORED);
	size_t room = ring->page_size - header->data;

	if (size > room) {
		ring->bad++;
		return false;
	}
	ring->ts = ks_load(page, 8, ring->swap);
	ring->next = page + header->data;
	ring->page_end = ring->next + size;
	if (commit & COMMIT_MISSED) {
		ring->lost_here = true;
		if (commit & COMMIT_STORED && size + header->commit_size <= room)
			ring->lost += ks_load(ring->page_end, header->commit_size, ring->swap);
	}
	return size;
}

/* === Public =============================================================================== */

int ks_ring_next_page(struct ks_ring *ring, struct ks_diag *diag)
{
	int err;

	ring->lost_here = false;
	ring->lost = 0;
	for (;;) {
		while (ring->pages_len - ring->pages_pos >= ring->page_size) {
			const u8 *page = ring->pages + ring->pages_pos;

			ring->pages_pos += ring->page_size;
			if (open_page(ring, page) && ks_ring_step(ring))
				return 0;
		}
		ring->bad += ring->pages_pos < ring->pages_len; /* a piece of a page */
		err = load_pages(ring, diag);
		if (err || !ring->pages_len) {
			ring->data = NULL;
			return err;
		}
	}
}

int ks_ring_init(struct ks_ring *ring, const struct ks_tracedat *td,
		 const struct ks_td_buffer *buffer, const struct ks_td_cpu *cpu,
		 struct ks_diag *diag)
{
	u8 count[4];
	size_t got = 0;
	int err;

	*ring = (struct ks_ring){
		.td = td,
		.cpu = cpu,
		.page_size = buffer->page_size,
		.big_endian = td->start.big_endian,
		.swap = td->start.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.pos = cpu->offset,
		.end = cpu->size > UINT64_MAX - cpu->offset ? UINT64_MAX : cpu->offset + cpu->size,
	};
	if (!td->journal && cpu->compressed && cpu->size) {
		err = read_at(ring, count, 4, ring->pos, &got, diag);
		if (!err && got < 4)
			err = damaged(ring, ring->pos, "the file ends there", diag);
		if (err)
			return err;
		ring->chunks_left = (u32)ks_load(count, 4, ring->swap);
		ring->pos += 4;
	}
	return ks_ring_next_page(ring, diag);
}

void ks_ring_deinit(struct ks_ring *ring)
{
	free(ring->pages);
	free(ring->stored);
	ring->pages = NULL;
	ring->stored = NULL;
}
