/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The decoder of the kernel's ring buffer: the bytes of one CPU's pages in, records out. It knows no
 * file: pages may come from a trace.dat (trace/ring-file.h) or straight from a kernel.
 */
#ifndef KS_TRACE_RING_H
#define KS_TRACE_RING_H

#include "base/bytes.h"

/* How a page of the ring buffer begins, as the kernel's header_page says. */
struct ks_page_header {
	u32 commit_size; /* of the kernel's long */
	u32 data;	 /* where the records begin */
};

struct ks_ring_format {
	struct ks_page_header header;
	u32 page_size;
	bool big_endian;
};

/*
 * The current record. lost_here: events were lost in front of it, @lost of them; 0 where the kernel
 * could not count them.
 */
struct ks_ring {
	u64 ts;
	const u8 *data;
	u32 len;
	bool lost_here;
	u64 lost;

	u64 bad; /* pages and records that are damaged */

	/* The rest is private. */
	bool swap;
	struct ks_ring_format format;
	const u8 *next, *page_end;   /* the next record of the current page */
	const u8 *pages, *pages_end; /* the pages behind it */
};

void ks_ring_init(struct ks_ring *ring, struct ks_ring_format format);

/*
 * Gives the decoder its next pages, once all records of those before are taken. The bytes stay the
 * caller's, and must stay as long as their records are used. A part of a page at the end is counted
 * as damaged.
 */
void ks_ring_feed(struct ks_ring *ring, const u8 *pages, size_t len);

/* Goes to the first record of the next page that has one. False: more pages are wanted. */
bool ks_ring_next_page(struct ks_ring *ring);

enum {
	KS_RING_PADDING = 29,
	KS_RING_EXTEND = 30,
	KS_RING_STAMP = 31,
	KS_RING_DELTA_BITS = 27,
};

/*
 * To the next record of the page. False at its end: then ask ks_ring_next_page(). Inline, as it
 * runs once an event. @swap and @big_endian are those of the ring, or constants that are the same.
 */
ks_inline bool ks_ring_step_as(struct ks_ring *ring, bool swap, bool big_endian)
{
	const u8 *p = ring->next, *end = ring->page_end;

	while (end - p >= 4) {
		u32 word = (u32)ks_load(p, 4, swap);
		u32 type = big_endian ? word >> KS_RING_DELTA_BITS : word & 31;
		u64 delta = big_endian ? word & ((1u << KS_RING_DELTA_BITS) - 1) : word >> 5;
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
		first = (u32)ks_load(p + 4, 4, swap);
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

/*
 * Takes over where a copy of the ring is now, which has stepped on in the same page. Only this changes
 * then, so the rest need not be copied.
 */
static inline void ks_ring_take_steps(struct ks_ring *ring, const struct ks_ring *copy)
{
	ring->ts = copy->ts;
	ring->data = copy->data;
	ring->len = copy->len;
	ring->next = copy->next;
	ring->bad = copy->bad;
}

static inline bool ks_ring_step(struct ks_ring *ring)
{
	return ks_ring_step_as(ring, ring->swap, ring->format.big_endian);
}

/* To the next record of the pages at hand. False: more pages are wanted. */
static inline bool ks_ring_next(struct ks_ring *ring)
{
	ring->lost_here = false;
	if (likely(ks_ring_step(ring)))
		return true;
	ring->lost = 0;
	return ks_ring_next_page(ring);
}

#endif
