// SPDX-License-Identifier: LGPL-2.1-only
/* The records of a trace.dat's CPUs: decoded straight into the batch, in order of time. */
#include "trace/rawdecode.h"
#include "trace/tracedat-reader.h"

/* === Internals ============================================================================ */

/* Loads the CPU's next pages, or takes those that a worker has loaded. None: there are no more. */
static int next_pages(struct ks_td_reader *tt, struct ks_td_stream *stream,
		      struct ks_ring_piece *ret_place, const struct ks_ring_pages **ret_pages,
		      struct ks_diag *diag)
{
	struct ks_td_piece *piece;
	int err;

	if (!tt->pool) {
		*ret_pages = &stream->pages;
		err = ks_ring_file_next(&stream->file, ret_place, diag);
		return err || !ret_place->size ? err
					       : ks_ring_load(&tt->loader, &tt->td, stream->cpu,
							      ret_place, &stream->pages, diag);
	}
	if (ks_td_pool_next(tt->pool, (u32)(stream - tt->streams), &piece))
		return ks_diag_nomem(diag, "reading a trace.dat");
	*ret_place = piece->place;
	*ret_pages = &piece->pages;
	if (piece->err && diag)
		*diag = piece->diag;
	return piece->err;
}

static void end_pages(struct ks_td_reader *tt, struct ks_td_stream *stream)
{
	if (tt->pool)
		ks_td_pool_end(tt->pool, (u32)(stream - tt->streams));
	ks_ring_pages_deinit(&stream->pages);
}

/* Loads pages until there is a record in them. */
static int load_pages(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_diag *diag)
{
	struct ks_ring *ring = &stream->ring;
	const struct ks_ring_pages *pages = NULL;
	struct ks_ring_piece place = { 0 };
	int err;

	do {
		ring->data = NULL;
		err = next_pages(tt, stream, &place, &pages, diag);
		if (err == KS_EBADINPUT && tt->td.journal) {
			/* Blocks that a power cut left without content: this CPU ends here. */
			ring->bad += place.following + 1;
			err = 0;
			place.size = 0;
		}
		if (!err && !place.size)
			end_pages(tt, stream);
		if (err || !place.size)
			return err;
		tt->bytes_done += place.stored;
		ks_ring_feed(ring, pages->bytes, pages->len);
	} while (!ks_ring_next_page(ring));
	return 0;
}

/* Decodes the current record. */
static inline enum ks_raw_class take(struct ks_td_reader *tt, struct ks_td_stream *stream,
				     struct ks_event *ev)
{
	struct ks_ring *ring = &stream->ring;
	enum ks_raw_class class =
		likely(!tt->dec.big_endian)
			? ks_rawdec_decode_as(&tt->dec, ring->data, ring->len, false, false, ev)
			: ks_rawdec_decode(&tt->dec, ring->data, ring->len, ev);

	if (likely(class == KS_RAW_EVENT)) {
		ev->ts = ring->ts;
		return ks_td_event(tt, stream, ring->data[2], ev);
	}
	tt->base.info.binary.other_events += class == KS_RAW_OTHER;
	tt->base.info.binary.stacks += class == KS_RAW_STACK;
	stream->info.bad += class == KS_RAW_BAD;
	return class;
}

/*
 * The events of a hook's record, from @ev on; how many there are. *ret_class is KS_RAW_OTHER where there is none. There is
 * room for KS_HOOK_OBJECTS more than a batch has.
 */
static u32 take_hook(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_event *ev,
		     enum ks_raw_class *ret_class)
{
	struct ks_ring *ring = &stream->ring;
	u64 missed;
	u32 count = ks_rawdec_hook(&tt->dec, ring->data, ring->len, ev, &missed), kept = 0, i;

	*ret_class = KS_RAW_OTHER;
	if (count == KS_NONE) {
		*ret_class = KS_RAW_BAD;
		stream->info.bad++;
		return 0;
	}
	tt->base.info.binary.bulk_missed += missed;
	for (i = 0; i < count; i++) {
		ev[kept] = ev[i];
		ev[kept].ts = ring->ts;
		if (ks_td_event(tt, stream, ring->data[2], &ev[kept]) == KS_RAW_EVENT)
			kept++;
	}
	if (kept)
		*ret_class = KS_RAW_EVENT;
	return kept;
}

/*
 * What nearly all captures are: of this machine's byte order, without stacks that are wanted, and with
 * times that stay as they are. Then the ring and the counters can stay in registers.
 */
static bool is_simple(const struct ks_td_reader *tt)
{
	return !tt->pairing && !tt->convert_ts && !tt->dec.swap && !tt->dec.big_endian;
}

/*
 * Takes records as long as they are events that are not later than @limit and lie in one page, up to
 * @room of them. The record that it stops at is not taken, unless it is the last of its page: then
 * *ret_page_end, and the stream has to go on to the next page. @bare is that of the source's options.
 */
ks_inline size_t drain_page_as(struct ks_td_reader *tt, struct ks_td_stream *stream, u64 limit,
			       struct ks_event *ev, size_t room, bool bare, bool *ret_page_end)
{
	struct ks_self_filter *self = tt->self_filter;
	struct ks_ring ring = stream->ring;
	struct ks_event *first = ev, *end = ev + room;
	u64 last_ts = stream->info.last_ts, self_events = 0, backwards = 0;
	u16 cpu = (u16)stream->cpu;

	*ret_page_end = false;
	do {
		if (unlikely(ks_rawdec_decode_as(&tt->dec, ring.data, ring.len, false, bare, ev) !=
			     KS_RAW_EVENT))
			break;
		if (self && unlikely(ks_self_filter_drops(self, ev, ring.data[2]))) {
			self_events++;
		} else {
			ev->ts = ring.ts;
			ev->cpu = cpu;
			backwards += ring.ts < last_ts;
			last_ts = ring.ts;
			ev++;
		}
		if (unlikely(!ks_ring_step_as(&ring, false, false))) {
			*ret_page_end = true;
			break;
		}
	} while (ring.ts <= limit && ev < end);
	if (ev > first && !stream->info.events)
		stream->info.first_ts = first->ts;
	stream->info.events += (size_t)(ev - first);
	stream->info.last_ts = last_ts;
	stream->info.backwards += backwards;
	tt->base.info.binary.self_events += self_events;
	ks_ring_take_steps(&stream->ring, &ring);
	return (size_t)(ev - first);
}

static size_t drain_page(struct ks_td_reader *tt, struct ks_td_stream *stream, u64 limit,
			 struct ks_event *ev, size_t room, bool *ret_page_end)
{
	if (tt->base.opts.bare)
		return drain_page_as(tt, stream, limit, ev, room, true, ret_page_end);
	return drain_page_as(tt, stream, limit, ev, room, false, ret_page_end);
}

static int next_page(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_diag *diag)
{
	stream->ring.lost_here = false;
	stream->ring.lost = 0;
	return ks_ring_next_page(&stream->ring) ? 0 : load_pages(tt, stream, diag);
}

/* === Public =============================================================================== */

int ks_td_start(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_diag *diag)
{
	tt->is_simple = is_simple(tt);
	return load_pages(tt, stream, diag);
}

int ks_td_drain(struct ks_td_reader *tt, struct ks_td_stream *top, const u64 *other, size_t *count,
		struct ks_diag *diag)
{
	struct ks_ring *ring = &top->ring;
	/* Of equal times, that of the first stream comes first. */
	u64 limit = !other ? UINT64_MAX : &ring->ts < other ? *other : *other - 1;
	int err;

	while (ring->data && *count < KS_TD_BATCH) {
		struct ks_event *ev = &tt->batch[*count];
		bool lost = ring->lost_here, page_end;
		enum ks_raw_class class = KS_RAW_EVENT;
		u32 taken = 1, i;

		if (likely(tt->is_simple && !lost)) {
			*count += drain_page(tt, top, limit, ev, KS_TD_BATCH - *count, &page_end);
			if (page_end) {
				err = next_page(tt, top, diag);
				if (err)
					return err;
			}
			if (ring->ts > limit)
				break;
			if (page_end || *count == KS_TD_BATCH)
				continue;
			ev = &tt->batch[*count]; /* a record that is no event */
		}
		if (unlikely(lost)) {
			ring->lost_here = false;
			ks_td_lost(top, ks_td_time(tt, ring->ts), ring->lost, ev);
		} else {
			class = take(tt, top, ev);
			if (unlikely(class == KS_RAW_HOOK))
				taken = take_hook(tt, top, ev, &class);
		}
		*count += class == KS_RAW_EVENT ? taken : 0;
		if (unlikely(tt->pairing))
			for (i = 0; i < ks_max(taken, 1u); i++)
				ks_td_pair(tt, top, class, ev + i, ring->data, ring->len);
		if (unlikely(lost))
			continue;
		if (unlikely(!ks_ring_next(ring))) {
			err = load_pages(tt, top, diag);
			if (err)
				return err;
		}
		if (ring->ts > limit)
			break;
	}
	return 0;
}
