/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Worker threads that load the pages of a trace.dat ahead of the thread that decodes them: reading and
 * decompressing is about half of the work. The pages of a CPU are cut into pieces; any worker may load
 * any piece, and one thread, the user's, gets the pieces of each CPU in the order of the file. While
 * its piece is not ready, the user's thread loads pieces as well.
 */
#ifndef KS_TRACE_TRACEDAT_POOL_H
#define KS_TRACE_TRACEDAT_POOL_H

#include "trace/ring-file.h"

struct ks_td_piece {
	struct ks_ring_piece place; /* its size is 0: the CPU has no more */
	struct ks_ring_pages pages;
	int err; /* the pages cannot be read */
	struct ks_diag diag;

	/* The rest is the pool's. */
	bool done;		  /* loaded, or err is set; guarded by the pool's lock */
	struct ks_td_piece *next; /* of the CPU, or of those that rest */
};

struct ks_td_pool;

enum { KS_POOL_MAX_WORKERS = 4 };

/*
 * Starts to work at once, with up to KS_POOL_MAX_WORKERS threads. @read_size is that of
 * ks_ring_file_init(). @td must stay as it is until the pool is freed. -EAGAIN where there can be no
 * thread.
 */
int ks_td_pool_new(const struct ks_tracedat *td, u32 workers, u32 read_size,
		   struct ks_td_pool **ret_pool);
void ks_td_pool_free(struct ks_td_pool *pool);

/*
 * The next piece of a CPU, numbered over all buffers in their order. The piece before it is given
 * back. Not to be asked again after a piece without pages.
 */
int ks_td_pool_next(struct ks_td_pool *pool, u32 stream, struct ks_td_piece **ret_piece);

/* The CPU needs no more pieces: the last one is given back. */
void ks_td_pool_end(struct ks_td_pool *pool, u32 stream);

#endif
