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
#include <unistd.h>

#include "trace/text-line.h"
#include "trace/text-stack.h"

/* === Data ================================================================================= */

enum {
	CHUNK_SIZE = 512 * 1024,
	MAX_WORKERS = 8,
	MAX_CHUNKS = 2 * MAX_WORKERS + 2,
	SAMPLE_MAX = 400, /* bytes kept of a line that was not understood */
};

enum table { SITES, CACHES, COMMS, GFPS, FRAMES, STACKS, TABLES };

struct chunk {
	char *text; /* CHUNK_SIZE and slack */
	size_t len;
	bool done; /* parsed and not yet used; guarded by text_trace.lock */
	int err;
	struct ks_diag diag;
	struct worker *worker;	   /* whose numbers the events use */
	struct ks_trace_info info; /* line counts and samples of this chunk */
	enum ks_line_clock clock;
	KS_VEC(struct ks_event) events;
	/*
	 * Names that are new in this chunk, in order of their numbers. The worker's tables grow on
	 * while the caller reads these, but the strings themselves never move.
	 */
	KS_VEC(struct ks_str) new_names[TABLES];
};

struct worker {
	struct text_trace *trace;
	pthread_t thread;
	struct ks_line_parser *parser;
	struct ks_stack_reader stack;
	u32 announced[TABLES]; /* names that its earlier chunks made known */
	/* [table][the worker's number] = ours; the caller's thread only. */
	KS_VEC(u32) ours[TABLES];
};

struct text_trace {
	struct ks_trace base;
	struct ks_input *input;
	bool stacks; /* else they are only counted */

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
	u32 workers_len, chunks_len;
	struct worker workers[MAX_WORKERS];
	struct chunk chunks[MAX_CHUNKS];
};

/* === Internals: workers =================================================================== */

/*
 * Reads the next piece of the file and cuts it behind the last newline. A line that does not fit
 * into a chunk counts as not understood, and all of it is dropped.
 */
static int fill_chunk(struct text_trace *tt, struct chunk *chunk, bool *ret_end)
{
	size_t got, len = tt->carry_len;
	char *newline;
	int err;

	memcpy(chunk->text, tt->carry, len);
	err = ks_input_read(tt->input, chunk->text + len, CHUNK_SIZE - len, &got, &chunk->diag);
	if (err)
		return err;
	*ret_end = got < CHUNK_SIZE - len;
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
			chunk->info.lines++;
			chunk->info.lines_unparsed++;
			return 0;
		}
		/* A stack trace stays with its event. */
		if (tt->stacks)
			newline = ks_stack_cut(chunk->text, newline);
		tt->carry_len = len - (size_t)(newline + 1 - chunk->text);
		memcpy(tt->carry, newline + 1, tt->carry_len);
		len -= tt->carry_len;
	}
	chunk->len = len;
	return 0;
}

static int keep_sample(struct chunk *chunk, const char *line, size_t len)
{
	char **sample;

	if (chunk->info.unparsed.len >= KS_UNPARSED_KEPT)
		return 0;
	sample = ks_vec_push(&chunk->info.unparsed);
	if (!sample)
		return -ENOMEM;
	*sample = strndup(line, ks_min(len, (size_t)SAMPLE_MAX));
	return *sample ? 0 : -ENOMEM;
}

static int parse_line(struct worker *worker, struct chunk *chunk, const char *line, size_t len)
{
	struct ks_trace_info *info = &chunk->info;
	struct ks_names *names = ks_line_parser_names(worker->parser);
	enum ks_line_class class;
	struct ks_event *ev;

	if (ks_vec_reserve(&chunk->events, chunk->events.len + 1))
		return -ENOMEM;
	ev = &chunk->events.items[chunk->events.len];
	if (ks_line_parse(worker->parser, line, len, &class, ev))
		return -ENOMEM;
	info->lines++;
	if (unlikely(worker->stack.reading) && class != KS_LINE_STACK &&
	    ks_stack_end(&worker->stack, names, chunk->events.items))
		return -ENOMEM;
	switch (class) {
	case KS_LINE_EVENT:
		chunk->events.len++;
		return 0;
	case KS_LINE_OTHER_EVENT:
		info->lines_other_event++;
		if (worker->trace->stacks)
			ks_stack_pass(&worker->stack);
		return 0;
	case KS_LINE_OVERWRITTEN:
		info->overwritten += ev->bytes_req;
		info->lines_comment++;
		return 0;
	case KS_LINE_COMMENT:
		info->lines_comment++;
		return 0;
	case KS_LINE_STACK:
		info->lines_stack++;
		if (!worker->trace->stacks)
			return 0;
		return ks_stack_line(&worker->stack, names, line, len, ev, chunk->events.items,
				     chunk->events.len);
	case KS_LINE_UNPARSED:
		break;
	}
	info->lines_unparsed++;
	return keep_sample(chunk, line, len);
}

static int parse_chunk(struct worker *worker, struct chunk *chunk)
{
	struct ks_names *names = ks_line_parser_names(worker->parser);
	const struct ks_intern *tables[TABLES] = { &names->sites.texts,	 &names->caches,
						   &names->comms,	 &names->gfps,
						   &names->frames.texts, &names->stacks };
	const char *p = chunk->text, *end = p + chunk->len;
	int table;

	ks_stack_reader_init(&worker->stack, worker->trace->base.opts.blame);
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((newline ? newline : end) - p);

		if (parse_line(worker, chunk, p, len))
			return -ENOMEM;
		p += len + 1;
	}
	if (ks_stack_end(&worker->stack, names, chunk->events.items))
		return -ENOMEM;
	chunk->clock = ks_line_parser_clock(worker->parser);
	for (table = 0; table < TABLES; table++) {
		u32 *known = &worker->announced[table];

		for (; *known < tables[table]->strs.len; ++*known) {
			struct ks_str *name = ks_vec_push(&chunk->new_names[table]);

			if (!name)
				return -ENOMEM;
			*name = tables[table]->strs.items[*known];
		}
	}
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
		int err = fill_chunk(tt, chunk, &end);

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

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct text_trace *tt = worker->trace;
	struct chunk *chunk;

	while ((chunk = draw_chunk(tt))) {
		chunk->worker = worker;
		if (!chunk->err && parse_chunk(worker, chunk))
			chunk->err = ks_diag_nomem(&chunk->diag, "reading a text log");
		pthread_mutex_lock(&tt->lock);
		chunk->done = true;
		if (chunk->err)
			tt->stop = true;
		pthread_cond_broadcast(&tt->changed);
		pthread_mutex_unlock(&tt->lock);
	}
	pthread_mutex_lock(
		&tt->lock); /* the caller may be waiting for a chunk that will not come */
	pthread_cond_broadcast(&tt->changed);
	pthread_mutex_unlock(&tt->lock);
	return NULL;
}

/* === Internals: the caller's side ========================================================= */

static void reset_chunk(struct chunk *chunk)
{
	int table;
	size_t i;

	for (i = 0; i < chunk->info.unparsed.len; i++)
		free(chunk->info.unparsed.items[i]);
	ks_vec_free(&chunk->info.unparsed);
	memset(&chunk->info, 0, sizeof(chunk->info));
	chunk->events.len = 0;
	for (table = 0; table < TABLES; table++)
		chunk->new_names[table].len = 0;
	chunk->err = 0;
	chunk->done = false;
}

static void release_held(struct text_trace *tt)
{
	if (!tt->holding)
		return;
	tt->holding = false;
	pthread_mutex_lock(&tt->lock);
	reset_chunk(&tt->chunks[tt->used % tt->chunks_len]);
	tt->used++;
	pthread_cond_broadcast(&tt->changed);
	pthread_mutex_unlock(&tt->lock);
}

/* The next chunk in file order, or NULL at the end. */
static struct chunk *wait_chunk(struct text_trace *tt)
{
	struct chunk *chunk = &tt->chunks[tt->used % tt->chunks_len];

	pthread_mutex_lock(&tt->lock);
	while (!chunk->done && !(tt->stop && tt->used == tt->filled))
		pthread_cond_wait(&tt->changed, &tt->lock);
	if (!chunk->done)
		chunk = NULL;
	pthread_mutex_unlock(&tt->lock);
	return chunk;
}

/* Its frames, which the worker numbered, are known by now. */
static u32 learn_stack(struct ks_names *names, const struct worker *worker,
		       const struct ks_str *stack)
{
	const u32 *theirs = (const u32 *)(const void *)stack->s; /* an arena's memory is aligned */
	size_t len = stack->len / sizeof(u32), i;
	u32 frames[KS_STACK_MAX];

	for (i = 0; i < len; i++)
		frames[i] = worker->ours[FRAMES].items[theirs[i]];
	return ks_names_add_stack(names, frames, len);
}

static u32 learn_name(struct ks_names *names, enum table table, const struct worker *worker,
		      const struct ks_str *name)
{
	switch (table) {
	case SITES:
		return ks_sites_add(&names->sites, name->s, name->len);
	case CACHES:
		return ks_intern_add(&names->caches, name->s, name->len);
	case COMMS:
		return ks_intern_add(&names->comms, name->s, name->len);
	case GFPS:
		return ks_intern_add(&names->gfps, name->s, name->len);
	case FRAMES:
		return ks_sites_add(&names->frames, name->s, name->len);
	case STACKS:
		return learn_stack(names, worker, name);
	case TABLES:
		break;
	}
	return KS_NONE;
}

static int learn_names(struct text_trace *tt, struct chunk *chunk)
{
	int table;
	size_t i;

	for (table = 0; table < TABLES; table++)
		for (i = 0; i < chunk->new_names[table].len; i++) {
			const struct ks_str *name = &chunk->new_names[table].items[i];
			u32 *our = ks_vec_push(&chunk->worker->ours[table]);

			if (!our)
				return -ENOMEM;
			*our = learn_name(&tt->base.names, (enum table)table, chunk->worker, name);
			if (*our == KS_NONE)
				return -ENOMEM;
		}
	return 0;
}

static void translate(struct text_trace *tt, struct chunk *chunk)
{
	const struct worker *w = chunk->worker;
	struct ks_event *ev = chunk->events.items, *end = ev + chunk->events.len;

	for (; ev < end; ev++) {
		if (ev->site != KS_NONE)
			ev->site = w->ours[SITES].items[ev->site];
		if (ev->cache != KS_NONE)
			ev->cache = w->ours[CACHES].items[ev->cache];
		if (ev->comm != KS_NONE)
			ev->comm = w->ours[COMMS].items[ev->comm];
		if (ev->gfp != KS_NONE)
			ev->gfp = w->ours[GFPS].items[ev->gfp];
		if (unlikely(ev->stack != KS_NONE))
			ev->stack = w->ours[STACKS].items[ev->stack];
		if (unlikely(ev->kind == KS_LOST) && !ev->ts)
			ev->ts = tt->last_ts; /* its line has no time: it happened about here */
		tt->last_ts = ev->ts;
	}
}

static int merge_info(struct text_trace *tt, struct chunk *chunk)
{
	struct ks_trace_info *to = &tt->base.info, *from = &chunk->info;
	size_t i;

	to->lines += from->lines;
	to->lines_comment += from->lines_comment;
	to->lines_other_event += from->lines_other_event;
	to->lines_stack += from->lines_stack;
	to->lines_unparsed += from->lines_unparsed;
	to->overwritten += from->overwritten;
	if (!strcmp(to->clock, "none") && chunk->clock != KS_CLOCK_NONE)
		to->clock = chunk->clock == KS_CLOCK_SECONDS ? "seconds" : "ticks";
	for (i = 0; i < from->unparsed.len && to->unparsed.len < KS_UNPARSED_KEPT; i++) {
		char **sample = ks_vec_push(&to->unparsed);

		if (!sample)
			return -ENOMEM;
		*sample = from->unparsed.items[i];
		from->unparsed.items[i] = NULL;
	}
	return 0;
}

/* An object's line of an access map: addresses and numbers, parted by commas. */
static bool is_map_line(const char *line)
{
	size_t len = strspn(line, "0123456789abcdef");

	return len >= 8 && line[len] == ',' &&
	       line[len + 1 + strspn(line + len + 1, "0123456789")] == ',';
}

/* What a log without a kmem event seems to be. */
static const char *what_instead(const struct ks_trace_info *info)
{
	if (info->lines_other_event)
		return "an ftrace log of other events";
	if (info->lines == info->lines_comment)
		return "an ftrace log without any event: enable events/kmem before the load";
	if (info->unparsed.len && is_map_line(info->unparsed.items[0]))
		return "an access map, to be read with 'kmemscope kmap report'";
	return "plain text";
}

/* At the end: were the addresses hashed? And was there anything at all? */
static int finish(struct text_trace *tt, struct ks_diag *diag)
{
	struct ks_trace_info *info = &tt->base.info;
	u64 wide = 0, low = 0, w, l;
	u32 i;

	for (i = 0; i < tt->workers_len; i++) {
		ks_line_parser_ptr_stats(tt->workers[i].parser, &w, &l);
		wide += w;
		low += l;
	}
	info->ptrs_hashed = wide && wide == low;
	if (tt->events_seen)
		return 0;
	return ks_diag_set(
		diag, KS_EBADINPUT,
		"%s: no kmem event in it; it looks like %s (lines: %llu, other events: %llu)%s%.60s%s",
		ks_input_name(tt->input), what_instead(info), (unsigned long long)info->lines,
		(unsigned long long)info->lines_other_event,
		info->unparsed.len ? "; first line not understood: \"" : "",
		info->unparsed.len ? info->unparsed.items[0] : "", info->unparsed.len ? "\"" : "");
}

static int text_next(struct ks_trace *trace, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct text_trace *tt = (struct text_trace *)trace;
	struct chunk *chunk;

	for (;;) {
		release_held(tt);
		chunk = wait_chunk(tt);
		if (!chunk) {
			*ret_batch = (struct ks_batch){ NULL, 0 };
			return finish(tt, diag);
		}
		tt->holding = true;
		if (chunk->err) {
			if (diag)
				*diag = chunk->diag;
			return chunk->err;
		}
		if (learn_names(tt, chunk) || merge_info(tt, chunk))
			return ks_diag_nomem(diag, "reading a text log");
		if (!chunk->events.len)
			continue;
		translate(tt, chunk);
		tt->events_seen += chunk->events.len;
		*ret_batch = (struct ks_batch){ chunk->events.items, chunk->events.len };
		return 0;
	}
}

static void text_close(struct ks_trace *trace)
{
	struct text_trace *tt = (struct text_trace *)trace;
	int table;
	u32 i;

	pthread_mutex_lock(&tt->lock);
	tt->stop = true;
	pthread_cond_broadcast(&tt->changed);
	pthread_mutex_unlock(&tt->lock);
	for (i = 0; i < tt->workers_len; i++) {
		struct worker *worker = &tt->workers[i];

		pthread_join(worker->thread, NULL);
		ks_line_parser_free(worker->parser);
		for (table = 0; table < TABLES; table++)
			ks_vec_free(&worker->ours[table]);
	}
	for (i = 0; i < MAX_CHUNKS; i++) {
		struct chunk *chunk = &tt->chunks[i];

		reset_chunk(chunk);
		ks_vec_free(&chunk->events);
		for (table = 0; table < TABLES; table++)
			ks_vec_free(&chunk->new_names[table]);
		free(chunk->text);
	}
	free(tt->carry);
	ks_input_close(tt->input);
	pthread_cond_destroy(&tt->changed);
	pthread_mutex_destroy(&tt->fill_lock);
	pthread_mutex_destroy(&tt->lock);
	ks_trace_free(trace);
}

static void text_progress(struct ks_trace *trace, u64 *ret_done, u64 *ret_total)
{
	ks_input_progress(((struct text_trace *)trace)->input, ret_done, ret_total);
}

static const struct ks_trace_ops text_ops = {
	.next = text_next,
	.close = text_close,
	.progress = text_progress,
};

static int start_worker(struct text_trace *tt)
{
	struct worker *worker = &tt->workers[tt->workers_len];

	worker->trace = tt;
	if (ks_line_parser_new(&worker->parser))
		return -ENOMEM;
	if (pthread_create(&worker->thread, NULL, worker_main, worker)) {
		ks_line_parser_free(worker->parser);
		worker->parser = NULL;
		return -EAGAIN;
	}
	tt->workers_len++;
	return 0;
}

/* === Public =============================================================================== */

int ks_text_trace_open(struct ks_input *input, const struct ks_trace_opts *opts,
		       struct ks_trace **ret_trace, struct ks_diag *diag)
{
	struct text_trace *tt = ks_trace_new(sizeof(*tt), &text_ops, "ftrace text");
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	u32 want = (u32)ks_max(1, ks_min(cpus, MAX_WORKERS)), i;

	if (!tt) {
		ks_input_close(input);
		return ks_diag_nomem(diag, "opening a text log");
	}
	tt->input = input;
	tt->base.opts = *opts;
	tt->stacks = opts->stacks || opts->blame;
	pthread_mutex_init(&tt->lock, NULL);
	pthread_mutex_init(&tt->fill_lock, NULL);
	pthread_cond_init(&tt->changed, NULL);
	tt->chunks_len = 2 * want + 2;
	tt->carry = malloc(CHUNK_SIZE);
	for (i = 0; i < tt->chunks_len && tt->carry; i++) {
		tt->chunks[i].text = calloc(1, CHUNK_SIZE + KS_LINE_SLACK);
		if (!tt->chunks[i].text)
			break;
	}
	if (i < tt->chunks_len)
		goto nomem;
	while (tt->workers_len < want && !start_worker(tt))
		;
	if (!tt->workers_len)
		goto nomem;
	*ret_trace = &tt->base;
	return 0;
nomem:
	text_close(&tt->base);
	return ks_diag_nomem(diag, "opening a text log");
}
