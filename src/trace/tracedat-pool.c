// SPDX-License-Identifier: LGPL-2.1-only
/* Worker threads that load and decode the pages of a trace.dat. */
#include "trace/tracedat-pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum { MAX_AHEAD = 4 }; /* pieces of one CPU that are decoded or being decoded */

struct worker {
	struct ks_td_pool *pool;
	u32 number;
	pthread_t thread;
	struct ks_names names; /* whose numbers the events use */
	struct ks_rawdec dec;
	struct ks_ring_loader loader;
	struct ks_rawnames published; /* guarded by the pool's lock */
	struct ks_rawmap map;	      /* the user's */
};

/* One CPU. Guarded by the pool's lock. */
struct stream {
	struct ks_ring_file file;
	struct ks_ring_format format;
	struct ks_piece *first, *newest; /* pieces that are not given back, in order */
	u32 len;
	bool used;	/* the first of them is in the user's hands */
	bool all_found; /* the file has no more pieces, or they are not wanted */
};

struct ks_td_pool {
	const struct ks_tracedat *td;
	bool stacks;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* there may be something to do for a worker, or stop was set */
	pthread_cond_t ready; /* a piece is done */
	bool stop;
	struct stream *streams;
	size_t streams_len;
	struct ks_piece *free;
	u32 ahead, max_ahead; /* pieces beyond the first of each CPU */
	u32 workers_len;
	struct worker workers[KS_POOL_MAX_WORKERS];
};

/* === Internals: decoding ================================================================== */

static int push(struct ks_piece *piece, struct ks_event ev)
{
	if (ks_vec_reserve(&piece->items.vec, piece->items.vec.len + 1))
		return -ENOMEM;
	piece->items.vec.items[piece->items.vec.len++] = ev;
	return 0;
}

/*
 * Keeps what ks_merge has to know of records that are left out: an item is not earlier than the
 * latest of those in front of it. One time stands for all of them.
 */
static int push_time(struct ks_piece *piece, u64 ts, u64 *left_out)
{
	u64 latest = *left_out;

	*left_out = 0;
	return latest > ts ? push(piece, ks_event_blank(KS_ITEM_TIME, latest, 0)) : 0;
}

static int push_loss(struct ks_piece *piece, const struct ks_ring *ring, u64 *left_out)
{
	struct ks_event ev = ks_event_blank(KS_LOST, ring->ts, 0);

	ev.lost.count = ring->lost;
	return push_time(piece, ring->ts, left_out) ? -ENOMEM : push(piece, ev);
}

/* A record that is not a kmem event. */
static int pass_record(const struct ks_td_pool *pool, struct ks_piece *piece,
		       const struct ks_ring *ring, enum ks_raw_class class, u64 *left_out)
{
	struct ks_event ev;

	piece->other += class == KS_RAW_OTHER;
	piece->stacks += class == KS_RAW_STACK;
	piece->bad_records += class == KS_RAW_BAD;
	if (!pool->stacks) {
		*left_out = ks_max(*left_out, ring->ts);
		return 0;
	}
	ev = ks_event_blank(class == KS_RAW_STACK ? KS_ITEM_STACK : KS_ITEM_OTHER, ring->ts, 0);
	ev.ptr = (uintptr_t)ring->data;
	ev.bytes_req = ring->len;
	return push(piece, ev);
}

/*
 * Takes records of the page as long as they are events and there is room for them. The record that it
 * stops at is not taken. True at the end of the page. Only for captures of this machine's byte order:
 * then the ring can stay in registers.
 */
static bool decode_events(struct worker *worker, struct ks_piece *piece, struct ks_ring *on)
{
	struct ks_ring ring = *on;
	struct ks_event *ev = piece->items.vec.items + piece->items.vec.len;
	struct ks_event *end = piece->items.vec.items + piece->items.vec.cap;
	bool more = true;

	while (more && ev < end &&
	       ks_rawdec_decode_as(&worker->dec, ring.data, ring.len, false, ev) == KS_RAW_EVENT) {
		ev->ts = ring.ts;
		ev->flags = ring.data[2];
		ev++;
		more = ks_ring_step_as(&ring, false, false);
	}
	piece->items.vec.len = (size_t)(ev - piece->items.vec.items);
	*on = ring;
	return !more;
}

/* One record of any kind. */
static int decode_record(struct worker *worker, struct ks_piece *piece, struct ks_ring *ring,
			 u64 *left_out)
{
	enum ks_raw_class class;
	struct ks_event ev;

	if (!piece->any) {
		piece->any = true;
		piece->first_ts = ring->ts;
		piece->first_lost = ring->lost_here;
	}
	if (ring->lost_here && push_loss(piece, ring, left_out))
		return -ENOMEM;
	class = ks_rawdec_decode(&worker->dec, ring->data, ring->len, &ev);
	if (class != KS_RAW_EVENT)
		return pass_record(worker->pool, piece, ring, class, left_out);
	ev.ts = ring->ts;
	ev.flags = ring->data[2];
	return push_time(piece, ring->ts, left_out) ? -ENOMEM : push(piece, ev);
}

static int decode(struct worker *worker, struct ks_piece *piece, struct ks_ring *ring)
{
	bool native = !ring->swap && !ring->format.big_endian;
	u64 left_out = 0;

	if (push(piece, ks_event_blank(KS_ITEM_TIME, 0, 0)))
		return -ENOMEM;
	while (ks_ring_next(ring)) {
		/* decode_record() also puts losses and times in front of an event. */
		if (native && piece->any && !ring->lost_here && !left_out &&
		    decode_events(worker, piece, ring))
			continue;
		if (decode_record(worker, piece, ring, &left_out))
			return -ENOMEM;
	}
	return push_time(piece, 0, &left_out);
}

static void swap_pages(struct ks_ring_loader *a, struct ks_ring_loader *b)
{
	u8 *pages = a->pages;
	size_t cap = a->pages_cap;

	a->pages = b->pages;
	a->pages_cap = b->pages_cap;
	b->pages = pages;
	b->pages_cap = cap;
}

static void fill_piece(struct worker *worker, struct ks_piece *piece,
		       const struct ks_ring_format *format, u32 cpu)
{
	struct ks_td_pool *pool = worker->pool;
	struct ks_ring_loader *loader = &worker->loader;
	struct ks_ring ring;

	if (!piece->place.size)
		return;
	piece->err = ks_ring_load(loader, pool->td, cpu, &piece->place, &piece->diag);
	if (piece->err == KS_EBADINPUT && pool->td->journal) {
		/* Blocks that a power cut left without content: this CPU ends here. */
		piece->err = 0;
		piece->bad_pages = piece->place.following + 1;
		piece->last = true;
		return;
	}
	if (piece->err)
		return;
	piece->bytes_read = piece->place.stored;
	ks_ring_init(&ring, *format);
	ks_ring_feed(&ring, loader->pages, loader->pages_len);
	if (decode(worker, piece, &ring) || worker->dec.nomem)
		piece->err = ks_diag_nomem(&piece->diag, "reading a trace.dat");
	piece->end_ts = ring.ts;
	piece->lost_here = ring.lost_here;
	piece->lost = ring.lost;
	piece->bad_pages = ring.bad;
	if (pool->stacks)
		swap_pages(loader, &piece->loader);
}

/* === Internals: sharing the work ========================================================== */

/* An empty piece; NULL for lack of memory. */
static struct ks_piece *new_piece(struct ks_td_pool *pool)
{
	struct ks_piece *piece = pool->free, blank = { 0 };

	if (!piece)
		return calloc(1, sizeof(*piece));
	pool->free = piece->next;
	blank.items = piece->items;
	blank.items.vec.len = 0;
	blank.loader = piece->loader;
	*piece = blank;
	return piece;
}

/*
 * How urgent another piece of the CPU is; the smallest first. It is wanted when the user has gone
 * through those before, and times tell when that will be.
 */
static u64 urgency(const struct stream *stream)
{
	const struct ks_piece *newest = stream->newest;

	if (!newest)
		return 0;
	if (!newest->done || !newest->items.vec.len)
		return UINT64_MAX;
	return newest->items.vec.items[newest->items.vec.len - 1].ts;
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

		if (stream->all_found || stream->len >= MAX_AHEAD ||
		    (stream->len && pool->ahead >= pool->max_ahead))
			continue;
		value = urgency(stream);
		if (!best || value < first) {
			best = stream;
			first = value;
		}
	}
	return best;
}

/* Appends the CPU's next piece, for the caller to fill. NULL for lack of memory: then all stops. */
static struct ks_piece *find_piece(struct ks_td_pool *pool, struct stream *stream)
{
	struct ks_piece *piece = new_piece(pool);

	if (!piece)
		return NULL;
	piece->err = ks_ring_file_next(&stream->file, &piece->place, &piece->diag);
	piece->last = piece->err || !piece->place.size;
	stream->all_found = piece->last;
	if (stream->newest)
		stream->newest->next = piece;
	else
		stream->first = piece;
	stream->newest = piece;
	pool->ahead += stream->len > 0;
	stream->len++;
	return piece;
}

/* Gives back the first piece of the CPU. */
static void drop_first(struct ks_td_pool *pool, struct stream *stream)
{
	struct ks_piece *piece = stream->first;

	stream->first = piece->next;
	if (!stream->first)
		stream->newest = NULL;
	stream->len--;
	pool->ahead -= stream->len > 0;
	piece->next = pool->free;
	pool->free = piece;
}

static void finish_piece(struct worker *worker, struct ks_piece *piece)
{
	piece->worker = worker->number;
	if (!piece->err && ks_rawnames_publish(&worker->published, &worker->dec))
		piece->err = ks_diag_nomem(&piece->diag, "reading a trace.dat");
	piece->done = true;
	pthread_cond_signal(&worker->pool->ready);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct ks_td_pool *pool = worker->pool;
	struct stream *stream;
	struct ks_piece *piece;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		stream = choose(pool);
		if (!stream) {
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		piece = find_piece(pool, stream);
		if (!piece) {
			pool->stop = true;
			break;
		}
		pthread_mutex_unlock(&pool->lock);
		if (!piece->err)
			fill_piece(worker, piece, &stream->format, stream->file.cpu->cpu);
		pthread_mutex_lock(&pool->lock);
		finish_piece(worker, piece);
	}
	pthread_cond_signal(&pool->ready); /* the user may wait for a piece that will not come */
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static int start_worker(struct ks_td_pool *pool, const struct ks_rawdec *dec)
{
	struct worker *worker = &pool->workers[pool->workers_len];

	worker->pool = pool;
	worker->number = pool->workers_len;
	if (ks_names_init(&worker->names))
		return -ENOMEM;
	if (ks_rawdec_init_local(&worker->dec, dec, &worker->names)) {
		ks_names_deinit(&worker->names);
		return -ENOMEM;
	}
	if (pthread_create(&worker->thread, NULL, worker_main, worker)) {
		ks_rawdec_deinit(&worker->dec);
		ks_names_deinit(&worker->names);
		return -EAGAIN;
	}
	pool->workers_len++;
	return 0;
}

static void free_pieces(struct ks_piece *piece)
{
	while (piece) {
		struct ks_piece *next = piece->next;

		ks_vec_free(&piece->items.vec);
		ks_ring_loader_deinit(&piece->loader);
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

int ks_td_pool_new(const struct ks_tracedat *td, const struct ks_rawdec *dec,
		   const struct ks_pool_opts *opts, struct ks_td_pool **ret_pool)
{
	struct ks_td_pool *pool = calloc(1, sizeof(*pool));
	u32 workers = ks_min(opts->workers, (u32)KS_POOL_MAX_WORKERS);
	int err;

	if (!pool)
		return -ENOMEM;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->ready, NULL);
	pool->td = td;
	pool->stacks = opts->stacks;
	pool->max_ahead = 2 * workers + 2;
	err = add_streams(pool, opts->read_size);
	/* A worker reads workers_len of none but itself: those that start do not matter to it. */
	while (!err && pool->workers_len < workers)
		err = start_worker(pool, dec);
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
		struct worker *worker = &pool->workers[i];

		pthread_join(worker->thread, NULL);
		ks_rawdec_deinit(&worker->dec);
		ks_names_deinit(&worker->names);
		ks_ring_loader_deinit(&worker->loader);
		ks_rawnames_deinit(&worker->published);
		ks_rawmap_deinit(&worker->map);
	}
	for (i = 0; i < pool->streams_len; i++)
		free_pieces(pool->streams[i].first);
	free_pieces(pool->free);
	free(pool->streams);
	pthread_cond_destroy(&pool->ready);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

int ks_td_pool_next(struct ks_td_pool *pool, u32 number, struct ks_piece **ret_piece)
{
	struct stream *stream = &pool->streams[number];
	struct worker *worker;
	int err;

	pthread_mutex_lock(&pool->lock);
	if (stream->used) {
		drop_first(pool, stream);
		pthread_cond_signal(&pool->work);
	}
	while (!(stream->first && stream->first->done) && !pool->stop)
		pthread_cond_wait(&pool->ready, &pool->lock);
	stream->used = stream->first && stream->first->done;
	if (!stream->used) {
		pthread_mutex_unlock(&pool->lock);
		return -ENOMEM;
	}
	worker = &pool->workers[stream->first->worker];
	err = ks_rawmap_sync(&worker->map, &worker->published);
	stream->first->map = &worker->map;
	*ret_piece = stream->first;
	pthread_mutex_unlock(&pool->lock);
	return err;
}

void ks_td_pool_end(struct ks_td_pool *pool, u32 number)
{
	struct stream *stream = &pool->streams[number];

	pthread_mutex_lock(&pool->lock);
	stream->all_found = true;
	/* What a worker still has is its own until the pool is freed. */
	while (stream->first && stream->first->done)
		drop_first(pool, stream);
	stream->used = false;
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}
