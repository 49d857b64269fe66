// SPDX-License-Identifier: LGPL-2.1-only
/* Worker threads that load the pages of a trace.dat ahead. */
#include "trace/tracedat-pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* === Data ================================================================================= */

enum {
	/* What is loaded ahead, for each thread: enough that they seldom wait for each other. */
	AHEAD_BYTES = 2 << 20,
	/*
	 * What lies unused before any of it is used again. On the one machine that was measured, a worker
	 * that wrote at once where the caller had just read took three times as long to decompress;
	 * probably as the pages were still in the cache of the caller's processor.
	 */
	RESTING_BYTES = 16 << 20,
	RESTING_PIECES = 64, /* or this number, where they are small */
};

struct worker {
	struct ks_td_pool *pool;
	pthread_t thread;
	struct ks_ring_loader loader;
};

/* One CPU. Guarded by the pool's lock. */
struct stream {
	struct ks_ring_file file;
	struct ks_ring_format format;
	struct ks_td_piece *first, *newest; /* pieces that are not given back, in order */
	bool used;			    /* the first of them is in the user's hands */
	bool all_found; /* the file has no more pieces, or they are not wanted */
	u32 loading;	/* pieces that are being loaded */
	u64 reached;	/* the time of the last page that is loaded */
	u64 span;	/* how far the last piece went on in time */
};

struct ks_td_pool {
	const struct ks_tracedat *td;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* there may be something to do for a worker, or stop was set */
	pthread_cond_t ready; /* a piece is done */
	bool stop;
	struct stream *streams;
	size_t streams_len;
	struct ks_td_piece *resting, *newest_resting; /* pieces for new use, in order */
	u64 resting_bytes, resting_len;
	u64 ahead, max_ahead;	     /* bytes of pieces beyond the first of each CPU */
	struct ks_ring_loader users; /* of the user's thread */
	u32 workers_len;
	struct worker workers[KS_POOL_MAX_WORKERS];
};

/* === Internals ============================================================================ */

/* An empty piece; NULL for lack of memory. */
static struct ks_td_piece *new_piece(struct ks_td_pool *pool)
{
	struct ks_td_piece *piece = pool->resting;

	if (pool->resting_bytes < RESTING_BYTES && pool->resting_len < RESTING_PIECES)
		return calloc(1, sizeof(*piece));
	pool->resting = piece->next;
	pool->resting_bytes -= piece->pages.cap;
	pool->resting_len--;
	*piece = (struct ks_td_piece){ .pages = piece->pages };
	return piece;
}

static void rest_piece(struct ks_td_pool *pool, struct ks_td_piece *piece)
{
	if (pool->resting)
		pool->newest_resting->next = piece;
	else
		pool->resting = piece;
	pool->newest_resting = piece;
	pool->resting_bytes += piece->pages.cap;
	pool->resting_len++;
	piece->next = NULL;
}

/*
 * How urgent another piece of the CPU is; the smallest first. It is wanted when the user has gone
 * through those before, and times tell when that will be. Pieces that are being loaded are taken to be
 * as long as the last one.
 */
static u64 urgency(const struct stream *stream)
{
	if (!stream->first)
		return 0;
	return stream->reached ? stream->reached + stream->loading * stream->span : UINT64_MAX;
}

/* The CPU that is to be worked on; NULL: none at the moment. */
static struct stream *choose(struct ks_td_pool *pool)
{
	struct stream *best = NULL;
	u64 first = 0;
	size_t i;

	for (i = 0; i < pool->streams_len; i++) {
		struct stream *stream = &pool->streams[i];
		u64 value;

		if (stream->all_found || (stream->first && pool->ahead >= pool->max_ahead))
			continue;
		value = urgency(stream);
		if (!best || value < first) {
			best = stream;
			first = value;
		}
	}
	return best;
}

/* Appends the CPU's next piece, for the caller to load. NULL for lack of memory. */
static struct ks_td_piece *find_piece(struct ks_td_pool *pool, struct stream *stream)
{
	struct ks_td_piece *piece = new_piece(pool);

	if (!piece)
		return NULL;
	piece->err = ks_ring_file_next(&stream->file, &piece->place, &piece->diag);
	stream->all_found = piece->err || !piece->place.size;
	if (stream->newest) {
		stream->newest->next = piece;
		pool->ahead += piece->place.size;
	} else {
		stream->first = piece;
	}
	stream->newest = piece;
	return piece;
}

static void note_time(struct stream *stream, const struct ks_ring_pages *pages)
{
	u32 page_size = stream->format.page_size;
	size_t count = pages->len / page_size;
	u64 ts;

	if (!count)
		return;
	ts = ks_load(pages->bytes + (count - 1) * page_size, 8,
		     stream->format.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
	if (ts > stream->reached) {
		stream->span = stream->reached ? ts - stream->reached : 0;
		stream->reached = ts;
	}
}

/* Finds and loads the next piece of the CPU. The pool is locked, but for the loading itself. */
static void load_next(struct ks_td_pool *pool, struct stream *stream, struct ks_ring_loader *loader)
{
	struct ks_td_piece *piece = find_piece(pool, stream);

	if (!piece) {
		pool->stop = true;
		return;
	}
	stream->loading++;
	pthread_mutex_unlock(&pool->lock);
	if (!piece->err && piece->place.size)
		piece->err = ks_ring_load(loader, pool->td, stream->file.cpu->cpu, &piece->place,
					  &piece->pages, &piece->diag);
	pthread_mutex_lock(&pool->lock);
	stream->loading--;
	note_time(stream, &piece->pages);
	piece->done = true;
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct ks_td_pool *pool = worker->pool;
	struct stream *stream;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		stream = choose(pool);
		if (!stream) {
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		load_next(pool, stream, &worker->loader);
		pthread_cond_signal(&pool->ready);
	}
	pthread_cond_signal(&pool->ready); /* the user may wait for a piece that will not come */
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Gives back the first piece of the CPU. */
static void drop_first(struct ks_td_pool *pool, struct stream *stream)
{
	struct ks_td_piece *piece = stream->first;

	stream->first = piece->next;
	if (stream->first)
		pool->ahead -= stream->first->place.size;
	else
		stream->newest = NULL;
	rest_piece(pool, piece);
}

static void free_pieces(struct ks_td_piece *piece)
{
	while (piece) {
		struct ks_td_piece *next = piece->next;

		ks_ring_pages_deinit(&piece->pages);
		free(piece);
		piece = next;
	}
}

static int add_streams(struct ks_td_pool *pool, u32 read_size)
{
	const struct ks_tracedat *td = pool->td;
	size_t i, j, total = 0;

	for (i = 0; i < td->buffers.len; i++)
		total += td->buffers.items[i].cpus.len;
	pool->streams = calloc(total + 1, sizeof(*pool->streams));
	if (!pool->streams)
		return -ENOMEM;
	for (i = 0; i < td->buffers.len; i++) {
		const struct ks_td_buffer *buffer = &td->buffers.items[i];

		for (j = 0; j < buffer->cpus.len; j++) {
			struct stream *stream = &pool->streams[pool->streams_len++];

			stream->format = ks_td_ring_format(td, buffer);
			ks_ring_file_init(&stream->file, td, buffer, &buffer->cpus.items[j],
					  read_size);
		}
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_td_pool_new(const struct ks_tracedat *td, u32 workers, u32 read_size,
		   struct ks_td_pool **ret_pool)
{
	struct ks_td_pool *pool = calloc(1, sizeof(*pool));
	struct worker *worker;
	int err;

	if (!pool)
		return -ENOMEM;
	workers = ks_min(workers, (u32)KS_POOL_MAX_WORKERS);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->ready, NULL);
	pool->td = td;
	pool->max_ahead = (u64)AHEAD_BYTES * (workers + 1);
	err = add_streams(pool, read_size);
	/* Workers do not read workers_len: it may change while they run. */
	while (!err && pool->workers_len < workers) {
		worker = &pool->workers[pool->workers_len];
		worker->pool = pool;
		if (pthread_create(&worker->thread, NULL, worker_main, worker))
			break;
		pool->workers_len++;
	}
	if (!pool->workers_len) {
		ks_td_pool_free(pool);
		return err ? err : -EAGAIN;
	}
	*ret_pool = pool;
	return 0;
}

void ks_td_pool_free(struct ks_td_pool *pool)
{
	size_t i;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->workers_len; i++) {
		pthread_join(pool->workers[i].thread, NULL);
		ks_ring_loader_deinit(&pool->workers[i].loader);
	}
	ks_ring_loader_deinit(&pool->users);
	for (i = 0; i < pool->streams_len; i++)
		free_pieces(pool->streams[i].first);
	free_pieces(pool->resting);
	free(pool->streams);
	pthread_cond_destroy(&pool->ready);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

int ks_td_pool_next(struct ks_td_pool *pool, u32 number, struct ks_td_piece **ret_piece)
{
	struct stream *stream = &pool->streams[number], *other;
	bool ready;

	pthread_mutex_lock(&pool->lock);
	if (stream->used) {
		drop_first(pool, stream);
		/* To wake a worker for each piece would cost more than it does in that time. */
		if (pool->ahead <= pool->max_ahead / 2)
			pthread_cond_signal(&pool->work);
	}
	while (!(stream->first && stream->first->done) && !pool->stop) {
		other = stream->first ? choose(pool) : stream;
		if (other)
			load_next(pool, other, &pool->users);
		else
			pthread_cond_wait(&pool->ready, &pool->lock);
	}
	ready = stream->first && stream->first->done;
	stream->used = ready;
	if (ready)
		*ret_piece = stream->first;
	pthread_mutex_unlock(&pool->lock);
	return ready ? 0 : -ENOMEM;
}

void ks_td_pool_end(struct ks_td_pool *pool, u32 number)
{
	struct stream *stream = &pool->streams[number];

	pthread_mutex_lock(&pool->lock);
	stream->all_found = true;
	/* What a worker still loads stays until the pool is freed. */
	while (stream->first && stream->first->done)
		drop_first(pool, stream);
	stream->used = false;
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}
