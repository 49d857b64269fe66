// SPDX-License-Identifier: LGPL-2.1-only
/* The reader of trace.dat files: opening one, merging its CPUs, and what comes at the end. */
#include "trace/formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "trace/tracedat-reader.h"

/* === Data ================================================================================= */

enum {
	MIN_PARALLEL = 1 << 20,		 /* for less, threads cost more than they save */
	PARALLEL_READ_SIZE = 256 * 1024, /* large enough that the hand-over costs nothing */
};

/* === Internals: events ==================================================================== */

/*
 * A stream came to its end. Its last gaps are the losses that its last pages report, and those that only
 * its statistics count: at most two events.
 */
static size_t finish_stream(struct ks_td_stream *stream, struct ks_event *events)
{
	size_t count = 0;
	u64 missing;

	if (stream->ring.lost_here)
		ks_td_lost(stream, stream->info.last_ts, stream->ring.lost, &events[count++]);
	stream->ring.lost_here = false;
	missing = stream->stat_lost - ks_min(stream->stat_lost, stream->info.lost);
	if (missing)
		ks_td_lost(stream, stream->info.last_ts, missing, &events[count++]);
	stream->info.bad += stream->ring.bad;
	return count;
}

static void end_stream(struct ks_td_reader *tt, struct ks_td_stream *stream, size_t *count)
{
	struct ks_event *last = &tt->batch[*count];
	size_t gaps = finish_stream(stream, last);

	*count += gaps;
	for (; tt->pairing && gaps; gaps--)
		ks_td_pair(tt, stream, KS_RAW_EVENT, last++, NULL, 0);
}

/* Takes records of the earliest stream until another is earlier, or the batch is full. */
static int drain_top(struct ks_td_reader *tt, size_t *count, struct ks_diag *diag)
{
	const u64 *other = ks_merge_runner_up(&tt->merge);
	struct ks_td_stream *top = ks_container_of(tt->merge.heap[0], struct ks_td_stream, ring.ts);
	int err = ks_td_drain(tt, top, other, count, diag);

	if (err)
		return err;
	if (!top->ring.data)
		end_stream(tt, top, count);
	ks_merge_advance(&tt->merge, !top->ring.data);
	return 0;
}

/*
 * Where the recorder could not write all that it saw, because the disk was full, say, the last gap is
 * of no CPU: one whose pages were all left out is not in the file.
 */
static bool take_unwritten(struct ks_td_reader *tt, struct ks_event *ev)
{
	const struct ks_source_info *info = &tt->base.info;
	u64 counted = 0,
	    seen = info->binary.other_events + info->binary.stacks + info->binary.self_events;
	struct ks_td_stream nobody = { .cpu = KS_CPU_UNKNOWN };
	bool unwritten = false;
	size_t i;

	if (tt->ended)
		return false;
	tt->ended = true;
	for (i = 0; i < tt->td.stats.len; i++) {
		counted += tt->td.stats.items[i].entries + tt->td.stats.items[i].read;
		unwritten |= tt->td.stats.items[i].unwritten;
	}
	for (i = 0; i < tt->streams_len; i++) {
		seen += tt->streams[i].info.events + tt->streams[i].info.bad;
		nobody.info.last_ts = ks_max(nobody.info.last_ts, tt->streams[i].info.last_ts);
	}
	if (unwritten)
		ks_td_lost(&nobody, nobody.info.last_ts, counted - ks_min(counted, seen), ev);
	return unwritten;
}

static int finish(struct ks_td_reader *tt, struct ks_diag *diag)
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

static int fill_batch(struct ks_td_reader *tt, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	size_t count = 0;
	int err = 0;

	while (tt->merge.len && count < KS_TD_BATCH && !err)
		err = drain_top(tt, &count, diag);
	if (!err && !count && take_unwritten(tt, tt->batch)) {
		count = 1;
		if (tt->pairing)
			ks_td_pair(tt, tt->streams, KS_RAW_EVENT, tt->batch, NULL, 0);
	}
	if (!err && (tt->dec.nomem || (tt->self_filter && tt->self_filter->nomem)))
		err = ks_diag_nomem(diag, "reading a trace.dat");
	*ret_batch = (struct ks_batch){ tt->batch, count };
	return err;
}

static int tracedat_next(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct ks_td_reader *tt = ks_container_of(source, struct ks_td_reader, base);
	struct ks_batch batch;
	bool end;
	int err = 0;

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
	struct ks_td_reader *tt = ks_container_of(source, struct ks_td_reader, base);
	size_t i;

	ks_td_pool_free(tt->pool);
	for (i = 0; i < tt->streams_len; i++)
		ks_ring_pages_deinit(&tt->streams[i].pages);
	ks_ring_loader_deinit(&tt->loader);
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
	struct ks_td_reader *tt = ks_container_of(source, struct ks_td_reader, base);

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
static int set_clock(struct ks_td_reader *tt, struct ks_diag *diag)
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

/* Whether it has a buffer with the frees of all processes. */
static bool has_frees(const struct ks_tracedat *td)
{
	size_t i;

	for (i = 0; i < td->buffers.len; i++)
		if (!strcmp(td->buffers.items[i].name, KS_TD_FREES_NAME))
			return true;
	return false;
}

/* Its times are those of the ring, as the events' are. */
static void take_census(struct ks_td_reader *tt)
{
	size_t i;

	for (i = 0; i < KS_CENSUS_WHENS; i++) {
		struct ks_slab_census *census = tt->td.census[i];

		if (!census)
			continue;
		census->from = ks_td_time(tt, census->from);
		census->to = ks_td_time(tt, census->to);
		if (census->allocs_end)
			census->allocs_end = ks_td_time(tt, census->allocs_end);
		tt->base.info.census[i] = census;
	}
	ks_source_tasks_of_census(&tt->base);
}

/* Where the recorder did not note it, the time of day is that of the census. */
static void take_wall(struct ks_td_reader *tt)
{
	const struct ks_wall *noted = &tt->td.about.wall;
	struct ks_source_info *info = &tt->base.info;
	u32 i;

	if (info->clock != KS_CLOCK_SECONDS)
		return;
	for (i = 0; i < noted->len; i++)
		ks_wall_add(&info->wall, ks_td_time(tt, noted->points[i].ts), noted->points[i].ns);
	if (!noted->len)
		ks_source_wall_of_census(&tt->base);
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

static int add_streams(struct ks_td_reader *tt, struct ks_diag *diag)
{
	u32 named = 0, number;
	size_t i, j, total = 0;

	for (i = 0; i < tt->td.buffers.len; i++)
		total += tt->td.buffers.items[i].cpus.len;
	tt->streams = calloc(total ? total : 1, sizeof(*tt->streams));
	tt->batch = malloc((KS_TD_BATCH + 2 + KS_HOOK_OBJECTS) * sizeof(*tt->batch));
	if (!tt->streams || !tt->batch || ks_merge_init(&tt->merge, total))
		return ks_diag_nomem(diag, "reading a trace.dat");
	for (i = 0; i < tt->td.buffers.len; i++) {
		const struct ks_td_buffer *buffer = &tt->td.buffers.items[i];

		number = buffer->name[0] ? ++named : 0;
		for (j = 0; j < buffer->cpus.len; j++) {
			struct ks_td_stream *stream = &tt->streams[tt->streams_len++];

			stream->cpu = buffer->cpus.items[j].cpu;
			stream->info.cpu = stream->cpu;
			stream->stat_lost = stat_lost(&tt->td, number, stream->cpu);
			tt->bytes_total += buffer->cpus.items[j].size;
			ks_ring_init(&stream->ring, ks_td_ring_format(&tt->td, buffer));
			ks_ring_file_init(&stream->file, &tt->td, buffer, &buffer->cpus.items[j],
					  tt->read_size);
		}
	}
	return 0;
}

/* All streams go to their first records. */
static int start(struct ks_td_reader *tt, struct ks_diag *diag)
{
	bool stacks = tt->base.opts.stacks || tt->base.opts.helpers;
	size_t i;
	int err = 0;

	if (stacks)
		tt->pairing = calloc(1, sizeof(*tt->pairing));
	if (stacks && !tt->pairing)
		return ks_diag_nomem(diag, "reading a trace.dat");
	/* Where there can be no threads, the caller's does the work. */
	if (tt->workers && ks_td_pool_new(&tt->td, tt->workers, tt->read_size, &tt->pool))
		tt->pool = NULL;
	for (i = 0; i < tt->streams_len && !err; i++) {
		struct ks_td_stream *stream = &tt->streams[i];

		err = ks_td_start(tt, stream, diag);
		if (stream->ring.data || stream->ring.lost_here || stream->stat_lost)
			ks_merge_add(&tt->merge, &stream->ring.ts);
	}
	ks_merge_start(&tt->merge);
	return err;
}

/* Workers are not started for less than @min_bytes of pages. */
static int open_cut(struct ks_input *input, const struct ks_source_opts *opts, u32 read_size,
		    u32 workers, u64 min_bytes, struct ks_source **ret_source, struct ks_diag *diag)
{
	struct ks_td_reader *tt = ks_source_new(sizeof(*tt), &tracedat_ops, "trace.dat", opts);
	size_t i;
	u64 size;
	int fd, err;

	if (!tt) {
		ks_input_close(input);
		return ks_diag_nomem(diag, "opening a trace.dat");
	}
	tt->input = input;
	tt->read_size = read_size;
	tt->workers = workers;
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
	take_census(tt);
	take_wall(tt);
	tt->base.info.hooks = tt->dec.hooks;
	tt->base.info.binary.probes_missed = tt->td.about.probes_missed;
	tt->base.info.only = *tt->td.about.only ? tt->td.about.only : NULL;
	tt->base.info.some_allocs = (tt->td.some_tasks || tt->base.info.only) && has_frees(&tt->td);
	tt->base.info.some_tasks &= !tt->base.info.some_allocs;
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
		err = add_streams(tt, diag);
	if (tt->bytes_total < min_bytes)
		tt->workers = 0;
	if (!err)
		err = start(tt, diag);
	if (err) {
		tracedat_close(&tt->base);
		return err;
	}
	*ret_source = &tt->base;
	return 0;
}

/* === Public =============================================================================== */

void ks_td_pair(struct ks_td_reader *tt, const struct ks_td_stream *stream, enum ks_raw_class class,
		const struct ks_event *ev, const u8 *data, u32 len)
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
		stack = ks_rawdec_stack(&tt->dec, data, len);
		if (stack != KS_NONE)
			tt->dec.nomem |=
				ks_stack_pairing_give(tt->pairing, &tt->base, owner, stack) != 0;
		break;
	case KS_RAW_OTHER:
	case KS_RAW_HOOK:
	case KS_RAW_BAD:
		ks_stack_pairing_pass(tt->pairing, key);
		break;
	}
}

int ks_tracedat_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			    struct ks_source **ret_source, struct ks_diag *diag)
{
	unsigned int cpus = ks_parallel_cpus();

	if (cpus < 2)
		return open_cut(input, opts, KS_RING_READ_SIZE, 0, 0, ret_source, diag);
	return open_cut(input, opts, PARALLEL_READ_SIZE, cpus - 1, MIN_PARALLEL, ret_source, diag);
}

int ks_tracedat_source_open_cut(struct ks_input *input, const struct ks_source_opts *opts,
				u32 read_size, u32 workers, struct ks_source **ret_source,
				struct ks_diag *diag)
{
	return open_cut(input, opts, read_size, workers, 0, ret_source, diag);
}
