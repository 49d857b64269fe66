/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Whether something grows, judged by a series of measurements. What swings comes back to where it was: so the lowest
 * value of each of a dozen spans of time is what is judged. A leak raises all of them, and goes on to do so.
 */
#ifndef KS_LIVE_VERDICT_H
#define KS_LIVE_VERDICT_H

#include "base/types.h"

enum { KS_SERIES_MOST = 120, KS_SPANS = 12 };

struct ks_point {
	u64 at_ns;
	double value;
};

/* When it is full, every second point goes, and from then on only every second comes: all of the time stays in it. */
struct ks_series {
	struct ks_point points[KS_SERIES_MOST];
	u32 len;
	u32 stride, skipped;
};

void ks_series_add(struct ks_series *series, u64 at_ns, double value);

enum ks_grown {
	KS_FINDS_TOO_SHORT, /* not enough was seen to say anything */
	KS_FINDS_STILL,	    /* it does not grow, or not more than it swings */
	KS_FINDS_SMALL,	    /* it grows, but by less than is asked for */
	KS_FINDS_STEP,	    /* it grew at once, and that was it */
	KS_FINDS_SLOWING,   /* it grew, and now hardly does */
	KS_FINDS_GROWS,
	KS_FINDINGS,
};

/* "grows", ... */
const char *ks_grown_name(enum ks_grown finding);

struct ks_judging {
	u64 shortest_ns;   /* of the series */
	double smallest;   /* growth over the whole series */
	double confidence; /* 0 < it < 1: that it does not grow is less likely than the rest */
};

struct ks_judgement {
	enum ks_grown finding;
	double slope, low, high; /* a second; the confidence interval */
	double growth;		 /* from the lowest of the first span to that of the last */
	double steadiness; /* share of spans whose lowest value is above that of the span before */
	double p;	   /* that a series without growth looks like this, at most */
	u64 seconds;
};

/* Sorts slopes between all pairs of spans (Theil-Sen), and counts those that rise (Mann-Kendall). */
void ks_judge(const struct ks_series *series, const struct ks_judging *how,
	      struct ks_judgement *ret_judgement);

#endif
