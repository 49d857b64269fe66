/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Chunks of raw pages on their way from the CPU readers to the workers: a bounded pool and a queue. When the
 * pool is empty, readers wait while the kernel's ring fills.
 */
#ifndef KS_CAPTURE_CHUNKS_H
#define KS_CAPTURE_CHUNKS_H

#include <pthread.h>

#include "base/types.h"

enum { KS_CHUNK_SIZE = 256 * 1024 };

struct ks_chunk {
	struct ks_chunk *next;
	u32 cpu, seq;
	u32 len;
	u8 *data; /* KS_CHUNK_SIZE, or one page of the ring where that is more */
};

struct ks_chunks {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t freed, queued;
	struct ks_chunk *free_list;
	struct ks_chunk *head, **tail;
	u32 made, max;
	u32 size;
	bool closed; /* no more will be queued */
};

int ks_chunks_init(struct ks_chunks *chunks, u32 size, u32 max);
void ks_chunks_deinit(struct ks_chunks *chunks);

/* An empty chunk; waits until there is one. NULL only where there is no memory for the first. */
struct ks_chunk *ks_chunks_get(struct ks_chunks *chunks);
void ks_chunks_put(struct ks_chunks *chunks, struct ks_chunk *chunk);

void ks_chunks_queue(struct ks_chunks *chunks, struct ks_chunk *chunk);
/* The next in the queue; NULL when it is closed and empty. */
struct ks_chunk *ks_chunks_take(struct ks_chunks *chunks);
void ks_chunks_close(struct ks_chunks *chunks);

#endif
