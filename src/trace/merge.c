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
}

void ks_merge_advance(struct ks_merge *merge, bool ended)
{
	const u64 *other;

	if (ended)
		merge->heap[0] = merge->heap[--merge->len];
	other = ks_merge_runner_up(merge);
	if (other && !ks_merge_before(merge->heap[0], other))
		sift_down(merge, 0);
}
