// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The reader of text logs. Worker threads take chunks of the file in turn and parse them; the
 * caller of next() gets the chunks back in file order, so that the result does not depend on who
 * parsed what. Each worker interns names in tables of its own; the numbers are translated, in file
 * order, when a chunk is handed out.
 *
 * Chunks form a ring. Chunk n is filled under fill_lock by the worker that drew n, parsed by it
 * with no lock held, marked done, used by the caller, and then free for chunk n + chunks_len.
 */
#include "trace/formats.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "trace/text-chunk.h"
#include "trace/text-pairing.h"

/* === Data ================================================================================= */

enum {
	CHUNK_SIZE = 512 * 1024,
	MIN_CHUNK = 64 * 1024,
	MAX_WORKERS = 8,
	MAX_CHUNKS = 2 * MAX_WORKERS + 2,
};

struct chunk {
	struct ks_text_chunk content;
	bool done; /* parsed and not yet used; guarded by text_trace.lock */
	int err;
	struct ks_diag diag;
	struct worker *worker; /* whose numbers the events use */
};

struct worker {
	struct text_trace *trace;
	bool threaded; /* else the caller does its work */
	pthread_t thread;
	struct ks_chunk_parser parser;

	/* The caller's thread only: [table][the worker's number]. */
	KS_VEC(u32) ours[KS_TEXT_TABLES]; /* ours; of frames KS_NONE until one is needed */
	KS_VEC(struct ks_str) texts[KS_TEXT_TABLES]; /* frames and stacks: what they are */
};

struct text_trace {
	struct ks_source base;
	struct ks_input *input;
	bool stacks; /* else they are only counted */
	size_t chunk_size;

	pthread_mutex_t lock;	/* guards these and chunk.done */
	pthread_cond_t changed; /* a chunk became done or free, or stop was set */
	u64 filled, used;	/* chunks so far; number n lives in chunks[n % chunks_len] */
	bool stop;		/* end of input, an error, or the reader is being closed */

	pthread_mutex_t fill_lock; /* guards the input and these; taken before lock */
	char *carry;		   /* the beginning of a line whose end is in the next chunk */
	size_t carry_len;
	bool discarding; /* inside a line that is longer than a chunk */

	/* The caller's thread only. */
	bool holding; /* chunk number `used` was handed out */
	u64 events_seen;
	u64 last_ts;
	struct ks_text_pairing pairing; /* where stacks are wanted */
	u32 workers_len, chunks_len;
	struct worker workers[MAX_WORKERS];
	struct chunk chunks[MAX_CHUNKS];
};

/* === Internals: workers =================================================================== */

/*
 * Reads the next piece of the file and cuts it behind the last newline. A line that does not fit
 * into a chunk counts as not understood, and all of it is dropped.
 */
static int fill_chunk(struct text_trace *tt, struct ks_text_chunk *chunk, bool *ret_end,
		      struct ks_diag *diag)
{
	size_t got, len = tt->carry_len;
	char *newline;
	int err;

	memcpy(chunk->text, tt->carry, len);
	err = ks_input_read(tt->input, chunk->text + len, tt->chunk_size - len, &got, diag);
	if (err)
		return err;
	*ret_end = got < tt->chunk_size - len;
	len += got;
	tt->carry_len = 0;
	chunk->len = 0;
	if (tt->discarding) {
		newline = memchr(chunk->text, '\n', len);
		if (!newline)
			return 0;
		tt->discarding = false;
		len -= (size_t)(newline + 1 - chunk->text);
		memmove(chunk->text, newline + 1, len);
	}
	if (!*ret_end) {
		newline = memrchr(chunk->text, '\n', len);
		if (!newline) {
			tt->discarding = true;
			chunk->info.text.lines++;
			chunk->info.text.unparsed++;
			return 0;
		}
		tt->carry_len = len - (size_t)(newline + 1 - chunk->text);
		memcpy(tt->carry, newline + 1, tt->carry_len);
		len -= tt->carry_len;
	}
	chunk->len = len;
	return 0;
}

/* Draws the next chunk and fills it; NULL when there is nothing left to do. */
static struct chunk *draw_chunk(struct text_trace *tt)
{
	struct chunk *chunk = NULL;
	bool end = false;

	pthread_mutex_lock(&tt->fill_lock);
	pthread_mutex_lock(&tt->lock);
	while (!tt->stop && tt->filled - tt->used >= tt->chunks_len)
		pthread_cond_wait(&tt->changed, &tt->lock);
	if (!tt->stop)
		chunk = &tt->chunks[tt->filled % tt->chunks_len];
	pthread_mutex_unlock(&tt->lock);
	if (chunk) {
		int err = fill_chunk(tt, &chunk->content, &end, &chunk->diag);

		pthread_mutex_lock(&tt->lock);
		tt->filled++;
		chunk->err = err;
		if (err || end)
			tt->stop = true;
		pthread_mutex_unlock(&tt->lock);
	}
	pthread_mutex_unlock(&tt->fill_lock);
	return chunk;
}

/* Fills and parses the next chunk. False when there is nothing left to do. */
static bool work(struct worker *worker)
{
	struct text_trace *tt = worker->trace;
	struct chunk *chunk = draw_chunk(tt);

	if (!chunk)
		return false;
	chunk->worker = worker;
	if (!chunk->err && ks_chunk_parse(&worker->parser, &chunk->content))
		chunk->err = ks_diag_nomem(&chunk->diag, "reading a text log");
	pthread_mutex_lock(&tt->lock);
	chunk->done = true;
	if (chunk->err)
		tt->stop = true;
	pthread_cond_broadcast(&tt->changed);
	pthread_mutex_unlock(&tt->lock);
	return true;
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct text_trace *tt = worker->trace;

	while (work(worker))
		;
	pthread_mutex_lock(
		&tt->lock); /* the caller may be waiting for a chunk that will not come */
	pthread_cond_broadcast(&tt->changed);
	pthread_mutex_unlock(&tt->lock);
	return NULL;
}

/* === Internals: the caller's side ========================================================= */

static void release_held(struct text_trace *tt)
{
	struct chunk *chunk = &tt->chunks[tt->used % tt->chunks_len];

	if (!tt->holding)
		return;
	tt->holding = false;
	ks_chunk_reset(&chunk->content);
	pthread_mutex_lock(&tt->lock);
	chunk->err = 0;
	chunk->done = false;
	tt->used++;
	pthread_cond_broadcast(&tt->changed);
	pthread_mutex_unlock(&tt->lock);
}

/* The next chunk in file order, or NULL at the end. */
static struct chunk *wait_chunk(struct text_trace *tt)
{
	struct chunk *chunk = &tt->chunks[tt->used % tt->chunks_len];

	if (!tt->workers[0].threaded)
		work(&tt->workers[0]);
	pthread_mutex_lock(&tt->lock);
	while (!chunk->done && !(tt->stop && tt->used == tt->filled))
		pthread_cond_wait(&tt->changed, &tt->lock);
	if (!chunk->done)
		chunk = NULL;
	pthread_mutex_unlock(&tt->lock);
	return chunk;
}

static u32 learn_name(struct ks_names *names, enum ks_text_table table, const struct ks_str *name)
{
	switch (table) {
	case KS_TEXT_SITES:
		return ks_sites_add(&names->sites, name->s, name->len);
	case KS_TEXT_CACHES:
		return ks_intern_add(&names->caches, name->s, name->len);
	case KS_TEXT_COMMS:
		return ks_intern_add(&names->comms, name->s, name->len);
	case KS_TEXT_GFPS:
		return ks_intern_add(&names->gfps, name->s, name->len);
	case KS_TEXT_FRAMES:
		return ks_sites_add(&names->frames, name->s, name->len);
	case KS_TEXT_STACKS:
	case KS_TEXT_TABLES:
		break;
	}
	return KS_NONE;
}

/* Frames and stacks have to wait until it is known whether they are of an event of ours. */
static int learn_names(struct text_trace *tt, struct chunk *chunk)
{
	struct worker *worker = chunk->worker;
	int table;
	size_t i;

	for (table = 0; table < KS_TEXT_TABLES; table++)
		for (i = 0; i < chunk->content.new_names[table].len; i++) {
			const struct ks_str *name = &chunk->content.new_names[table].items[i];
			bool later = table == KS_TEXT_FRAMES || table == KS_TEXT_STACKS;
			u32 *our = ks_vec_push(&worker->ours[table]);
			struct ks_str *text = later ? ks_vec_push(&worker->texts[table]) : NULL;

			if (!our || (later && !text))
				return -ENOMEM;
			*our = KS_NONE;
			if (later) {
				*text = *name;
				continue;
			}
			*our = learn_name(&tt->base.names, (enum ks_text_table)table, name);
			if (*our == KS_NONE)
				return -ENOMEM;
		}
	return 0;
}

static void translate(struct text_trace *tt, struct chunk *chunk)
{
	const struct worker *w = chunk->worker;
	size_t i;

	for (i = 0; i < chunk->content.events.len; i++) {
		struct ks_event *ev = &chunk->content.events.items[i];

		if (ev->site != KS_NONE)
			ev->site = w->ours[KS_TEXT_SITES].items[ev->site];
		if (ev->cache != KS_NONE)
			ev->cache = w->ours[KS_TEXT_CACHES].items[ev->cache];
		if (ev->comm != KS_NONE)
			ev->comm = w->ours[KS_TEXT_COMMS].items[ev->comm];
		if (ev->gfp != KS_NONE)
			ev->gfp = w->ours[KS_TEXT_GFPS].items[ev->gfp];
		if (unlikely(ev->kind == KS_LOST) && !ev->ts)
			ev->ts = tt->last_ts; /* its line has no time: it happened about here */
		tt->last_ts = ev->ts;
	}
}

/* Hands on the frames of a worker's stack. */
static int add_frames(struct text_trace *tt, struct worker *worker, u32 stack)
{
	struct ks_str bytes = worker->texts[KS_TEXT_STACKS].items[stack];
	const u32 *theirs = (const u32 *)(const void *)bytes.s; /* an arena's memory is aligned */
	size_t len = bytes.len / sizeof(u32), i;

	for (i = 0; i < len; i++) {
		u32 *our = &worker->ours[KS_TEXT_FRAMES].items[theirs[i]];

		if (*our == KS_NONE)
			*our = learn_name(&tt->base.names, KS_TEXT_FRAMES,
					  &worker->texts[KS_TEXT_FRAMES].items[theirs[i]]);
		if (*our == KS_NONE)
			return -ENOMEM;
		ks_text_pair_frame(&tt->pairing, *our);
	}
	return 0;
}

/* Events from @begin up to @end. A chunk without any has no array of them. */
static int pair_events(struct text_trace *tt, const struct ks_text_chunk *content, size_t begin,
		       size_t end)
{
	if (begin == end)
		return 0;
	return ks_text_pair_events(&tt->pairing, &tt->base, &content->events.items[begin],
				   end - begin);
}

/* Goes through the chunk once more, in order of its lines: the events get their stacks. */
static int pair_stacks(struct text_trace *tt, struct chunk *chunk)
{
	const struct ks_text_chunk *content = &chunk->content;
	size_t i, done = 0;

	for (i = 0; i < content->notes.list.len; i++) {
		const struct ks_stack_note *note = &content->notes.list.items[i];
		bool wanted;

		if (pair_events(tt, content, done, note->at) ||
		    ks_text_pair_note(&tt->pairing, &tt->base, note, &wanted))
			return -ENOMEM;
		done = note->at;
		if (wanted && note->stack != KS_NONE && add_frames(tt, chunk->worker, note->stack))
			return -ENOMEM;
	}
	if (pair_events(tt, content, done, content->events.len))
		return -ENOMEM;
	return ks_text_pair_edge(&tt->pairing, &tt->base, &content->notes);
}

static int merge_info(struct text_trace *tt, struct ks_text_chunk *chunk)
{
	struct ks_source_info *to = &tt->base.info, *from = &chunk->info;
	size_t i;

	to->text.lines += from->text.lines;
	to->text.comments += from->text.comments;
	to->text.other_events += from->text.other_events;
	to->text.stack_lines += from->text.stack_lines;
	to->text.unparsed += from->text.unparsed;
	to->overwritten += from->overwritten;
	if (to->clock == KS_CLOCK_NONE && chunk->clock != KS_CLOCK_NONE)
		ks_source_set_clock(&tt->base, chunk->clock);
	for (i = 0; i < from->text.samples.len && to->text.samples.len < KS_UNPARSED_KEPT; i++) {
		char **sample = ks_vec_push(&to->text.samples);

		if (!sample)
			return -ENOMEM;
		*sample = from->text.samples.items[i];
		from->text.samples.items[i] = NULL;
	}
	return 0;
}

/* What a log without a kmem event seems to be. */
static const char *what_instead(const struct ks_source_info *info)
{
	if (info->text.other_events)
		return "an ftrace log of other events";
	if (info->text.lines == info->text.comments)
		return "an ftrace log without any event: enable events/kmem before the load";
	return "plain text";
}

/* At the end: were the addresses hashed? And was there anything at all? */
static int finish(struct text_trace *tt, struct ks_diag *diag)
{
	struct ks_source_info *info = &tt->base.info;
	u64 wide = 0, low = 0, w, l;
	u32 i;

	for (i = 0; i < tt->workers_len; i++) {
		ks_line_parser_ptr_stats(tt->workers[i].parser.lines, &w, &l);
		wide += w;
		low += l;
	}
	info->ptrs_hashed = wide && wide == low;
	if (tt->events_seen)
		return 0;
	return ks_diag_set(
		diag, KS_EBADINPUT,
		"%s: no kmem event in it; it looks like %s (lines: %llu, other events: %llu)%s%.60s%s",
		ks_input_name(tt->input), what_instead(info), (unsigned long long)info->text.lines,
		(unsigned long long)info->text.other_events,
		info->text.samples.len ? "; first line not understood: \"" : "",
		info->text.samples.len ? info->text.samples.items[0] : "",
		info->text.samples.len ? "\"" : "");
}

/* What there is to hand out of a chunk, or at the end. */
static int take_batch(struct text_trace *tt, struct chunk *chunk, struct ks_batch *ret_batch)
{
	int err = 0;

	if (!tt->stacks) {
		*ret_batch = chunk ? (struct ks_batch){ chunk->content.events.items,
							chunk->content.events.len }
				   : (struct ks_batch){ NULL, 0 };
	} else {
		err = chunk ? pair_stacks(tt, chunk)
			    : ks_text_pair_edge(&tt->pairing, &tt->base, NULL);
		if (!err)
			ks_stack_pairing_take(&tt->pairing.pairs, !chunk, ret_batch);
		tt->base.info.stacks_alone = tt->pairing.pairs.alone;
	}
	return err;
}

static int text_next(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct text_trace *tt = ks_container_of(source, struct text_trace, base);
	struct chunk *chunk;

	do {
		release_held(tt);
		chunk = wait_chunk(tt);
		tt->holding = chunk;
		if (chunk && chunk->err) {
			if (diag)
				*diag = chunk->diag;
			return chunk->err;
		}
		if (chunk) {
			if (learn_names(tt, chunk) || merge_info(tt, &chunk->content))
				return ks_diag_nomem(diag, "reading a text log");
			translate(tt, chunk);
			tt->events_seen += chunk->content.events.len;
		}
		if (take_batch(tt, chunk, ret_batch))
			return ks_diag_nomem(diag, "reading a text log");
	} while (chunk && !ret_batch->count);
	return ret_batch->count ? 0 : finish(tt, diag);
}

static void text_close(struct ks_source *source)
{
	struct text_trace *tt = ks_container_of(source, struct text_trace, base);
	int table;
	u32 i;

	pthread_mutex_lock(&tt->lock);
	tt->stop = true;
	pthread_cond_broadcast(&tt->changed);
	pthread_mutex_unlock(&tt->lock);
	for (i = 0; i < tt->workers_len; i++) {
		struct worker *worker = &tt->workers[i];

		if (worker->threaded)
			pthread_join(worker->thread, NULL);
		ks_line_parser_free(worker->parser.lines);
		for (table = 0; table < KS_TEXT_TABLES; table++) {
			ks_vec_free(&worker->ours[table]);
			ks_vec_free(&worker->texts[table]);
		}
	}
	for (i = 0; i < MAX_CHUNKS; i++)
		ks_chunk_deinit(&tt->chunks[i].content);
	ks_stack_pairing_deinit(&tt->pairing.pairs);
	free(tt->carry);
	ks_input_close(tt->input);
	pthread_cond_destroy(&tt->changed);
	pthread_mutex_destroy(&tt->fill_lock);
	pthread_mutex_destroy(&tt->lock);
	ks_source_free(source);
}

static void text_progress(struct ks_source *source, u64 *ret_done, u64 *ret_total)
{
	ks_input_progress(((struct text_trace *)source)->input, ret_done, ret_total);
}

static const struct ks_source_ops text_ops = {
	.next = text_next,
	.close = text_close,
	.progress = text_progress,
};

static int start_worker(struct text_trace *tt, bool threaded)
{
	struct worker *worker = &tt->workers[tt->workers_len];

	worker->trace = tt;
	worker->parser.stacks = tt->stacks;
	if (ks_line_parser_new(&worker->parser.lines))
		return -ENOMEM;
	worker->threaded = threaded;
	if (threaded && pthread_create(&worker->thread, NULL, worker_main, worker)) {
		ks_line_parser_free(worker->parser.lines);
		worker->parser.lines = NULL;
		return -EAGAIN;
	}
	tt->workers_len++;
	return 0;
}

/* === Public =============================================================================== */

int ks_text_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag)
{
	u32 workers = ks_min(ks_parallel_cpus(), (u32)MAX_WORKERS);
	u64 size = ks_input_size(input);

	/* A thread has nothing to do beside the caller where all fits into one chunk. The file may still grow. */
	if (size && size < CHUNK_SIZE)
		return ks_text_source_open_cut(input, opts,
					       ks_max((size_t)size + 1, (size_t)MIN_CHUNK), 0,
					       ret_source, diag);
	return ks_text_source_open_cut(input, opts, CHUNK_SIZE, workers, ret_source, diag);
}

int ks_text_source_open_cut(struct ks_input *input, const struct ks_source_opts *opts,
			    size_t chunk_size, u32 workers, struct ks_source **ret_source,
			    struct ks_diag *diag)
{
	struct text_trace *tt = ks_source_new(sizeof(*tt), &text_ops, "ftrace text", opts);
	u32 i;

	if (!tt) {
		ks_input_close(input);
		return ks_diag_nomem(diag, "opening a text log");
	}
	workers = ks_min(workers, (u32)MAX_WORKERS);
	tt->input = input;
	tt->stacks = tt->base.opts.stacks || tt->base.opts.helpers;
	tt->chunk_size = chunk_size;
	pthread_mutex_init(&tt->lock, NULL);
	pthread_mutex_init(&tt->fill_lock, NULL);
	pthread_cond_init(&tt->changed, NULL);
	tt->chunks_len = workers ? 2 * workers + 2 : 1;
	tt->carry = malloc(chunk_size);
	for (i = 0; i < tt->chunks_len && tt->carry; i++) {
		tt->chunks[i].content.text = calloc(1, chunk_size + KS_LINE_SLACK);
		if (!tt->chunks[i].content.text)
			break;
	}
	if (i < tt->chunks_len)
		goto nomem;
	if (!workers)
		start_worker(tt, false);
	while (tt->workers_len < workers && !start_worker(tt, true))
		;
	if (!tt->workers_len)
		goto nomem;
	*ret_source = &tt->base;
	return 0;
nomem:
	text_close(&tt->base);
	return ks_diag_nomem(diag, "opening a text log");
}
