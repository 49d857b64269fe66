// SPDX-License-Identifier: LGPL-2.1-only
/* The trace.dat reader where worker threads decode: merges their pieces and gives events their names. */
#include "trace/tracedat-reader.h"

/* === Internals ============================================================================ */

static u32 number_of(const struct ks_td_reader *tt, const struct ks_td_stream *stream)
{
	return (u32)(stream - tt->streams);
}

/* What a piece adds to the counters of its CPU, once it was used. */
static void count_piece(struct ks_td_reader *tt, struct ks_td_stream *stream,
			const struct ks_piece *piece)
{
	tt->base.info.binary.other_events += piece->other;
	tt->base.info.binary.stacks += piece->stacks;
	tt->bytes_done += piece->bytes_read;
	stream->info.bad += piece->bad_records;
	stream->ring.bad += piece->bad_pages;
}

/* Goes to the first item of a piece. What was lost at the end of the piece before it is counted here. */
static void start_piece(struct ks_td_stream *stream, struct ks_piece *piece)
{
	struct ks_ring *ring = &stream->ring;
	struct ks_event *items = piece->items.vec.items;

	stream->piece = piece;
	stream->at = 1;
	if (piece->end_ts)
		ring->ts = piece->end_ts;
	if (piece->any && ring->lost_here) {
		if (piece->first_lost) {
			items[1].lost.count += ring->lost;
		} else {
			items[0] = ks_event_blank(KS_LOST, piece->first_ts, 0);
			items[0].lost.count = ring->lost;
			stream->at = 0;
		}
		ring->lost_here = false;
		ring->lost = 0;
	}
	if (piece->lost_here) {
		ring->lost_here = true;
		ring->lost += piece->lost;
	}
}

/* Goes to the next piece that has items in it. */
static int next_piece(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_diag *diag)
{
	struct ks_piece *piece;

	do {
		if (stream->piece && stream->piece->last) {
			ks_td_pool_end(tt->pool, number_of(tt, stream));
			stream->piece = NULL;
			stream->ring.data = NULL;
			return 0;
		}
		if (ks_td_pool_next(tt->pool, number_of(tt, stream), &piece))
			return ks_diag_nomem(diag, "reading a trace.dat");
		if (piece->err) {
			if (diag)
				*diag = piece->diag;
			return piece->err;
		}
		start_piece(stream, piece);
		count_piece(tt, stream, piece);
	} while (stream->at >= piece->items.vec.len);
	stream->ring.data = (const u8 *)piece->items.vec.items;
	stream->ring.ts = piece->items.vec.items[stream->at].ts;
	return 0;
}

/* Takes one item of any kind; 1 where it makes an event. */
static size_t drain_item(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_event *ev)
{
	const struct ks_event *item = &stream->piece->items.vec.items[stream->at++];
	enum ks_raw_class class = KS_RAW_EVENT;

	if (item->kind < KS_LOST) {
		*ev = *item;
		ev->flags = 0;
		ks_rawmap_event(stream->piece->map, &tt->dec, ev);
		class = ks_td_event(tt, stream, item->flags, ev);
	} else if (item->kind == KS_LOST) {
		ks_td_lost(stream, ks_td_time(tt, item->ts), item->lost.count, ev);
	} else {
		class = item->kind == KS_ITEM_STACK ? KS_RAW_STACK : KS_RAW_OTHER;
	}
	if (tt->pairing && item->kind != KS_ITEM_TIME)
		ks_td_pair(tt, stream, class, ev, (const u8 *)(uintptr_t)item->ptr,
			   (u32)item->bytes_req);
	return class == KS_RAW_EVENT;
}

/*
 * Takes items of the current piece as long as they are events that are not later than @limit, up to
 * @room of them. The item that it stops at is not taken. Only where stacks are not wanted.
 */
static size_t drain_events(struct ks_td_reader *tt, struct ks_td_stream *stream, u64 limit,
			   struct ks_event *ev, size_t room)
{
	const struct ks_piece *piece = stream->piece;
	const struct ks_event *item = &piece->items.vec.items[stream->at];
	const struct ks_event *last = &piece->items.vec.items[piece->items.vec.len];
	struct ks_event *first = ev, *end = ev + room;
	struct ks_self_filter *self = tt->self_filter;
	u64 last_ts = stream->info.last_ts;
	u16 cpu = (u16)stream->cpu;

	for (; item < last && item->kind < KS_LOST && item->ts <= limit && ev < end; item++) {
		*ev = *item;
		ev->flags = 0;
		ks_rawmap_event(piece->map, &tt->dec, ev);
		if (self && unlikely(ks_self_filter_drops(self, ev, item->flags))) {
			tt->base.info.binary.self_events++;
			continue;
		}
		ev->ts = ks_td_time(tt, item->ts);
		ev->cpu = cpu;
		stream->info.backwards += unlikely(ev->ts < last_ts);
		last_ts = ev->ts;
		ev++;
	}
	if (ev > first && !stream->info.events)
		stream->info.first_ts = first->ts;
	stream->info.events += (size_t)(ev - first);
	stream->info.last_ts = last_ts;
	stream->at = (size_t)(item - piece->items.vec.items);
	return (size_t)(ev - first);
}

/* === Public =============================================================================== */

int ks_td_parallel_start(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_diag *diag)
{
	return next_piece(tt, stream, diag);
}

int ks_td_parallel_drain(struct ks_td_reader *tt, struct ks_td_stream *top, const u64 *other,
			 size_t *count, struct ks_diag *diag)
{
	struct ks_ring *ring = &top->ring;
	/* Of equal times, that of the first stream comes first. */
	u64 limit = !other ? UINT64_MAX : &ring->ts < other ? *other : *other - 1;
	int err;

	while (ring->data && *count < KS_TD_BATCH && ring->ts <= limit) {
		if (!tt->pairing)
			*count += drain_events(tt, top, limit, &tt->batch[*count],
					       KS_TD_BATCH - *count);
		if (top->at < top->piece->items.vec.len) {
			ring->ts = top->piece->items.vec.items[top->at].ts;
			if (ring->ts > limit || *count == KS_TD_BATCH)
				break;
			*count += drain_item(tt, top, &tt->batch[*count]);
		}
		if (top->at < top->piece->items.vec.len) {
			ring->ts = top->piece->items.vec.items[top->at].ts;
			continue;
		}
		err = next_piece(tt, top, diag);
		if (err)
			return err;
	}
	return 0;
}
