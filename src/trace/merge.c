// SPDX-License-Identifier: LGPL-2.1-only
/* Merging streams through a small heap. */
#include "trace/merge.h"

#include <errno.h>
#include <stdlib.h>

/* === Internals ============================================================================ */

static void sift_down(struct ks_merge *merge, size_t at)
{
	const u64 **heap = merge->heap, *moved = heap[at];
	size_t child;

	while ((child = 2 * at + 1) < merge->len) {
		if (child + 1 < merge->len && ks_merge_before(heap[child + 1], heap[child]))
			child++;
		if (!ks_merge_before(heap[child], moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static void sort(struct ks_merge *merge)
{
	const u64 **heap = merge->heap, *moved;
	size_t i, j;

	for (i = 1; i < merge->len; i++) {
		moved = heap[i];
		for (j = i; j && ks_merge_before(moved, heap[j - 1]); j--)
			heap[j] = heap[j - 1];
		heap[j] = moved;
	}
}

/* === Public =============================================================================== */

int ks_merge_init(struct ks_merge *merge, size_t streams)
{
	merge->len = 0;
	merge->heap = calloc(streams + 1, sizeof(const u64 *));
	return merge->heap ? 0 : -ENOMEM;
}

void ks_merge_deinit(struct ks_merge *merge)
{
	free(merge->heap);
}

void ks_merge_add(struct ks_merge *merge, const u64 *stream)
{
	merge->heap[merge->len++] = stream;
}

void ks_merge_start(struct ks_merge *merge)
{
	size_t i;

	for (i = merge->len / 2; i-- > 0;)
		sift_down(merge, i);
	if (merge->len <= KS_MERGE_SORTED)
		sort(merge);
}

void ks_merge_sift(struct ks_merge *merge, bool ended)
{
	if (ended)
		merge->heap[0] = merge->heap[--merge->len];
	if (merge->len > KS_MERGE_SORTED)
		sift_down(merge, 0);
	else
		sort(merge);
}
