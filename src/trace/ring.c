// SPDX-License-Identifier: LGPL-2.1-only
/* Pages of the kernel's ring buffer, one after the other. */
#include "trace/ring.h"

/* === Data ================================================================================= */

#define COMMIT_MISSED (1u << 31) /* events were lost in front of this page */
#define COMMIT_STORED (1u << 30) /* their number stands behind the records */

/* === Internals ============================================================================ */

/* Prepares the page for stepping; false where there is nothing in it. */
static bool open_page(struct ks_ring *ring, const u8 *page)
{
	const struct ks_page_header *header = &ring->format.header;
	/* The flags come sign-extended into the upper half of a 64-bit word. */
	u32 commit = (u32)ks_load(page + 8, header->commit_size, ring->swap);
	u32 size = commit & ~(COMMIT_MISSED | COMMIT_STORED);
	size_t room = ring->format.page_size - header->data;

	if (size > room) {
		ring->bad++;
		return false;
	}
	ring->ts = ks_load(page, 8, ring->swap);
	ring->next = page + header->data;
	ring->page_end = ring->next + size;
	if (commit & COMMIT_MISSED) {
		ring->lost_here = true;
		if (commit & COMMIT_STORED && size + header->commit_size <= room)
			ring->lost += ks_load(ring->page_end, header->commit_size, ring->swap);
	}
	return size;
}

/* === Public =============================================================================== */

void ks_ring_init(struct ks_ring *ring, struct ks_ring_format format)
{
	*ring = (struct ks_ring){
		.format = format,
		.swap = format.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
	};
}

void ks_ring_feed(struct ks_ring *ring, const u8 *pages, size_t len)
{
	size_t part = len % ring->format.page_size;

	ring->bad += part != 0;
	ring->pages = pages;
	ring->pages_end = pages + (len - part);
	ring->next = ring->page_end = ring->pages;
}

/* A loss that a page without records tells is kept for the next record, in this feed or a later one. */
bool ks_ring_next_page(struct ks_ring *ring)
{
	while (ring->pages < ring->pages_end) {
		const u8 *page = ring->pages;

		ring->pages += ring->format.page_size;
		if (open_page(ring, page) && ks_ring_step(ring))
			return true;
	}
	return false;
}
