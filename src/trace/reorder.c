// SPDX-License-Identifier: LGPL-2.1-only
/* Merging of runs through a small heap. */
#include "trace/reorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

/* Equal times keep the order of arrival, so that the result does not depend on the heap. */
static bool before(const struct ks_reorder *ro, const struct ks_run *a, const struct ks_run *b)
{
	u64 x = ro->events.items[a->next].ts, y = ro->events.items[b->next].ts;

	return x != y ? x < y : a->next < b->next;
}

static void sift_down(struct ks_reorder *ro, size_t at)
{
	struct ks_run *runs = ro->runs.items, run = runs[at];
	size_t child;

	while ((child = 2 * at + 1) < ro->runs.len) {
		if (child + 1 < ro->runs.len && before(ro, &runs[child + 1], &runs[child]))
			child++;
		if (!before(ro, &runs[child], &run))
			break;
		runs[at] = runs[child];
		at = child;
	}
	runs[at] = run;
}

static int end_run(struct ks_reorder *ro)
{
	struct ks_run *run;

	if (ro->run_start == ro->events.len)
		return 0;
	run = ks_vec_push(&ro->runs);
	if (!run)
		return -ENOMEM;
	*run = (struct ks_run){ ro->run_start, ro->events.len };
	ro->run_start = ro->events.len;
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	const struct ks_run *x = a, *y = b;

	return x->next < y->next ? -1 : x->next > y->next;
}

/* What was not taken moves to the front, in order of arrival. */
static void compact(struct ks_reorder *ro)
{
	size_t i, to = 0;

	if (ro->runs.len)
		qsort(ro->runs.items, ro->runs.len, sizeof(struct ks_run), compare_runs);
	for (i = 0; i < ro->runs.len; i++) {
		struct ks_run *run = &ro->runs.items[i];
		size_t len = run->end - run->next;

		memmove(&ro->events.items[to], &ro->events.items[run->next],
			len * sizeof(struct ks_event));
		*run = (struct ks_run){ to, to + len };
		to += len;
	}
	ro->events.len = to;
	ro->run_start = to;
	ro->merging = false;
}

/* === Public =============================================================================== */

void ks_reorder_deinit(struct ks_reorder *ro)
{
	ks_vec_free(&ro->events);
	ks_vec_free(&ro->runs);
}

int ks_reorder_push(struct ks_reorder *ro)
{
	size_t at = ro->events.len;
	struct ks_event *ev = &ro->events.items[at];

	if (at > ro->run_start && ev->ts < ev[-1].ts && end_run(ro))
		return -ENOMEM;
	ro->events.len++;
	return 0;
}

int ks_reorder_take(struct ks_reorder *ro, u64 limit, struct ks_event *out, size_t cap,
		    size_t *ret_count)
{
	size_t count = 0, i;

	if (!ro->merging) {
		if (end_run(ro))
			return -ENOMEM;
		for (i = ro->runs.len / 2; i-- > 0;)
			sift_down(ro, i);
		ro->merging = true;
	}
	while (count < cap && ro->runs.len) {
		struct ks_run *top = &ro->runs.items[0];

		if (ro->events.items[top->next].ts > limit)
			break;
		out[count++] = ro->events.items[top->next++];
		if (top->next == top->end)
			ro->runs.items[0] = ro->runs.items[--ro->runs.len];
		if (ro->runs.len > 1)
			sift_down(ro, 0);
	}
	if (count < cap)
		compact(ro);
	*ret_count = count;
	return 0;
}
