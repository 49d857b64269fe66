// SPDX-License-Identifier: GPL-2.0-only
/* The chart of live bytes over time: where each bar, line and word stands, worked out by hand. */
#include "ks-test.h"

#include <math.h>

#include "report/rings.h"
#include "report/timeline.h"

/* === Data ================================================================================= */

/* The plot is 700 x 300 points and begins at (76, 52); its base is at 352. */
enum { BUCKETS = 4, TRACKS = 2 };

struct made {
	struct ks_model model;
	struct ks_moment items[BUCKETS];
	struct ks_track track[TRACKS];
	const struct ks_track *tracks[TRACKS];
	u64 live[TRACKS * BUCKETS];
	struct ks_moments moments;
	struct ks_chart chart;
};

/* === Internals ============================================================================ */

/* Each character is as wide as half of its height. */
static double width(void *ctx, const char *text, double size, bool bold)
{
	(void)ctx;
	(void)bold;
	return (double)strlen(text) * size / 2;
}

static void make(struct made *m, u64 bucket_ns)
{
	static const u64 all[BUCKETS] = { 1024, 4096, 8192, 3000 };
	static const u64 live[] = { 1024, 3072, 4096, 0, 0, 512, 1024, 3000 };
	const struct ks_text_measure measure = { .width = width };
	int i;

	*m = (struct made){ .model = { .level = KS_SLAB, .clock = KS_CLOCK_SECONDS } };
	for (i = 0; i < BUCKETS; i++)
		m->items[i] =
			(struct ks_moment){ .ts = 5000000000 + (u64)i * bucket_ns, .live = all[i] };
	memcpy(m->live, live, sizeof(live));
	m->track[0].label = "fs/one.c";
	m->track[1].label = "a_function_whose_name_is_longer_than_the_legend_is_wide";
	for (i = 0; i < TRACKS; i++)
		m->tracks[i] = &m->track[i];
	m->moments = (struct ks_moments){ .model = &m->model,
					  .dim = KS_TL_SITE,
					  .width = bucket_ns,
					  .items = m->items,
					  .len = BUCKETS,
					  .tracks = m->tracks,
					  .tracks_len = TRACKS,
					  .live = m->live };
	assert_int_equal(ks_timeline_layout(&m->moments, &measure, &m->chart), 0);
}

/* As in ring charts: by name, one after the other, and grey for all others. */
static void colors_by_name(const struct made *m, struct ks_rgb *colors)
{
	struct ks_hues hues;
	int i;

	ks_hues_init(&hues);
	for (i = 0; i < TRACKS; i++)
		colors[i] = ks_rings_color(ks_hues_next(&hues, m->track[i].label), 0, false);
	colors[TRACKS] = ks_rings_other_color(0);
}

static bool same(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

static bool same_color(struct ks_rgb a, struct ks_rgb b)
{
	return a.r == b.r && a.g == b.g && a.b == b.b;
}

/* How many boxes are exactly there; of any colour where @fill is NULL. */
static int boxes_at(const struct made *m, double x, double y, double wide, double high,
		    const struct ks_rgb *fill)
{
	int found = 0;
	size_t i;

	for (i = 0; i < m->chart.boxes.len; i++) {
		const struct ks_chart_box *box = &m->chart.boxes.items[i];

		found += same(box->x, x) && same(box->y, y) && same(box->width, wide) &&
			 same(box->height, high) && (!fill || same_color(box->fill, *fill));
	}
	return found;
}

static const struct ks_chart_text *text_of(const struct made *m, const char *text)
{
	size_t i;

	for (i = 0; i < m->chart.texts.len; i++)
		if (!strcmp(m->chart.texts.items[i].text, text))
			return &m->chart.texts.items[i];
	fail_msg("no text '%s'", text);
	return NULL;
}

static void check_text(const struct made *m, const char *text, double x, double y, double size,
		       enum ks_anchor anchor)
{
	const struct ks_chart_text *t = text_of(m, text);

	if (!same(t->x, x) || !same(t->y, y) || !same(t->size, size) ||
	    !same(t->width, (double)strlen(text) * size / 2) || t->anchor != anchor)
		fail_msg("'%s' is at %g, %g", text, t->x, t->y);
	assert_int_equal(t->slice, KS_NONE);
}

/* === Tests ================================================================================ */

/* 8192 bytes are 300 points; a bucket is 175 wide. The groups stand on each other, the rest on top of them. */
static void test_bars(void **state)
{
	static const struct {
		int bucket, color;
		double y, height;
	} bars[] = {
		{ 0, 0, 352 - 37.5, 37.5 },
		{ 1, 0, 352 - 112.5, 112.5 },
		{ 1, 1, 352 - 131.25, 18.75 },
		{ 1, 2, 352 - 150, 18.75 },
		{ 2, 0, 352 - 150, 150 },
		{ 2, 1, 352 - 187.5, 37.5 },
		{ 2, 2, 52, 112.5 },
		{ 3, 1, 352 - 3000 * 300.0 / 8192, 3000 * 300.0 / 8192 },
	};
	struct ks_rgb colors[TRACKS + 1];
	struct made m;
	size_t i;

	make(&m, 250000000);
	colors_by_name(&m, colors);
	for (i = 0; i < ARRAY_SIZE(bars); i++)
		assert_int_equal(boxes_at(&m, 76 + 175 * bars[i].bucket, bars[i].y, 175,
					  bars[i].height, &colors[bars[i].color]),
				 1);
	/* The bars, 5 lines, 6 marks of time, and 3 colours of the legend. */
	assert_int_equal(m.chart.boxes.len, ARRAY_SIZE(bars) + 5 + 6 + 3);
	ks_chart_deinit(&m.chart);
}

/* At most five steps of a power of two; text ends 8 points before the plot. */
static void test_grid(void **state)
{
	static const char *const labels[] = { "0 B", "2.0 KiB", "4.0 KiB", "6.0 KiB", "8.0 KiB" };
	struct made m;
	size_t i;

	make(&m, 250000000);
	for (i = 0; i < ARRAY_SIZE(labels); i++) {
		check_text(&m, labels[i], 68, 352 - 75 * (double)i, 11, KS_ANCHOR_END);
		assert_int_equal(boxes_at(&m, 76, 351.5 - 75 * (double)i, 700, 1, NULL), 1);
	}
	ks_chart_deinit(&m.chart);
}

/* The first mark is the time itself, the others say how long after it: a second has steps of 200 ms. */
static void test_times(void **state)
{
	static const struct {
		u64 bucket_ns;
		const char *first, *last;
		int steps, of;
	} cases[] = {
		{ 250000000, "+200 ms", "+1000 ms", 5, 5 }, { 1000000000, "+1 s", "+4 s", 4, 4 },
		{ 500, "+500 ns", "+2000 ns", 4, 4 },	    { 12500, "+10 µs", "+50 µs", 5, 5 },
		{ 15000000, "+20 ms", "+60 ms", 3, 3 },	    { 17000000000, "+20 s", "+60 s", 3, 0 },
	};
	struct made m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		double step = cases[i].of ? 700.0 / cases[i].of : 700.0 * 20 / 68;
		int k;

		make(&m, cases[i].bucket_ns);
		check_text(&m, "5.000000000", 76, 368, 11, KS_ANCHOR_START);
		check_text(&m, cases[i].first, 76 + step, 368, 11, KS_ANCHOR_MIDDLE);
		check_text(&m, cases[i].last, 76 + step * cases[i].steps, 368, 11,
			   KS_ANCHOR_MIDDLE);
		for (k = 0; k <= cases[i].steps; k++)
			assert_int_equal(boxes_at(&m, 75.5 + step * k, 352, 1, 5, NULL), 1);
		assert_int_equal(boxes_at(&m, 75.5 + step * k, 352, 1, 5, NULL), 0);
		ks_chart_deinit(&m.chart);
	}
	/* A clock that does not say how long a tick is has no unit. */
	make(&m, 250000000);
	ks_chart_deinit(&m.chart);
	m.model.clock = KS_CLOCK_TICKS;
	assert_int_equal(
		ks_timeline_layout(&m.moments, &(struct ks_text_measure){ width, NULL }, &m.chart),
		0);
	check_text(&m, "+200000000", 76 + 140, 368, 11, KS_ANCHOR_MIDDLE);
	ks_chart_deinit(&m.chart);
}

static void test_legend(void **state)
{
	static const char *const labels[] = { "fs/one.c",
					      "a_function_whose_name_is_longer_than_t..",
					      "all others" };
	struct ks_rgb colors[TRACKS + 1];
	struct made m;
	size_t i;

	make(&m, 250000000);
	colors_by_name(&m, colors);
	for (i = 0; i < ARRAY_SIZE(labels); i++) {
		double y = 52 + 18 * (double)i;

		assert_int_equal(boxes_at(&m, 800, y, 11, 11, &colors[i]), 1);
		check_text(&m, labels[i], 818, y + 5.5, 11, KS_ANCHOR_START);
	}
	check_text(&m, "Kernel slab memory: live bytes over time, by site", 76, 24, 15,
		   KS_ANCHOR_START);
	assert_string_equal(m.chart.title, "Kernel slab memory: live bytes over time, by site");
	assert_true(same(m.chart.width, 1080) && same(m.chart.height, 400));
	ks_chart_deinit(&m.chart);
	/* The same of pages, with a loss. */
	m.model.level = KS_PAGES;
	m.model.quality[KS_Q_LOST_EVENTS] = 1;
	m.moments.dim = KS_TL_CPU;
	assert_int_equal(
		ks_timeline_layout(&m.moments, &(struct ks_text_measure){ width, NULL }, &m.chart),
		0);
	assert_string_equal(m.chart.title,
			    "Kernel pages: live bytes over time, by cpu (the capture lost events)");
	ks_chart_deinit(&m.chart);
}

/* Nothing lived: no bar, one line, and no division by it. */
static void test_nothing(void **state)
{
	struct made m;
	int i;

	make(&m, 250000000);
	ks_chart_deinit(&m.chart);
	for (i = 0; i < BUCKETS; i++)
		m.items[i].live = 0;
	memset(m.live, 0, sizeof(m.live));
	assert_int_equal(
		ks_timeline_layout(&m.moments, &(struct ks_text_measure){ width, NULL }, &m.chart),
		0);
	assert_int_equal(boxes_at(&m, 76, 351.5, 700, 1, NULL), 1);
	assert_int_equal(m.chart.boxes.len, 1 + 6 + 3);
	ks_chart_deinit(&m.chart);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bars),	cmocka_unit_test(test_grid),
		cmocka_unit_test(test_times),	cmocka_unit_test(test_legend),
		cmocka_unit_test(test_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
