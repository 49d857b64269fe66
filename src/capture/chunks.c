// SPDX-License-Identifier: LGPL-2.1-only
/* The pool and the queue of chunks. */
#include "capture/chunks.h"

#include <errno.h>
#include <stdlib.h>

/* === Internals ============================================================================ */

static void free_list(struct ks_chunk *chunk)
{
	while (chunk) {
		struct ks_chunk *next = chunk->next;

		free(chunk->data);
		free(chunk);
		chunk = next;
	}
}

static struct ks_chunk *new_chunk(u32 size)
{
	struct ks_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->data = malloc(size);
	if (chunk->data)
		return chunk;
	free(chunk);
	return NULL;
}

/* === Public =============================================================================== */

int ks_chunks_init(struct ks_chunks *chunks, u32 size, u32 max)
{
	*chunks = (struct ks_chunks){ .max = max, .size = size };
	chunks->tail = &chunks->head;
	pthread_mutex_init(&chunks->lock, NULL);
	pthread_cond_init(&chunks->freed, NULL);
	pthread_cond_init(&chunks->queued, NULL);
	return 0;
}

void ks_chunks_deinit(struct ks_chunks *chunks)
{
	free_list(chunks->free_list);
	free_list(chunks->head);
	pthread_cond_destroy(&chunks->queued);
	pthread_cond_destroy(&chunks->freed);
	pthread_mutex_destroy(&chunks->lock);
}

struct ks_chunk *ks_chunks_get(struct ks_chunks *chunks)
{
	struct ks_chunk *chunk = NULL;

	pthread_mutex_lock(&chunks->lock);
	while (!chunks->free_list && chunks->made >= chunks->max)
		pthread_cond_wait(&chunks->freed, &chunks->lock);
	if (chunks->free_list) {
		chunk = chunks->free_list;
		chunks->free_list = chunk->next;
	} else {
		chunk = new_chunk(chunks->size);
		chunks->made += chunk != NULL;
	}
	pthread_mutex_unlock(&chunks->lock);
	if (chunk)
		chunk->len = 0;
	return chunk;
}

void ks_chunks_put(struct ks_chunks *chunks, struct ks_chunk *chunk)
{
	pthread_mutex_lock(&chunks->lock);
	chunk->next = chunks->free_list;
	chunks->free_list = chunk;
	pthread_cond_signal(&chunks->freed);
	pthread_mutex_unlock(&chunks->lock);
}

void ks_chunks_queue(struct ks_chunks *chunks, struct ks_chunk *chunk)
{
	pthread_mutex_lock(&chunks->lock);
	chunk->next = NULL;
	*chunks->tail = chunk;
	chunks->tail = &chunk->next;
	pthread_cond_signal(&chunks->queued);
	pthread_mutex_unlock(&chunks->lock);
}

struct ks_chunk *ks_chunks_take(struct ks_chunks *chunks)
{
	struct ks_chunk *chunk;

	pthread_mutex_lock(&chunks->lock);
	while (!chunks->head && !chunks->closed)
		pthread_cond_wait(&chunks->queued, &chunks->lock);
	chunk = chunks->head;
	if (chunk) {
		chunks->head = chunk->next;
		if (!chunks->head)
			chunks->tail = &chunks->head;
	}
	pthread_mutex_unlock(&chunks->lock);
	return chunk;
}

void ks_chunks_close(struct ks_chunks *chunks)
{
	pthread_mutex_lock(&chunks->lock);
	chunks->closed = true;
	pthread_cond_broadcast(&chunks->queued);
	pthread_mutex_unlock(&chunks->lock);
}
