// SPDX-License-Identifier: GPL-2.0-only
/* Ranges of addresses: two sorted arrays, one of which is at rest at any time. */
#include "spans.h"

/* === Internals ============================================================================ */

/* How many spans start at or before an address. */
static u32 rank(const struct mz_span *spans, u32 nr, unsigned long addr)
{
	u32 low = 0;

	while (low < nr) {
		u32 middle = low + (nr - low) / 2;

		if (READ_ONCE(spans[middle].start) <= addr)
			low = middle + 1;
		else
			nr = middle;
	}
	return low;
}

/* Puts a span, or nothing, in the place of those from @from up to, but not including, @to. */
static void replace(struct mz_span *spans, u32 *nr, u32 from, u32 to, const struct mz_span *span)
{
	u32 added = span ? 1 : 0;

	memmove(spans + from + added, spans + to, (*nr - to) * sizeof(*spans));
	if (span)
		spans[from] = *span;
	WRITE_ONCE(*nr, *nr + added - (to - from));
}

/* Makes readers use the other copy, with all that was written to it. */
static void turn(struct mz_spans *spans)
{
	smp_wmb(); /* pairs with the first one in mz_spans_find() */
	WRITE_ONCE(spans->sequence, spans->sequence + 1);
	smp_wmb(); /* pairs with the second one */
}

/* The copy that readers do not use now. */
static int resting(const struct mz_spans *spans)
{
	return !(spans->sequence & 1);
}

/* Both copies are the same before and after. */
static void replace_in_both(struct mz_spans *spans, u32 from, u32 to, const struct mz_span *span)
{
	int i;

	for (i = 0; i < 2; i++) {
		int copy = resting(spans);

		replace(spans->copies[copy], &spans->nr[copy], from, to, span);
		turn(spans);
	}
}

/* === Public =============================================================================== */

int mz_spans_init(struct mz_spans *spans, u32 capacity)
{
	*spans = (struct mz_spans){ .capacity = capacity };
	raw_spin_lock_init(&spans->lock);
	spans->copies[0] = vzalloc(capacity * sizeof(struct mz_span));
	spans->copies[1] = vzalloc(capacity * sizeof(struct mz_span));
	if (!spans->copies[0] || !spans->copies[1]) {
		mz_spans_deinit(spans);
		return -ENOMEM;
	}
	return 0;
}

void mz_spans_deinit(struct mz_spans *spans)
{
	vfree(spans->copies[0]);
	vfree(spans->copies[1]);
	spans->copies[0] = NULL;
	spans->copies[1] = NULL;
}

/*
 * Spans do not overlap: those that were there have ended without having been removed, and are.
 * Return: false if there is no room.
 */
bool mz_spans_add(struct mz_spans *spans, unsigned long start, unsigned long end)
{
	const struct mz_span *copy = spans->copies[0];
	struct mz_span span = { start, end };
	unsigned long flags;
	u32 from, to;
	bool room;

	mz_lock(&spans->lock, flags);
	from = rank(copy, spans->nr[0], start);
	if (from && copy[from - 1].end > start)
		from--;
	to = rank(copy, spans->nr[0], end - 1);
	room = from < to || spans->nr[0] < spans->capacity;
	if (room)
		replace_in_both(spans, from, to, &span);
	mz_unlock(&spans->lock, flags);
	return room;
}

/* Return: whether there was a span with this start. */
bool mz_spans_remove(struct mz_spans *spans, unsigned long start)
{
	unsigned long flags;
	bool found;
	u32 at;

	mz_lock(&spans->lock, flags);
	at = rank(spans->copies[0], spans->nr[0], start);
	found = at && spans->copies[0][at - 1].start == start;
	if (found)
		replace_in_both(spans, at - 1, at, NULL);
	mz_unlock(&spans->lock, flags);
	return found;
}

void mz_spans_clear(struct mz_spans *spans)
{
	unsigned long flags;

	mz_lock(&spans->lock, flags);
	replace_in_both(spans, 0, spans->nr[0], NULL);
	mz_unlock(&spans->lock, flags);
}

/* The span that an address is in. Any context. */
bool mz_spans_find(const struct mz_spans *spans, unsigned long addr, struct mz_span *ret_span)
{
	struct mz_span span;
	u32 sequence, at;
	bool found;

	do {
		const struct mz_span *copy;

		sequence = READ_ONCE(spans->sequence);
		smp_rmb(); /* pairs with the first one in turn() */
		copy = spans->copies[sequence & 1];
		at = rank(copy, READ_ONCE(spans->nr[sequence & 1]), addr);
		if (at) {
			span.start = READ_ONCE(copy[at - 1].start);
			span.end = READ_ONCE(copy[at - 1].end);
		}
		smp_rmb(); /* pairs with the second one in turn() */
	} while (READ_ONCE(spans->sequence) != sequence);
	found = at && addr < span.end;
	if (found)
		*ret_span = span;
	return found;
}
