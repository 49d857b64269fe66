// SPDX-License-Identifier: GPL-2.0-only
/* Merging streams: the order is that of a sort by time and, for equal times, by stream. */
#include "ks-test.h"

#include "trace/merge.h"

/* === Data ================================================================================= */

enum { STREAMS = 3 * KS_MERGE_SORTED, ITEMS = 40 };

struct item {
	u64 time;
	size_t stream;
};

/* === Internals ============================================================================ */

static int by_time_then_stream(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* The same numbers in every run, so that a failure can be seen again. */
static u32 draw(void)
{
	static u32 seed = 1;

	seed = seed * 1664525 + 1013904223;
	return seed >> 16;
}

/* Streams of different lengths, with many equal times. */
static size_t make_items(u64 times[STREAMS][ITEMS], size_t lens[STREAMS], size_t streams,
			 struct item *items)
{
	size_t count = 0, i, j;

	for (i = 0; i < streams; i++) {
		u64 time = draw() % 8;

		lens[i] = 1 + draw() % ITEMS;
		for (j = 0; j < lens[i]; j++) {
			times[i][j] = time;
			items[count++] = (struct item){ time, i };
			time += draw() % 5;
		}
	}
	qsort(items, count, sizeof(*items), by_time_then_stream);
	return count;
}

static void check_merge(size_t streams)
{
	u64 times[STREAMS][ITEMS], now[STREAMS];
	struct item items[STREAMS * ITEMS];
	size_t lens[STREAMS], at[STREAMS] = { 0 }, i;
	size_t count = make_items(times, lens, streams, items);
	struct ks_merge merge;

	assert_int_equal(ks_merge_init(&merge, streams), 0);
	for (i = 0; i < streams; i++) {
		now[i] = times[i][0];
		ks_merge_add(&merge, &now[i]);
	}
	ks_merge_start(&merge);
	for (i = 0; i < count; i++) {
		const u64 *other = ks_merge_runner_up(&merge);
		size_t top = (size_t)(merge.heap[0] - now);

		assert_int_equal(top, items[i].stream);
		assert_int_equal(now[top], items[i].time);
		if (other)
			assert_true(ks_merge_before(merge.heap[0], other));
		if (++at[top] < lens[top])
			now[top] = times[top][at[top]];
		ks_merge_advance(&merge, at[top] == lens[top]);
	}
	assert_int_equal(merge.len, 0);
	ks_merge_deinit(&merge);
}

/* === Tests ================================================================================ */

static void test_order(void **state)
{
	size_t streams, i;

	for (streams = 1; streams <= STREAMS; streams++)
		for (i = 0; i < 20; i++)
			check_merge(streams);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_order),
};

KS_RUN(tests)
