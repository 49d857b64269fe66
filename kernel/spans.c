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

static void insert(struct mz_span *spans, u32 *nr, const struct mz_span *span)
{
	u32 at = rank(spans, *nr, span->start);

	memmove(spans + at + 1, spans + at, (*nr - at) * sizeof(*spans));
	spans[at] = *span;
	WRITE_ONCE(*nr, *nr + 1);
}

static void remove_at(struct mz_span *spans, u32 *nr, u32 at)
{
	memmove(spans + at, spans + at + 1, (*nr - at - 1) * sizeof(*spans));
	WRITE_ONCE(*nr, *nr - 1);
}

/* Sends readers to the other copy. All that was written before is there for who comes later. */
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

/* Spans do not overlap. Return: false if there is no room. */
bool mz_spans_add(struct mz_spans *spans, unsigned long start, unsigned long end)
{
	struct mz_span span = { start, end };
	unsigned long flags;
	bool room;
	int i;

	mz_lock(&spans->lock, flags);
	room = spans->nr[0] < spans->capacity;
	for (i = 0; room && i < 2; i++) {
		int copy = resting(spans);

		insert(spans->copies[copy], &spans->nr[copy], &span);
		turn(spans);
	}
	mz_unlock(&spans->lock, flags);
	return room;
}

/* Return: whether there was a span with this start. */
bool mz_spans_remove(struct mz_spans *spans, unsigned long start)
{
	unsigned long flags;
	bool found;
	u32 at;
	int i;

	mz_lock(&spans->lock, flags);
	at = rank(spans->copies[0], spans->nr[0], start);
	found = at && spans->copies[0][at - 1].start == start;
	for (i = 0; found && i < 2; i++) {
		int copy = resting(spans);

		remove_at(spans->copies[copy], &spans->nr[copy], at - 1);
		turn(spans);
	}
	mz_unlock(&spans->lock, flags);
	return found;
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
