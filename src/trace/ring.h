/* SPDX-License-Identifier: LGPL-2.1-only */
/* One CPU's pages of the kernel's ring buffer, read from a trace.dat record by record. */
#ifndef KS_TRACE_RING_H
#define KS_TRACE_RING_H

#include "trace/tracedat.h"

/*
 * The current record: @data is NULL at the end. A gap in front of it is told by @lost_here, with
 * the number of lost events, 0 where the kernel could not count them.
 */
struct ks_ring {
	u64 ts;
	const u8 *data;
	u32 len;
	bool lost_here;
	u64 lost;

	u64 bad;	/* pages and records that are damaged */
	u64 bytes_read; /* of the file, for progress */

	/* The rest is private. */
	const struct ks_tracedat *td;
	const struct ks_td_cpu *cpu;
	u32 page_size;
	bool swap, big_endian;
	const u8 *next, *page_end; /* the next record of the current page */
	u8 *pages;		   /* whole pages, uncompressed */
	size_t pages_len, pages_pos, pages_cap;
	u8 *stored; /* compressed */
	size_t stored_cap;
	u64 pos, end;	 /* in the file */
	u32 chunks_left; /* of a compressed CPU */
	size_t block;	 /* of an unfinished file */
};

/* Goes to the first record. */
int ks_ring_init(struct ks_ring *ring, const struct ks_tracedat *td,
		 const struct ks_td_buffer *buffer, const struct ks_td_cpu *cpu,
		 struct ks_diag *diag);
void ks_ring_deinit(struct ks_ring *ring);

/* Loads the next page that has records in it and goes to its first one. */
int ks_ring_next_page(struct ks_ring *ring, struct ks_diag *diag);

enum {
	KS_RING_PADDING = 29,
	KS_RING_EXTEND = 30,
	KS_RING_STAMP = 31,
	KS_RING_DELTA_BITS = 27,
};

/*
 * To the next record of the page. False at its end: then ask ks_ring_next_page(). Inline, as it
 * runs once an event.
 */
static inline bool ks_ring_step(struct ks_ring *ring)
{
	const u8 *p = ring->next, *end = ring->page_end;

	while (end - p >= 4) {
		u32 word = (u32)ks_load(p, 4, ring->swap);
		u32 type = ring->big_endian ? word >> KS_RING_DELTA_BITS : word & 31;
		u64 delta = ring->big_endian ? word & ((1u << KS_RING_DELTA_BITS) - 1) : word >> 5;
		size_t left = (size_t)(end - p) - 4, len;
		u32 first;

		if (likely(type - 1 < KS_RING_PADDING - 1)) {
			len = (size_t)type * 4;
			if (unlikely(len > left))
				break;
			ring->ts += delta;
			ring->data = p + 4;
			ring->len = (u32)len;
			ring->next = p + 4 + len;
			return true;
		}
		if (type == KS_RING_PADDING && !delta)
			goto done; /* the rest of the page is empty */
		if (left < 4)
			break;
		first = (u32)ks_load(p + 4, 4, ring->swap);
		switch (type) {
		case 0: /* a long record: its length, which counts the word itself, comes first */
			if (first < 4 || first > left)
				goto damaged;
			ring->ts += delta;
			ring->data = p + 8;
			ring->len = first - 4;
			ring->next = p + 4 + ((first + 3) & ~3u);
			return true;
		case KS_RING_PADDING: /* a record that a filter took back: its time still counts */
			if (first > left)
				goto damaged;
			ring->ts += delta;
			p += 4 + (size_t)first;
			break;
		case KS_RING_EXTEND:
			ring->ts += delta + ((u64)first << KS_RING_DELTA_BITS);
			p += 8;
			break;
		case KS_RING_STAMP: /* 59 bits; the rest is that of the page */
			ring->ts = (ring->ts & ~((1ull << 59) - 1)) |
				   (delta + ((u64)first << KS_RING_DELTA_BITS));
			p += 8;
			break;
		}
	}
	if (p == end)
		goto done;
damaged:
	ring->bad++;
done:
	ring->next = end;
	return false;
}

/* To the next record anywhere; data is NULL at the end. */
static inline int ks_ring_next(struct ks_ring *ring, struct ks_diag *diag)
{
	ring->lost_here = false;
	return likely(ks_ring_step(ring)) ? 0 : ks_ring_next_page(ring, diag);
}

#endif
