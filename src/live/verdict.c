// SPDX-License-Identifier: LGPL-2.1-only
/* Judges growth. */
#include "live/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum { FEWEST = 2 * KS_SPANS, PAIRS = KS_SPANS * (KS_SPANS - 1) / 2 };

static const char *const names[KS_FINDINGS] = {
	[KS_FINDS_TOO_SHORT] = "too short", [KS_FINDS_STILL] = "still",
	[KS_FINDS_SMALL] = "small",	    [KS_FINDS_STEP] = "step",
	[KS_FINDS_SLOWING] = "slowing",	    [KS_FINDS_GROWS] = "grows",
};

/* Each span's lowest value, and when it was. */
struct spans {
	double at[KS_SPANS], low[KS_SPANS];
	u32 len;
};

/* === Internals ============================================================================ */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double seconds(u64 ns)
{
	return (double)ns / 1e9;
}

/* Spans are of equal length; one in which nothing was measured is left out. */
static void find_spans(const struct ks_series *s, struct spans *spans)
{
	u64 first = s->points[0].at_ns, length = s->points[s->len - 1].at_ns - first + 1;
	u32 i, last = KS_NONE;

	spans->len = 0;
	for (i = 0; i < s->len; i++) {
		const struct ks_point *p = &s->points[i];
		u32 span = (u32)((double)(p->at_ns - first) * KS_SPANS / (double)length);

		if (span != last) {
			last = span;
			spans->low[spans->len] = p->value;
			spans->at[spans->len++] = seconds(p->at_ns - first);
		} else if (p->value < spans->low[spans->len - 1]) {
			spans->low[spans->len - 1] = p->value;
			spans->at[spans->len - 1] = seconds(p->at_ns - first);
		}
	}
}

/* The chance of a standard normal value above z. */
static double above(double z)
{
	return 0.5 * erfc(z / M_SQRT2);
}

/* Where the interval of this confidence ends, in standard deviations: by halving. */
static double deviations(double confidence)
{
	double low = 0, high = 8;
	int i;

	for (i = 0; i < 50; i++) {
		double mid = (low + high) / 2;

		if (2 * above(mid) > 1 - confidence)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static double median(const double *sorted, u32 len)
{
	return len % 2 ? sorted[len / 2] : (sorted[len / 2 - 1] + sorted[len / 2]) / 2;
}

static void find_slopes(const struct spans *s, double confidence, struct ks_judgement *j)
{
	double slopes[PAIRS], spread, n = s->len, rank;
	s32 rising = 0;
	u32 a, b, len = 0;
	double lower, upper;

	for (a = 0; a < s->len; a++)
		for (b = a + 1; b < s->len; b++) {
			rising += (s->low[b] > s->low[a]) - (s->low[b] < s->low[a]);
			slopes[len++] = (s->low[b] - s->low[a]) / (s->at[b] - s->at[a]);
		}
	qsort(slopes, len, sizeof(*slopes), compare);
	j->slope = median(slopes, len);
	spread = sqrt(n * (n - 1) * (2 * n + 5) / 18);
	j->p = rising > 0 ? above((rising - 1) / spread) : 1;
	rank = deviations(confidence) * spread;
	/* As many slopes lie below the interval as above it. */
	lower = floor((len - rank) / 2) - 1;
	upper = ceil((len + rank) / 2);
	j->low = slopes[lower < 0 ? 0 : (u32)lower];
	j->high = slopes[upper > len - 1 ? len - 1 : (u32)upper];
}

static double largest_step(const struct spans *s)
{
	double step = 0;
	u32 i;

	for (i = 1; i < s->len; i++)
		step = fmax(step, s->low[i] - s->low[i - 1]);
	return step;
}

static double steadiness(const struct spans *s)
{
	u32 i, up = 0;

	for (i = 1; i < s->len; i++)
		up += s->low[i] > s->low[i - 1];
	return (double)up / (s->len - 1);
}

/* What the last third of the time brought, of what a third would have to. */
static double of_late(const struct spans *s, double slope)
{
	u32 from = s->len * 2 / 3 - 1, to = s->len - 1;

	return (s->low[to] - s->low[from]) / ((s->at[to] - s->at[from]) * slope);
}

static enum ks_grown find(const struct spans *s, const struct ks_judging *how,
			  const struct ks_judgement *j)
{
	if (j->slope <= 0 || j->low <= 0 || j->p > 1 - how->confidence || j->growth <= 0)
		return KS_FINDS_STILL;
	if (j->growth < how->smallest)
		return KS_FINDS_SMALL;
	if (largest_step(s) > 0.5 * j->growth)
		return KS_FINDS_STEP;
	if (of_late(s, j->slope) < 0.4)
		return KS_FINDS_SLOWING;
	return KS_FINDS_GROWS;
}

/* === Public =============================================================================== */

const char *ks_grown_name(enum ks_grown finding)
{
	return names[finding];
}

void ks_series_add(struct ks_series *s, u64 at_ns, double value)
{
	u32 i;

	if (!s->stride)
		s->stride = 1;
	/* The clock of boot time does not go back; a point that would is none. */
	if (s->len && at_ns <= s->points[s->len - 1].at_ns)
		return;
	if (++s->skipped < s->stride)
		return;
	s->skipped = 0;
	if (s->len == KS_SERIES_MOST) {
		for (i = 0; i < KS_SERIES_MOST / 2; i++)
			s->points[i] = s->points[2 * i + 1];
		s->len = KS_SERIES_MOST / 2;
		s->stride *= 2;
	}
	s->points[s->len++] = (struct ks_point){ at_ns, value };
}

void ks_judge(const struct ks_series *s, const struct ks_judging *how, struct ks_judgement *ret)
{
	struct ks_judgement j = { .p = 1 };
	struct spans spans;

	*ret = j;
	if (s->len < FEWEST || s->points[s->len - 1].at_ns - s->points[0].at_ns < how->shortest_ns)
		return;
	find_spans(s, &spans);
	if (spans.len < KS_SPANS * 2 / 3)
		return;
	find_slopes(&spans, how->confidence, &j);
	j.seconds = (s->points[s->len - 1].at_ns - s->points[0].at_ns) / 1000000000;
	j.growth = spans.low[spans.len - 1] - spans.low[0];
	j.steadiness = steadiness(&spans);
	j.finding = find(&spans, how, &j);
	*ret = j;
}
