// SPDX-License-Identifier: LGPL-2.1-only
/* The union of the lives of a site's objects. */
#include "kmap/life.h"

#include <errno.h>
#include <string.h>

/* === Internals ============================================================================ */

/* The first span that ends at @at or later. Streams have objects by their end: the search starts there. */
static size_t first_reaching(const struct ks_kmap_life *life, u64 at)
{
	size_t low = 0, high = life->spans.len;

	if (high && life->spans.items[high - 1].end < at)
		return high;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (life->spans.items[middle].end < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int compare_gaps(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Closes the shorter half of all gaps, so that this is rarely needed. */
static void close_gaps(struct ks_kmap_life *life)
{
	struct ks_kmap_span *spans = life->spans.items;
	u64 gaps[KS_KMAP_SPANS_MAX], limit;
	size_t i, kept = 0, len = life->spans.len;

	for (i = 1; i < len; i++)
		gaps[i - 1] = spans[i].begin - spans[i - 1].end;
	qsort(gaps, len - 1, sizeof(*gaps), compare_gaps);
	limit = gaps[(len - 1) / 2];
	for (i = 1; i < len; i++) {
		u64 gap = spans[i].begin - spans[kept].end;

		if (gap <= limit) {
			life->closed += gap;
			spans[kept].end = spans[i].end;
		} else {
			spans[++kept] = spans[i];
		}
	}
	life->spans.len = kept + 1;
}

/* === Public =============================================================================== */

int ks_kmap_life_add(struct ks_kmap_life *life, u64 begin, u64 end)
{
	size_t from, to;

	if (end <= begin)
		return 0;
	if (life->spans.len == KS_KMAP_SPANS_MAX)
		close_gaps(life);
	from = first_reaching(life, begin);
	for (to = from; to < life->spans.len && life->spans.items[to].begin <= end; to++)
		;
	if (from == to) {
		if (!ks_vec_push(&life->spans))
			return -ENOMEM;
		memmove(&life->spans.items[from + 1], &life->spans.items[from],
			(life->spans.len - 1 - from) * sizeof(*life->spans.items));
		life->spans.items[from] = (struct ks_kmap_span){ begin, end };
		return 0;
	}
	/* It joins the spans from @from to before @to. */
	begin = ks_min(begin, life->spans.items[from].begin);
	end = ks_max(end, life->spans.items[to - 1].end);
	life->spans.items[from] = (struct ks_kmap_span){ begin, end };
	memmove(&life->spans.items[from + 1], &life->spans.items[to],
		(life->spans.len - to) * sizeof(*life->spans.items));
	life->spans.len -= to - from - 1;
	return 0;
}

void ks_kmap_life_add_live(struct ks_kmap_life *life, u64 begin)
{
	life->live_begin = life->has_live ? ks_min(life->live_begin, begin) : begin;
	life->has_live = true;
}

u64 ks_kmap_life_time(const struct ks_kmap_life *life, u64 last)
{
	u64 time = 0, until = life->has_live ? life->live_begin : UINT64_MAX;
	size_t i;

	for (i = 0; i < life->spans.len; i++) {
		const struct ks_kmap_span *span = &life->spans.items[i];

		if (span->begin < until)
			time += ks_min(span->end, until) - span->begin;
	}
	return time + (life->has_live && last > until ? last - until : 0);
}

void ks_kmap_life_free(struct ks_kmap_life *life)
{
	ks_vec_free(&life->spans);
}
