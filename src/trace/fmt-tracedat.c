// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The reader of trace.dat files. Every CPU of every buffer is a stream of records in order of time;
 * they are merged here, and decoded straight into the batch that the caller gets.
 */
#include "trace/formats.h"

#include <stdlib.h>
#include <string.h>

#include "trace/merge.h"
#include "trace/stack-pairing.h"
#include "trace/ring.h"
#include "trace/self-filter.h"

/* === Data ================================================================================= */

enum { BATCH = 2048 };

struct stream {
	struct ks_ring ring;
	u32 cpu;
	u64 stat_lost; /* what the kernel's own statistics say; 0 = nothing */
	struct ks_cpu_info info;
};

struct tracedat_trace {
	struct ks_source base;
	struct ks_input *input;
	struct ks_tracedat td;
	struct ks_rawdec dec;
	bool convert_ts;
	struct ks_self_filter *self_filter; /* NULL: no recorder is to be left out */
	struct stream *streams;
	size_t streams_len;
	struct ks_merge merge;		  /* of the streams that have a record */
	struct ks_stack_pairing *pairing; /* NULL: stacks are not wanted */
	u64 bytes_done, bytes_total;
	bool ended; /* all is told, even of what is not in the file */
	struct ks_event *batch;
};

/* === Internals: events ==================================================================== */

/* mult and shift are those of the kernel's own conversion: the product needs more than 64 bits. */
static u64 convert_ts(const struct tracedat_trace *tt, u64 ts)
{
	const struct ks_tracedat *td = &tt->td;

	if (td->has_tsc) {
		ts -= ks_min(ts, td->tsc_offset);
		ts = (u64)((unsigned __int128)ts * td->tsc_mult >> td->tsc_shift);
	}
	return ts + (u64)td->ts_offset;
}

static void fill_lost(struct stream *stream, u64 ts, u64 count, struct ks_event *ev)
{
	*ev = ks_event_blank(KS_LOST, ts, (u16)stream->cpu);
	ev->lost.last_ts = stream->info.last_ts;
	ev->lost.count = count;
	stream->info.lost += count;
	stream->info.lost_windows++;
}

/* Decodes the top stream's current record. What is left out is none of ours. */
static inline enum ks_raw_class take(struct tracedat_trace *tt, struct stream *stream,
				     struct ks_event *ev)
{
	struct ks_source_info *info = &tt->base.info;
	struct ks_ring *ring = &stream->ring;
	enum ks_raw_class class = ks_rawdec_decode(&tt->dec, ring->data, ring->len, ev);

	switch (class) {
	case KS_RAW_EVENT:
		break;
	case KS_RAW_OTHER:
		info->binary.other_events++;
		return class;
	case KS_RAW_STACK:
		info->binary.stacks++;
		return class;
	case KS_RAW_BAD:
		stream->info.bad++;
		return class;
	}
	if (tt->self_filter && ks_self_filter_drops(tt->self_filter, ev, ring->data[2])) {
		info->binary.self_events++;
		return KS_RAW_OTHER;
	}
	ev->ts = unlikely(tt->convert_ts) ? convert_ts(tt, ring->ts) : ring->ts;
	ev->cpu = (u16)stream->cpu;
	if (unlikely(ev->ts < stream->info.last_ts))
		stream->info.backwards++;
	stream->info.last_ts = ev->ts;
	if (unlikely(!stream->info.events++))
		stream->info.first_ts = ev->ts;
	return class;
}

/* Where stacks are wanted, all records go this way before events are handed out. */
static void pair(struct tracedat_trace *tt, const struct stream *stream, enum ks_raw_class class,
		 const struct ks_event *ev)
{
	u64 key = (u64)(stream - tt->streams), owner;
	u32 stack;

	switch (class) {
	case KS_RAW_EVENT:
		tt->dec.nomem |= ks_stack_pairing_add(tt->pairing, ev, key) != 0;
		break;
	case KS_RAW_STACK:
		owner = ks_stack_pairing_owner(tt->pairing, key);
		if (owner == KS_PAIRING_NO_EVENT)
			break;
		stack = ks_rawdec_stack(&tt->dec, stream->ring.data, stream->ring.len);
		if (stack != KS_NONE)
			tt->dec.nomem |=
				ks_stack_pairing_give(tt->pairing, &tt->base, owner, stack) != 0;
		break;
	case KS_RAW_OTHER:
	case KS_RAW_BAD:
		ks_stack_pairing_pass(tt->pairing, key);
		break;
	}
}

/* A stream came to its end: what its statistics count and no page told is one last gap. */
static bool finish_stream(struct stream *stream, struct ks_event *ev)
{
	u64 missing = stream->stat_lost - ks_min(stream->stat_lost, stream->info.lost);

	stream->info.bad += stream->ring.bad;
	ks_ring_deinit(&stream->ring);
	if (!missing)
		return false;
	fill_lost(stream, stream->info.last_ts, missing, ev);
	return true;
}

/* Takes records of the earliest stream until another is earlier, or the batch is full. */
static int drain_top(struct tracedat_trace *tt, size_t *count, struct ks_diag *diag)
{
	const u64 *first = tt->merge.heap[0], *other = ks_merge_runner_up(&tt->merge);
	struct stream *top = ks_container_of(first, struct stream, ring.ts);
	u64 read_before = top->ring.bytes_read;
	int err = 0;

	while (*count < BATCH) {
		struct ks_event *ev = &tt->batch[*count];
		bool lost = top->ring.lost_here;
		enum ks_raw_class class = KS_RAW_EVENT;

		if (unlikely(lost)) {
			top->ring.lost_here = false;
			fill_lost(top, tt->convert_ts ? convert_ts(tt, top->ring.ts) : top->ring.ts,
				  top->ring.lost, ev);
		} else {
			class = take(tt, top, ev);
		}
		*count += class == KS_RAW_EVENT;
		if (unlikely(tt->pairing))
			pair(tt, top, class, ev);
		if (unlikely(lost))
			continue;
		err = ks_ring_next(&top->ring, diag);
		if (unlikely(err || !top->ring.data) || (other && !ks_merge_before(first, other)))
			break;
	}
	tt->bytes_done += top->ring.bytes_read - read_before;
	if (err)
		return err;
	if (!top->ring.data && finish_stream(top, &tt->batch[*count])) {
		if (tt->pairing)
			pair(tt, top, KS_RAW_EVENT, &tt->batch[*count]);
		++*count;
	}
	ks_merge_advance(&tt->merge, !top->ring.data);
	return 0;
}

/*
 * Where the recorder could not write all that it saw, because the disk was full, say, the last gap is
 * of no CPU: one whose pages were all left out is not in the file.
 */
static bool take_unwritten(struct tracedat_trace *tt, struct ks_event *ev)
{
	const struct ks_source_info *info = &tt->base.info;
	u64 told = 0,
	    seen = info->binary.other_events + info->binary.stacks + info->binary.self_events;
	struct stream nobody = { .cpu = KS_CPU_UNKNOWN };
	bool unwritten = false;
	size_t i;

	if (tt->ended)
		return false;
	tt->ended = true;
	for (i = 0; i < tt->td.stats.len; i++) {
		told += tt->td.stats.items[i].entries + tt->td.stats.items[i].read;
		unwritten |= tt->td.stats.items[i].unwritten;
	}
	for (i = 0; i < tt->streams_len; i++) {
		seen += tt->streams[i].info.events + tt->streams[i].info.bad;
		nobody.info.last_ts = ks_max(nobody.info.last_ts, tt->streams[i].info.last_ts);
	}
	if (unwritten)
		fill_lost(&nobody, nobody.info.last_ts, told - ks_min(told, seen), ev);
	return unwritten;
}

static int finish(struct tracedat_trace *tt, struct ks_diag *diag)
{
	size_t i;

	if (tt->base.info.binary.cpus.len)
		return 0;
	if (tt->pairing)
		tt->base.info.stacks_alone = tt->pairing->alone;
	for (i = 0; i < tt->streams_len; i++)
		if (ks_source_add_cpu(&tt->base, &tt->streams[i].info))
			return ks_diag_nomem(diag, "reading a trace.dat");
	return 0;
}

static int fill_batch(struct tracedat_trace *tt, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	size_t count = 0;
	int err = 0;

	while (tt->merge.len && count < BATCH && !err)
		err = drain_top(tt, &count, diag);
	if (!err && !count && take_unwritten(tt, tt->batch)) {
		count = 1;
		if (tt->pairing)
			pair(tt, tt->streams, KS_RAW_EVENT, tt->batch);
	}
	if (!err && (tt->dec.nomem || (tt->self_filter && tt->self_filter->nomem)))
		err = ks_diag_nomem(diag, "reading a trace.dat");
	*ret_batch = (struct ks_batch){ tt->batch, count };
	return err;
}

static int tracedat_next(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct tracedat_trace *tt = ks_container_of(source, struct tracedat_trace, base);
	struct ks_batch batch;
	bool end;
	int err = 0;

	if (!tt->pairing && (source->opts.stacks || source->opts.helpers)) {
		tt->pairing = calloc(1, sizeof(*tt->pairing));
		if (!tt->pairing)
			return ks_diag_nomem(diag, "reading a trace.dat");
	}
	do {
		err = fill_batch(tt, &batch, diag);
		if (err)
			return err;
		end = !batch.count;
		if (tt->pairing)
			ks_stack_pairing_take(tt->pairing, end, &batch);
	} while (!batch.count && !end);
	if (!batch.count)
		err = finish(tt, diag);
	if (err)
		return err;
	*ret_batch = batch;
	return 0;
}

static void tracedat_close(struct ks_source *source)
{
	struct tracedat_trace *tt = ks_container_of(source, struct tracedat_trace, base);
	size_t i;

	for (i = 0; i < tt->streams_len; i++)
		ks_ring_deinit(&tt->streams[i].ring);
	free(tt->streams);
	ks_merge_deinit(&tt->merge);
	free(tt->batch);
	if (tt->pairing)
		ks_stack_pairing_deinit(tt->pairing);
	free(tt->pairing);
	ks_self_filter_free(tt->self_filter);
	ks_rawdec_deinit(&tt->dec);
	ks_tracedat_deinit(&tt->td);
	ks_input_close(tt->input);
	ks_source_free(source);
}

static void tracedat_progress(struct ks_source *source, u64 *ret_done, u64 *ret_total)
{
	struct tracedat_trace *tt = ks_container_of(source, struct tracedat_trace, base);

	*ret_done = tt->bytes_done;
	*ret_total = tt->bytes_total;
}

static const struct ks_source_ops tracedat_ops = {
	.next = tracedat_next,
	.close = tracedat_close,
	.progress = tracedat_progress,
};

/* === Internals: opening =================================================================== */

static bool clock_is_ns(const char *clock)
{
	return strcmp(clock, "counter") && strcmp(clock, "uptime") && strcmp(clock, "x86-tsc") &&
	       strcmp(clock, "ppc-tb");
}

/* Streams can only be merged where they were timed by one clock. */
static int set_clock(struct tracedat_trace *tt, struct ks_diag *diag)
{
	const struct ks_td_buffer *first = NULL;
	size_t i;

	for (i = 0; i < tt->td.buffers.len; i++) {
		const struct ks_td_buffer *buffer = &tt->td.buffers.items[i];

		if (!buffer->cpus.len)
			continue;
		if (first && strcmp(first->clock, buffer->clock))
			return ks_diag_set(diag, KS_EBADINPUT,
					   "%s: its buffers \"%s\" and \"%s\" use different clocks "
					   "(%s, %s) and cannot be put in order",
					   tt->td.name, first->name, buffer->name, first->clock,
					   buffer->clock);
		first = buffer;
	}
	ks_source_set_clock(&tt->base, !first || clock_is_ns(first->clock) || tt->td.has_tsc
					       ? KS_CLOCK_SECONDS
					       : KS_CLOCK_TICKS);
	tt->convert_ts = tt->td.has_tsc || tt->td.ts_offset;
	return 0;
}

static u64 stat_lost(const struct ks_tracedat *td, u32 buffer, u32 cpu)
{
	u64 lost = 0;
	size_t i;

	for (i = 0; i < td->stats.len; i++) {
		const struct ks_td_stat *stat = &td->stats.items[i];

		if (stat->buffer == buffer && stat->cpu == cpu)
			lost = stat->overrun + stat->commit_overrun + stat->dropped;
	}
	return lost;
}

static int open_streams(struct tracedat_trace *tt, struct ks_diag *diag)
{
	u32 named = 0, number;
	size_t i, j, total = 0;

	for (i = 0; i < tt->td.buffers.len; i++)
		total += tt->td.buffers.items[i].cpus.len;
	tt->streams = calloc(total ? total : 1, sizeof(*tt->streams));
	tt->batch = malloc((BATCH + 1) * sizeof(*tt->batch));
	if (!tt->streams || !tt->batch || ks_merge_init(&tt->merge, total))
		return ks_diag_nomem(diag, "reading a trace.dat");
	for (i = 0; i < tt->td.buffers.len; i++) {
		const struct ks_td_buffer *buffer = &tt->td.buffers.items[i];

		number = buffer->name[0] ? ++named : 0;
		for (j = 0; j < buffer->cpus.len; j++) {
			struct stream *stream = &tt->streams[tt->streams_len];
			int err;

			tt->streams_len++;
			stream->cpu = buffer->cpus.items[j].cpu;
			stream->info.cpu = stream->cpu;
			stream->stat_lost = stat_lost(&tt->td, number, stream->cpu);
			tt->bytes_total += buffer->cpus.items[j].size;
			err = ks_ring_init(&stream->ring, &tt->td, buffer, &buffer->cpus.items[j],
					   diag);
			if (err)
				return err;
			if (stream->ring.data || stream->stat_lost)
				ks_merge_add(&tt->merge, &stream->ring.ts);
		}
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_tracedat_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			    struct ks_source **ret_source, struct ks_diag *diag)
{
	struct tracedat_trace *tt = ks_source_new(sizeof(*tt), &tracedat_ops, "trace.dat", opts);
	size_t i;
	u64 size;
	int fd, err;

	if (!tt) {
		ks_input_close(input);
		return ks_diag_nomem(diag, "opening a trace.dat");
	}
	tt->input = input;
	err = ks_input_random(input, &fd, &size, diag);
	if (!err)
		err = ks_tracedat_open(&tt->td, ks_input_name(input), fd, size, &tt->base.names,
				       &tt->dec, diag);
	if (err) { /* neither td nor dec hold anything */
		ks_input_close(input);
		ks_source_free(&tt->base);
		return err;
	}
	tt->base.info.page_shift = tt->dec.page_shift;
	tt->base.info.unfinished = tt->td.journal;
	tt->base.info.host = tt->td.host;
	tt->base.info.host.cpus = tt->td.cpu_count;
	tt->base.info.some_tasks = tt->td.some_tasks;
	err = set_clock(tt, diag);
	if (!err && !ks_rawdec_has_events(&tt->dec))
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: describes no kmem event at all",
				  ks_input_name(input));
	if (ks_vec_reserve(&tt->base.info.cpu_nodes, tt->td.nodes.items.len))
		err = ks_diag_nomem(diag, "opening a trace.dat");
	for (i = 0; i < tt->td.nodes.items.len && !err; i++)
		*(u16 *)ks_vec_push(&tt->base.info.cpu_nodes) = (u16)tt->td.nodes.items.items[i];
	if (!err && tt->td.self.items.len &&
	    ks_self_filter_new(tt->td.self.items.items, tt->td.self.items.len, &tt->self_filter))
		err = ks_diag_nomem(diag, "opening a trace.dat");
	if (!err)
		err = open_streams(tt, diag);
	if (err) {
		tracedat_close(&tt->base);
		return err;
	}
	ks_merge_start(&tt->merge);
	*ret_source = &tt->base;
	return 0;
}
