/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Where the pages of one CPU are in a trace.dat: plain, in compressed chunks, or in the blocks of an
 * unfinished file. To find the next piece and to load it are two steps: the pieces of a CPU are found
 * one after the other, but may be loaded at the same time by different threads.
 */
#ifndef KS_TRACE_RING_FILE_H
#define KS_TRACE_RING_FILE_H

#include "trace/ring.h"
#include "trace/tracedat.h"

/* Whole pages, but for what a damaged file has at its end. */
struct ks_ring_piece {
	u64 offset;
	u32 stored;    /* bytes in the file */
	u32 size;      /* bytes of pages; 0 = there is no piece any more */
	u32 following; /* blocks of an unfinished file behind this one */
	bool compressed;
};

struct ks_ring_file {
	const struct ks_tracedat *td;
	const struct ks_td_cpu *cpu;
	u64 pos, end;	 /* in the file */
	u32 read_size;	 /* of a piece that is not compressed */
	u32 chunks_left; /* of a compressed CPU */
	bool counted;	 /* chunks_left is known */
	size_t block;	 /* of an unfinished file */
};

enum { KS_RING_READ_SIZE = 128 * 1024 }; /* stays in the cache while its records are decoded */

static inline struct ks_ring_format ks_td_ring_format(const struct ks_tracedat *td,
						      const struct ks_td_buffer *buffer)
{
	return (struct ks_ring_format){
		.header = td->page,
		.page_size = buffer->page_size,
		.big_endian = td->start.big_endian,
	};
}

/* @read_size: the bytes of a piece of plain pages, rounded to whole pages, at least one. */
void ks_ring_file_init(struct ks_ring_file *file, const struct ks_tracedat *td,
		       const struct ks_td_buffer *buffer, const struct ks_td_cpu *cpu,
		       u32 read_size);

int ks_ring_file_next(struct ks_ring_file *file, struct ks_ring_piece *ret_piece,
		      struct ks_diag *diag);

/* Pages in memory, which is used for one piece after the other. Zeroed, it is ready. */
struct ks_ring_pages {
	u8 *bytes;
	size_t len, cap;
};

void ks_ring_pages_deinit(struct ks_ring_pages *pages);

/* What loading needs; one for each thread. Zeroed, it is ready. */
struct ks_ring_loader {
	u8 *stored;
	size_t stored_cap;
	struct ZSTD_DCtx_s *zstd;
};

void ks_ring_loader_deinit(struct ks_ring_loader *loader);

/* Fills @pages. @cpu is for messages. */
int ks_ring_load(struct ks_ring_loader *loader, const struct ks_tracedat *td, u32 cpu,
		 const struct ks_ring_piece *piece, struct ks_ring_pages *pages,
		 struct ks_diag *diag);

#endif
