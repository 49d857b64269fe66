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

/* Goes to the first item of a piece. What was lost behind the piece before it is told here. */
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

/* The record behind an item, as far as stacks are concerned. */
static enum ks_raw_class class_of(const struct ks_event *item)
{
	return item->kind == KS_ITEM_STACK ? KS_RAW_STACK : KS_RAW_OTHER;
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
	int err;

	while (ring->data && *count < KS_TD_BATCH) {
		const struct ks_event *item = &top->piece->items.vec.items[top->at++];
		struct ks_event *ev = &tt->batch[*count];
		enum ks_raw_class class = KS_RAW_EVENT;

		if (likely(item->kind < KS_LOST)) {
			*ev = *item;
			ev->flags = 0;
			ks_rawmap_event(top->piece->map, &tt->dec, ev);
			class = ks_td_event(tt, top, item->flags, ev);
		} else if (item->kind == KS_LOST) {
			ks_td_lost(top, ks_td_time(tt, item->ts), item->lost.count, ev);
		} else {
			class = class_of(item);
		}
		*count += class == KS_RAW_EVENT;
		if (unlikely(tt->pairing) && item->kind != KS_ITEM_TIME)
			ks_td_pair(tt, top, class, ev, (const u8 *)(uintptr_t)item->ptr,
				   (u32)item->bytes_req);
		if (likely(top->at < top->piece->items.vec.len)) {
			ring->ts = item[1].ts;
		} else {
			err = next_piece(tt, top, diag);
			if (err)
				return err;
		}
		if (other && !ks_merge_before(&ring->ts, other))
			break;
	}
	return 0;
}
