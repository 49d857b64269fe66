// SPDX-License-Identifier: LGPL-2.1-only
/* The trace.dat reader on one thread: records are decoded straight into the batch, in order of time. */
#include "trace/tracedat-reader.h"

/* === Internals ============================================================================ */

/* Loads pages until there is a record in them. */
static int load_pages(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_diag *diag)
{
	struct ks_ring *ring = &stream->ring;
	struct ks_ring_piece piece;
	int err;

	do {
		ring->data = NULL;
		err = ks_ring_file_next(&stream->file, &piece, diag);
		if (err || !piece.size)
			return err;
		err = ks_ring_load(&stream->loader, &tt->td, stream->cpu, &piece, diag);
		if (err == KS_EBADINPUT && tt->td.journal) {
			/* Blocks that a power cut left without content: this CPU ends here. */
			ring->bad += piece.following + 1;
			return 0;
		}
		if (err)
			return err;
		tt->bytes_done += piece.stored;
		ks_ring_feed(ring, stream->loader.pages, stream->loader.pages_len);
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
			? ks_rawdec_decode_as(&tt->dec, ring->data, ring->len, false, ev)
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

/* === Public =============================================================================== */

int ks_td_serial_start(struct ks_td_reader *tt, struct ks_td_stream *stream, struct ks_diag *diag)
{
	return load_pages(tt, stream, diag);
}

int ks_td_serial_drain(struct ks_td_reader *tt, struct ks_td_stream *top, const u64 *other,
		       size_t *count, struct ks_diag *diag)
{
	struct ks_ring *ring = &top->ring;
	int err;

	while (ring->data && *count < KS_TD_BATCH) {
		struct ks_event *ev = &tt->batch[*count];
		bool lost = ring->lost_here;
		enum ks_raw_class class = KS_RAW_EVENT;

		if (unlikely(lost)) {
			ring->lost_here = false;
			ks_td_lost(top, ks_td_time(tt, ring->ts), ring->lost, ev);
		} else {
			class = take(tt, top, ev);
		}
		*count += class == KS_RAW_EVENT;
		if (unlikely(tt->pairing))
			ks_td_pair(tt, top, class, ev, ring->data, ring->len);
		if (unlikely(lost))
			continue;
		if (unlikely(!ks_ring_next(ring))) {
			err = load_pages(tt, top, diag);
			if (err)
				return err;
		}
		if (other && !ks_merge_before(&ring->ts, other))
			break;
	}
	return 0;
}
