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

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_leak_is_found),
	cmocka_unit_test(what_does_not_grow_is_not_accused),
	cmocka_unit_test(wandering_is_rarely_growth),
	cmocka_unit_test(little_is_not_enough),
	cmocka_unit_test(long_series_are_thinned),
};

KS_RUN(tests)
