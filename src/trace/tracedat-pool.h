/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Worker threads that load the pages of a trace.dat and decode them. The pages of a CPU are cut into
 * pieces; any worker may take any piece, and one thread, the user's, gets the pieces of each CPU back
 * in the order of the file. What a piece holds depends on the file alone, not on who decoded it.
 */
#ifndef KS_TRACE_TRACEDAT_POOL_H
#define KS_TRACE_TRACEDAT_POOL_H

#include "trace/rawlocal.h"
#include "trace/ring-file.h"

/*
 * What a piece is decoded into: events, in whose place there may be other things that matter to the
 * one who merges. @ts is the time of the record as it is in the file, @flags its common_flags.
 */
enum ks_item_kind {
	/* Below KS_LOST: an event, whose names are the worker's numbers. KS_LOST: as in an event. */
	/* A time that the CPU had come to before the next item, which is earlier. */
	KS_ITEM_TIME = KS_KINDS,
	/* Only where stacks are wanted: a damaged record, or one of another event; and a stack. */
	KS_ITEM_OTHER,
	KS_ITEM_STACK, /* ptr is the address of the record, bytes_req its length */
};

struct ks_item_list {
	KS_VEC(struct ks_event) vec;
};

struct ks_piece {
	struct ks_item_list items; /* the first is a place that is free for the user */
	u64 first_ts;		   /* of the first record, where there is one */
	u64 end_ts;		   /* at the end of the last page */
	bool any;		   /* there is a record */
	bool first_lost;	   /* items begin with a loss in front of the first record */
	bool lost_here;		   /* events were lost behind the last record, */
	u64 lost;		   /* this many */
	bool last;		   /* the CPU has no more; this piece may have no items */
	u64 other, stacks;	   /* records that are not kmem events */
	u64 bad_records, bad_pages;
	u64 bytes_read;
	int err; /* the pages cannot be read; then nothing else counts */
	struct ks_diag diag;
	struct ks_rawmap *map; /* of the worker's numbers, for the user */

	/* The rest is the pool's. */
	struct ks_ring_piece place;
	struct ks_ring_loader loader; /* keeps the pages where stacks point into them */
	u32 worker;
	bool done;	       /* guarded by the pool's lock */
	struct ks_piece *next; /* of the CPU, or in the list of free ones; the same */
};

struct ks_td_pool;

enum { KS_POOL_MAX_WORKERS = 8 };

struct ks_pool_opts {
	u32 workers;   /* at most KS_POOL_MAX_WORKERS */
	u32 read_size; /* of a piece that is not compressed */
	bool stacks;   /* keep KS_ITEM_OTHER and KS_ITEM_STACK */
};

/*
 * Starts to work at once. @td and @dec must stay as they are until the pool is freed. -EAGAIN where
 * there can be no thread.
 */
int ks_td_pool_new(const struct ks_tracedat *td, const struct ks_rawdec *dec,
		   const struct ks_pool_opts *opts, struct ks_td_pool **ret_pool);
void ks_td_pool_free(struct ks_td_pool *pool);

/*
 * The next piece of a CPU, numbered over all buffers in their order. Waits until it is decoded. The
 * piece before it is given back. Not to be asked again after a piece that is the last or has an error.
 */
int ks_td_pool_next(struct ks_td_pool *pool, u32 stream, struct ks_piece **ret_piece);

/* The CPU needs no more pieces: the last one is given back. */
void ks_td_pool_end(struct ks_td_pool *pool, u32 stream);

#endif
