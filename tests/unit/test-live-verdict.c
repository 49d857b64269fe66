// SPDX-License-Identifier: GPL-2.0-only
/* Verdicts on made-up series: what must be called growth, and what must not. */
#include "ks-test.h"

#include <math.h>

#include "live/verdict.h"

/* === Data ================================================================================= */

static const struct ks_judging how = {
	.shortest_ns = 20000000000,
	.smallest = 50000,
	.confidence = 0.99,
};

/* === Internals ============================================================================ */

/* The same numbers in every run. */
static double noise(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return (double)(*state >> 8) / (1 << 24);
}

/* Some Gauss, by a sum of twelve. */
static double gauss(u32 *state)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += noise(state);
	return sum;
}

typedef double shape_fn(u32 second, u32 *state);

static struct ks_judgement judge(shape_fn *shape, u32 seconds, u32 seed)
{
	static struct ks_series series;
	struct ks_judgement judgement;
	u32 i;

	series = (struct ks_series){ 0 };
	for (i = 0; i < seconds; i++)
		ks_series_add(&series, (1000ull + i) * 1000000000, shape(i, &seed));
	ks_judge(&series, &how, &judgement);
	return judgement;
}

/* How often, of 200 series with other noise, it is found to grow. */
static u32 found(shape_fn *shape, u32 seconds)
{
	u32 seed, count = 0;

	for (seed = 0; seed < 200; seed++)
		count += judge(shape, seconds, seed * 77 + 5).finding == KS_FINDS_GROWS;
	return count;
}

/* === Shapes =============================================================================== */

static double leak(u32 t, u32 *state)
{
	return 1e6 + 2560.0 * t;
}

static double leak_in_noise(u32 t, u32 *state)
{
	return 1e6 + 10000.0 * t + 40000 * gauss(state);
}

/* What a build does: up and down by megabytes, always back to where it was. */
static double saw_tooth(u32 t, u32 *state)
{
	return 5e6 + 300000.0 * (t % 9) + 100000 * noise(state);
}

static double leak_under_saw_tooth(u32 t, u32 *state)
{
	return saw_tooth(t, state) + 50000.0 * t;
}

static double noise_alone(u32 t, u32 *state)
{
	return 1e7 + 200000 * gauss(state);
}

/* Noise that has a memory: the hardest for whoever takes measurements for independent. */
static double walk(u32 t, u32 *state)
{
	static double at;

	at = t ? 0.9 * at + 50000 * gauss(state) : 0;
	return 1e7 + at;
}

static double step(u32 t, u32 *state)
{
	return t < 25 ? 1e6 : 3e6;
}

/* A program starts and has what it needs. */
static double saturating(u32 t, u32 *state)
{
	return 1e6 * (1 - exp(-(double)t / 8));
}

static double shrinking(u32 t, u32 *state)
{
	return 1e7 - 5000.0 * t;
}

static double reclaim(u32 t, u32 *state)
{
	return t < 35 ? 1e6 + 50000.0 * t : 1e6;
}

static double daily(u32 t, u32 *state)
{
	return 1e7 + 5e6 * sin(t * 2 * 3.14159265 / 86400);
}

/* === Tests ================================================================================ */

static void a_leak_is_found(void **state)
{
	struct ks_judgement j = judge(leak, 40, 1);

	assert_int_equal(j.finding, KS_FINDS_GROWS);
	assert_true(fabs(j.slope - 2560) < 1);
	assert_true(j.low <= j.slope && j.slope <= j.high && j.low > 2500);
	assert_true(j.steadiness > 0.99 && j.p < 1e-4);
	assert_true(fabs(j.growth - 2560 * 36) < 2560 * 4);
	j = judge(leak_under_saw_tooth, 120, 1);
	assert_int_equal(j.finding, KS_FINDS_GROWS);
	assert_true(j.low <= 50000 && j.high >= 50000);
	assert_true(found(leak_in_noise, 60) >= 195);
	assert_true(found(leak_under_saw_tooth, 120) >= 195);
}

static void what_does_not_grow_is_not_accused(void **state)
{
	assert_int_equal(judge(step, 60, 1).finding == KS_FINDS_GROWS, false);
	assert_int_equal(judge(saturating, 60, 1).finding == KS_FINDS_GROWS, false);
	assert_int_equal(judge(shrinking, 60, 1).finding, KS_FINDS_STILL);
	assert_int_equal(judge(reclaim, 60, 1).finding == KS_FINDS_GROWS, false);
	assert_true(found(saw_tooth, 60) <= 2);
	assert_true(found(noise_alone, 60) <= 2);
	assert_true(found(noise_alone, 240) <= 2);
}

/* It is no proof that there is none: but one series in twenty, at most, that only wanders. */
static void wandering_is_rarely_growth(void **state)
{
	assert_true(found(walk, 240) <= 10);
}

static void little_is_not_enough(void **state)
{
	assert_int_equal(judge(leak, 15, 1).finding, KS_FINDS_TOO_SHORT);
	assert_int_equal(judge(leak, 21, 1).finding, KS_FINDS_TOO_SHORT);
	assert_int_equal(judge(leak, 25, 1).finding, KS_FINDS_GROWS);
}

/* Thousands of points are still of the whole time. */
static void long_series_are_thinned(void **state)
{
	struct ks_judgement j = judge(leak, 10000, 1);

	assert_int_equal(j.finding, KS_FINDS_GROWS);
	assert_true(j.seconds > 9800 && fabs(j.slope - 2560) < 5);
	/* Over three days a daily rhythm is none; in the morning it is. */
	assert_int_equal(judge(daily, 3 * 86400, 1).finding == KS_FINDS_GROWS, false);
}

/* === Tests: by the book =================================================================== */

/* Two points a span, both of its value, so that spans are 2 s apart and no lowest value is chosen. */
static struct ks_judgement judge_spans(const double values[KS_SPANS], const struct ks_judging *by)
{
	struct ks_series series = { 0 };
	struct ks_judgement j;
	u32 i;

	for (i = 0; i < 2 * KS_SPANS; i++)
		ks_series_add(&series, (5000ull + i) * 1000000000, values[i / 2]);
	ks_judge(&series, by, &j);
	return j;
}

static void fill_slopes(const double values[KS_SPANS], double *slopes, s32 *ret_sign)
{
	u32 a, b, i, len = 0;

	*ret_sign = 0;
	for (b = 0; b < KS_SPANS; b++)
		for (a = 0; a < b; a++) {
			double slope = (values[b] - values[a]) / (2.0 * (b - a));

			*ret_sign += values[b] > values[a] ? 1 : values[b] < values[a] ? -1 : 0;
			for (i = len++; i && slopes[i - 1] > slope; i--)
				slopes[i] = slopes[i - 1];
			slopes[i] = slope;
		}
}

/* The area under the bell curve from z on, by adding up thin trapezia. */
static double tail(double z)
{
	double sum = 0, step = 1e-4, from, to;
	u32 i;

	for (i = 0; i < 90000; i++) {
		from = z + i * step;
		to = from + step;
		sum += step * (exp(-from * from / 2) + exp(-to * to / 2)) / 2;
	}
	return sum / sqrt(2 * 3.14159265358979);
}

/*
 * Sen's estimate of the slope with its interval, and Kendall's test, as Gilbert describes them (Statistical Methods for
 * Environmental Pollution Monitoring, 16.4): the M1-th smallest slope and the (M2 + 1)-th, where M1 = (N - C) / 2,
 * M2 = (N + C) / 2, and C is the deviate times sqrt(n (n - 1) (2 n + 5) / 18). Of 12 spans, this root is 14.5831.
 */
static void numbers_are_those_of_the_book(void **state)
{
	static const struct {
		double confidence;
		u32 low, high; /* counted from 1 */
	} rows[] = {
		{ 0.99, 14, 53 }, /* 2.5758: M1 14.22, M2 51.78 */
		{ 0.90, 21, 46 }, /* 1.6449: M1 21.01, M2 44.99 */
		{ 0.50, 28, 39 }, /* 0.6745: M1 28.08, M2 37.92 */
	};
	double values[KS_SPANS], slopes[66];
	u32 i, k, seed, up;
	s32 sign;

	for (seed = 1; seed < 60; seed++) {
		u32 random = seed;

		for (i = 0; i < KS_SPANS; i++)
			values[i] = 1e6 + 3000.0 * i + 20000 * floor(8 * noise(&random));
		fill_slopes(values, slopes, &sign);
		for (up = 0, i = 1; i < KS_SPANS; i++)
			up += values[i] > values[i - 1];
		for (k = 0; k < ARRAY_SIZE(rows); k++) {
			struct ks_judging by = { .confidence = rows[k].confidence };
			struct ks_judgement j = judge_spans(values, &by);
			double p = sign > 0 ? tail((sign - 1) / 14.58309) : 1;

			assert_true(fabs(j.slope - (slopes[32] + slopes[33]) / 2) < 1e-6);
			assert_true(fabs(j.low - slopes[rows[k].low - 1]) < 1e-6);
			assert_true(fabs(j.high - slopes[rows[k].high - 1]) < 1e-6);
			assert_true(fabs(j.p - p) < 1e-4);
			assert_true(fabs(j.growth - (values[11] - values[0])) < 1e-6);
			assert_true(fabs(j.steadiness - up / 11.0) < 1e-9);
			assert_int_equal(j.seconds, 23);
		}
	}
}

/* A span counts by its lowest point, and when that was. */
static void spans_count_by_their_lowest(void **state)
{
	struct ks_judging by = { .confidence = 0.99 };
	struct ks_series series = { 0 };
	struct ks_judgement j;
	u32 i;

	/* High and low by turns: the second of each two is low. */
	for (i = 0; i < 24; i++)
		ks_series_add(&series, (i + 1) * 1000000000ull, (i % 2 ? 0 : 1e6) + 50.0 * (i / 2));
	ks_judge(&series, &by, &j);
	assert_int_equal(j.finding, KS_FINDS_GROWS);
	assert_true(fabs(j.slope - 25) < 1e-6 && fabs(j.low - 25) < 1e-6 &&
		    fabs(j.high - 25) < 1e-6);
	assert_true(fabs(j.growth - 550) < 1e-6);
}

static void findings_have_edges(void **state)
{
	struct ks_judging by = { .confidence = 0.99, .smallest = 1100 };
	double values[KS_SPANS], slopes[66];
	u32 i, more, slowing = 0, growing = 0;
	s32 sign;

	for (i = 0; i < KS_SPANS; i++)
		values[i] = 100.0 * i;
	assert_int_equal(judge_spans(values, &by).finding, KS_FINDS_GROWS);
	by.smallest = 1100.5;
	assert_int_equal(judge_spans(values, &by).finding, KS_FINDS_SMALL);
	by.smallest = 1;
	/* Of 22 in all, 11 at once is half of it, and 12 is more. */
	for (i = 0; i < KS_SPANS; i++)
		values[i] = i + (i > 5 ? 10 : 0);
	values[11] = 22;
	assert_int_equal(judge_spans(values, &by).finding, KS_FINDS_GROWS);
	for (i = 6; i < 11; i++)
		values[i] += 1;
	assert_int_equal(judge_spans(values, &by).finding, KS_FINDS_STEP);
	/* 20 a span, and less in the last third: from 40 % of the slope on it grows. */
	for (more = 0; more <= 20; more++) {
		double late;

		for (i = 0; i < KS_SPANS; i++)
			values[i] = i < 8 ? 20.0 * i : 140 + more * (i - 7.0);
		fill_slopes(values, slopes, &sign);
		late = more / 2.0 / ((slopes[32] + slopes[33]) / 2);
		slowing += late < 0.4;
		growing += late >= 0.4;
		assert_int_equal(judge_spans(values, &by).finding,
				 late < 0.4 ? KS_FINDS_SLOWING : KS_FINDS_GROWS);
	}
	assert_true(slowing > 3 && growing > 3);
	assert_string_equal(ks_grown_name(KS_FINDS_SLOWING), "slowing");
}

/* A machine that slept in between: the clock goes on, and what is allocated at its waking is one step. */
static void sleep_is_no_growth(void **state)
{
	static const u64 second = 1000000000, slept = 8 * 3600 * 1000000000ull;
	static const double steps[] = { 0, 2e6, -2e6 };
	static struct ks_series series;
	struct ks_judgement judgement;
	size_t i;
	u32 t, split;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		for (split = 1; split < 40; split++) {
			series = (struct ks_series){ 0 };
			for (t = 0; t < 40; t++)
				ks_series_add(&series, t * second + (t < split ? 0 : slept),
					      5e6 + (t < split ? 0 : steps[i]));
			ks_judge(&series, &how, &judgement);
			assert_true(judgement.finding != KS_FINDS_GROWS);
		}
	}
}

static void points_are_in_order(void **state)
{
	struct ks_series series = { 0 };
	u32 i;

	ks_series_add(&series, 100, 1);
	ks_series_add(&series, 100, 2);
	ks_series_add(&series, 99, 3);
	assert_int_equal(series.len, 1);
	assert_true(series.points[0].value == 1);

	series = (struct ks_series){ 0 };
	for (i = 1; i <= KS_SERIES_MOST; i++)
		ks_series_add(&series, i, i);
	assert_int_equal(series.len, KS_SERIES_MOST);
	ks_series_add(&series, 121, 121);
	assert_int_equal(series.len, KS_SERIES_MOST / 2 + 1);
	for (i = 0; i < KS_SERIES_MOST / 2; i++)
		assert_true(series.points[i].at_ns == 2 * i + 2 &&
			    series.points[i].value == 2 * i + 2);
	for (i = 122; i <= 141; i++)
		ks_series_add(&series, i, i);
	assert_int_equal(series.len, KS_SERIES_MOST / 2 + 11);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_leak_is_found),
	cmocka_unit_test(what_does_not_grow_is_not_accused),
	cmocka_unit_test(wandering_is_rarely_growth),
	cmocka_unit_test(little_is_not_enough),
	cmocka_unit_test(long_series_are_thinned),
	cmocka_unit_test(numbers_are_those_of_the_book),
	cmocka_unit_test(spans_count_by_their_lowest),
	cmocka_unit_test(findings_have_edges),
	cmocka_unit_test(points_are_in_order),
	cmocka_unit_test(sleep_is_no_growth),
};

KS_RUN(tests)
