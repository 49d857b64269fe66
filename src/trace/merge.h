/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Merging streams that are in order by themselves, such as the CPUs of a capture: a heap of those that
 * have something left, the earliest on top.
 */
#ifndef KS_TRACE_MERGE_H
#define KS_TRACE_MERGE_H

#include "base/types.h"

/*
 * A stream is known by the place where it keeps the time of what it has next. All streams are in one
 * array: the first of those with equal times comes first.
 */
struct ks_merge {
	const u64 **heap; /* with few streams, all in order, which is a heap, too */
	size_t len;
};

/* With at most this number of streams, moving the top one past earlier ones takes less time than a heap. */
enum { KS_MERGE_SORTED = 8 };

/* @streams: the most that will be added. 0 or -ENOMEM. */
int ks_merge_init(struct ks_merge *merge, size_t streams);
void ks_merge_deinit(struct ks_merge *merge);

/* Streams are added first, all of them; then the merge starts. */
void ks_merge_add(struct ks_merge *merge, const u64 *stream);
void ks_merge_start(struct ks_merge *merge);

static inline bool ks_merge_before(const u64 *a, const u64 *b)
{
	return *a != *b ? *a < *b : a < b;
}

/* The earliest stream but for the top one; NULL where there is no other. */
static inline const u64 *ks_merge_runner_up(const struct ks_merge *merge)
{
	if (merge->len < 2)
		return NULL;
	if (merge->len > 2 && ks_merge_before(merge->heap[2], merge->heap[1]))
		return merge->heap[2];
	return merge->heap[1];
}

/* The new top, where there are many streams, or one came to its end. */
void ks_merge_sift(struct ks_merge *merge, bool ended);

/*
 * The top stream has moved on, or come to its end: finds the new top. Inline, as it runs once for every
 * few events.
 */
static inline void ks_merge_advance(struct ks_merge *merge, bool ended)
{
	const u64 **heap = merge->heap, *top = heap[0];
	size_t i;

	if (unlikely(ended || merge->len > KS_MERGE_SORTED)) {
		ks_merge_sift(merge, ended);
		return;
	}
	for (i = 1; i < merge->len && ks_merge_before(heap[i], top); i++)
		heap[i - 1] = heap[i];
	heap[i - 1] = top;
}

#endif
