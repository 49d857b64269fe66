/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The parts of the trace.dat reader. Every CPU of every buffer is a stream of records in order of
 * time. They are merged while they are decoded (tracedat-drain.c), by one thread; worker threads may
 * load the pages ahead of it (tracedat-pool.c).
 */
#ifndef KS_TRACE_TRACEDAT_READER_H
#define KS_TRACE_TRACEDAT_READER_H

#include "base/u128.h"
#include "trace/merge.h"
#include "trace/stack-pairing.h"
#include "trace/source.h"
#include "trace/ring-file.h"
#include "trace/self-filter.h"
#include "trace/tracedat-pool.h"

enum { KS_TD_BATCH = 2048 };

struct ks_td_stream {
	struct ks_ring ring; /* at the current record; data is NULL at the end */
	u32 cpu;
	u64 stat_lost; /* what the kernel's own statistics say; 0 = nothing */
	struct ks_cpu_info info;

	/* Where there are no workers. */
	struct ks_ring_file file;
	struct ks_ring_pages pages;
};

struct ks_td_reader {
	struct ks_source base;
	struct ks_input *input;
	struct ks_tracedat td;
	struct ks_rawdec dec;
	bool convert_ts;
	bool is_simple;			    /* see tracedat-drain.c */
	struct ks_self_filter *self_filter; /* NULL: no recorder is to be left out */
	struct ks_td_pool *pool;	    /* NULL: the caller's thread loads pages itself, */
	struct ks_ring_loader loader;	    /* with this */
	struct ks_td_stream *streams;
	size_t streams_len;
	struct ks_merge merge;		  /* of the streams that have a record, by ring.ts */
	struct ks_stack_pairing *pairing; /* NULL: stacks are not wanted */
	u64 bytes_done, bytes_total;
	u32 read_size, workers;
	bool ended; /* all is given, even what the file has no record of */
	struct ks_event *batch;
};

/* Goes to the stream's first record. All else of the reader is set. */
int ks_td_start(struct ks_td_reader *reader, struct ks_td_stream *stream, struct ks_diag *diag);

/*
 * Takes records of the stream that is on top of the merge, until @other, if there is one, is earlier,
 * or the stream ends, or the batch is full.
 */
int ks_td_drain(struct ks_td_reader *reader, struct ks_td_stream *top, const u64 *other,
		size_t *count, struct ks_diag *diag);

/* mult and shift are those of the kernel's own conversion: the product needs more than 64 bits. */
static inline u64 ks_td_time(const struct ks_td_reader *reader, u64 ts)
{
	const struct ks_tracedat *td = &reader->td;

	if (likely(!reader->convert_ts))
		return ts;
	if (td->has_tsc) {
		ts -= ks_min(ts, td->tsc_offset);
		ts = ks_u128_shift_right(ks_u128_mul(ts, td->tsc_mult), td->tsc_shift);
	}
	return ts + (u64)td->ts_offset;
}

static inline void ks_td_lost(struct ks_td_stream *stream, u64 ts, u64 count, struct ks_event *ev)
{
	*ev = ks_event_blank(KS_LOST, ts, (u16)stream->cpu);
	ev->lost.last_ts = stream->info.last_ts;
	ev->lost.count = count;
	stream->info.lost += count;
	stream->info.lost_windows++;
}

/*
 * Completes an event whose ts is still that of the record. KS_RAW_OTHER where it is left out, as the
 * recorder's own. @flags is the record's common_flags.
 */
static inline enum ks_raw_class
ks_td_event(struct ks_td_reader *reader, struct ks_td_stream *stream, u8 flags, struct ks_event *ev)
{
	if (reader->self_filter && ks_self_filter_drops(reader->self_filter, ev, flags)) {
		reader->base.info.binary.self_events++;
		return KS_RAW_OTHER;
	}
	ev->ts = ks_td_time(reader, ev->ts);
	ev->cpu = (u16)stream->cpu;
	if (unlikely(ev->ts < stream->info.last_ts))
		stream->info.backwards++;
	stream->info.last_ts = ev->ts;
	if (unlikely(!stream->info.events++))
		stream->info.first_ts = ev->ts;
	return KS_RAW_EVENT;
}

/* Where stacks are wanted, all records go this way before events are handed out. */
void ks_td_pair(struct ks_td_reader *reader, const struct ks_td_stream *stream,
		enum ks_raw_class class, const struct ks_event *ev, const u8 *data, u32 len);

#endif
