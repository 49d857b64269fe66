// SPDX-License-Identifier: GPL-2.0-only
/* Ring charts: sums, and the promise that no label overlaps another one or leaves its slice. */
#include "ks-test.h"

#include <math.h>

#include "base/hash.h"
#include "base/quantity.h"
#include "report/rings.h"

/* === Internals ============================================================================ */

struct made {
	struct ks_dirtree tree;
	struct ks_chart chart;
};

static void lay_out(struct made *m, const char *branch)
{
	struct ks_text_measure measure;
	struct ks_rings_spec spec = {
		.tree = &m->tree,
		.root_path = branch,
		.title = "Linux 6.12.9, a rather long name of a branch: static footprint, 1.9 MiB",
		.subtitle = "what was counted",
		.note = "kmemscope",
		.top = "directory",
		.leaves = "files",
	};

	assert_int_equal(ks_dirtree_sort(&m->tree), 0);
	assert_int_equal(ks_dirtree_touch(&m->tree, branch, &spec.root), 0);
	assert_int_equal(ks_cairo_measure_new(&measure, NULL), 0);
	assert_int_equal(ks_rings_layout(&spec, &measure, &m->chart), 0);
	ks_cairo_measure_free(&measure);
}

static void unmake(struct made *m)
{
	ks_chart_deinit(&m->chart);
	ks_dirtree_deinit(&m->tree);
}

struct quad {
	double x[4], y[4];
};

/* The rectangle that a text covers. */
static struct quad text_quad(const struct ks_chart_text *t)
{
	static const double shift[] = { 0, -0.5, -1 };
	double left = shift[t->anchor] * t->width, half = t->size / 2;
	double xs[] = { left, left + t->width, left + t->width, left };
	double ys[] = { -half, -half, half, half };
	struct quad q;
	int i;

	for (i = 0; i < 4; i++) {
		q.x[i] = t->x + xs[i] * cos(t->angle) - ys[i] * sin(t->angle);
		q.y[i] = t->y + xs[i] * sin(t->angle) + ys[i] * cos(t->angle);
	}
	return q;
}

/* Two convex shapes are disjoint if one shape is completely outside an edge of the other. */
static bool edge_parts(const struct quad *a, const struct quad *b)
{
	int i, j;

	for (i = 0; i < 4; i++) {
		double dx = a->x[(i + 1) % 4] - a->x[i], dy = a->y[(i + 1) % 4] - a->y[i];
		bool apart = true;

		for (j = 0; j < 4; j++)
			apart &= dx * (b->y[j] - a->y[i]) - dy * (b->x[j] - a->x[i]) < 1e-6;
		if (apart)
			return true;
	}
	return false;
}

static void check_texts(const struct ks_chart *chart)
{
	size_t i, j;
	int k;

	for (i = 0; i < chart->texts.len; i++) {
		struct quad a = text_quad(&chart->texts.items[i]);

		for (k = 0; k < 4; k++)
			if (a.x[k] < 0 || a.x[k] > chart->width || a.y[k] < 0 ||
			    a.y[k] > chart->height)
				fail_msg("'%s' leaves the picture", chart->texts.items[i].text);
		for (j = 0; j < i; j++) {
			struct quad b = text_quad(&chart->texts.items[j]);

			if (!edge_parts(&a, &b) && !edge_parts(&b, &a))
				fail_msg("'%s' overlaps '%s'", chart->texts.items[i].text,
					 chart->texts.items[j].text);
		}
	}
}

/* Samples of the label's rectangle, each converted to radius and angle. */
static void check_label(const struct ks_chart *chart, const struct ks_chart_text *t)
{
	const struct ks_chart_slice *s = &chart->slices.items[t->slice];
	struct quad q = text_quad(t);
	int i, j;

	for (i = 0; i <= 10; i++)
		for (j = 0; j <= 10; j++) {
			double u = i / 10.0, v = j / 10.0;
			double x = (q.x[0] * (1 - u) + q.x[1] * u) * (1 - v) +
				   (q.x[3] * (1 - u) + q.x[2] * u) * v - chart->center_x;
			double y = (q.y[0] * (1 - u) + q.y[1] * u) * (1 - v) +
				   (q.y[3] * (1 - u) + q.y[2] * u) * v - chart->center_y;
			double r = hypot(x, y), a = atan2(x, -y);

			if (a < 0)
				a += 2 * M_PI;
			if (r < s->inner || r > s->outer ||
			    (s->to - s->from < 2 * M_PI - 1e-6 && (a < s->from || a > s->to)))
				fail_msg("'%s' leaves its slice", t->text);
		}
}

static void check_chart(const struct ks_chart *chart)
{
	size_t i, j, labels = 0;

	check_texts(chart);
	for (i = 0; i < chart->texts.len; i++)
		if (chart->texts.items[i].slice != KS_NONE) {
			check_label(chart, &chart->texts.items[i]);
			labels++;
		}
	assert_true(labels > 0);
	for (i = 0; i < chart->slices.len; i++) {
		const struct ks_chart_slice *s = &chart->slices.items[i];

		assert_true(s->from >= 0 && s->to <= 2 * M_PI + 1e-9 && s->from <= s->to);
		for (j = 0; j < i; j++)
			assert_string_not_equal(s->id, chart->slices.items[j].id);
	}
}

/* The angle that the innermost ring covers. */
static double first_ring(const struct ks_chart *chart)
{
	double inner = chart->slices.items[0].inner, sum = 0;
	size_t i;

	for (i = 0; i < chart->slices.len; i++)
		if (chart->slices.items[i].inner == inner)
			sum += chart->slices.items[i].to - chart->slices.items[i].from;
	return sum;
}

static const struct ks_chart_text *find_text(const struct ks_chart *chart, const char *text)
{
	size_t i;

	for (i = 0; i < chart->texts.len; i++)
		if (!strcmp(chart->texts.items[i].text, text))
			return &chart->texts.items[i];
	return NULL;
}

static u32 next_random(u32 *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void make_random(struct made *m, u32 seed)
{
	static const char *const tops[] = { "drivers", "fs", "kernel", "mm", "net", "arch", "lib" };
	u32 state = seed, files = 1 + next_random(&state) % 800, i;
	char path[256];

	assert_int_equal(ks_dirtree_init(&m->tree), 0);
	for (i = 0; i < files; i++) {
		int n = snprintf(path, sizeof(path), "%s", tops[next_random(&state) % 7]);
		u32 depth = next_random(&state) % 5;

		while (depth--)
			n += snprintf(path + n, sizeof(path) - (size_t)n, "/dir%u",
				      next_random(&state) % 6);
		snprintf(path + n, sizeof(path) - (size_t)n, "/%s%u.c",
			 next_random(&state) % 2 ? "a_file_with_a_long_name_" : "f", i);
		assert_int_equal(ks_dirtree_add(&m->tree, path, 1u << next_random(&state) % 20), 0);
	}
	if (seed % 3 == 0)
		assert_int_equal(ks_dirtree_add(&m->tree, NULL, 1), 0);
}

/* === Tests ================================================================================ */

static void test_dirtree(void **state)
{
	struct ks_dirtree t;
	u32 node;

	assert_int_equal(ks_dirtree_init(&t), 0);
	assert_int_equal(ks_dirtree_add(&t, "fs/ext4/inode.c", 100), 0);
	assert_int_equal(ks_dirtree_add(&t, "fs/ext4/super.c", 50), 0);
	assert_int_equal(ks_dirtree_add(&t, "fs/inode.c", 30), 0);
	assert_int_equal(ks_dirtree_add(&t, "ext4", 7), 0); /* not fs/ext4 */
	assert_int_equal(ks_dirtree_add(&t, "fs/inode.c", 3), 0);
	assert_int_equal(ks_dirtree_add(&t, "", 1000), 0);
	assert_int_equal(ks_dirtree_add(&t, "mm/slub.c", 0), 0);
	assert_int_equal(ks_dirtree_sort(&t), 0);
	assert_int_equal(ks_dirtree_node(&t, 0)->bytes, 1190);
	assert_int_equal(ks_dirtree_node(&t, ks_dirtree_find(&t, "fs"))->bytes, 183);
	assert_int_equal(ks_dirtree_node(&t, ks_dirtree_find(&t, "fs/ext4"))->bytes, 150);
	assert_int_equal(ks_dirtree_node(&t, ks_dirtree_find(&t, "./fs/inode.c"))->bytes, 33);
	assert_int_equal(ks_dirtree_find(&t, "mm"), KS_NONE);
	assert_int_equal(ks_dirtree_find(&t, "fs/ext"), KS_NONE);
	/* Largest first; "unresolved" last, however large it is. */
	node = ks_dirtree_node(&t, 0)->child;
	assert_string_equal(ks_dirtree_node(&t, node)->name, "fs");
	node = ks_dirtree_node(&t, node)->sibling;
	assert_string_equal(ks_dirtree_node(&t, node)->name, "ext4");
	node = ks_dirtree_node(&t, node)->sibling;
	assert_true(ks_dirtree_node(&t, node)->unresolved);
	assert_int_equal(ks_dirtree_node(&t, node)->sibling, KS_NONE);
	ks_dirtree_deinit(&t);
}

static void test_random_trees(void **state)
{
	u32 seed;

	for (seed = 1; seed <= 40; seed++) {
		struct made m;

		make_random(&m, seed);
		lay_out(&m, "");
		check_chart(&m.chart);
		assert_true(fabs(first_ring(&m.chart) - 2 * M_PI) < 1e-6);
		if (seed % 3 == 0)
			assert_non_null(find_text(&m.chart, "unresolved"));
		unmake(&m);
	}
}

static void test_one_directory(void **state)
{
	struct made m;

	assert_int_equal(ks_dirtree_init(&m.tree), 0);
	assert_int_equal(ks_dirtree_add(&m.tree, "drivers/base/core.c", 1000), 0);
	lay_out(&m, "");
	check_chart(&m.chart);
	assert_int_equal(m.chart.slices.len, 3);
	assert_non_null(find_text(&m.chart, "drivers"));
	assert_non_null(find_text(&m.chart, "base"));
	unmake(&m);
}

static void test_one_file(void **state)
{
	struct made m;

	assert_int_equal(ks_dirtree_init(&m.tree), 0);
	assert_int_equal(ks_dirtree_add(&m.tree, "mm/slub.c", 1000), 0);
	assert_int_equal(ks_dirtree_add(&m.tree, "mm/slab.c", 500), 0);
	lay_out(&m, "mm/slub.c");
	check_chart(&m.chart);
	assert_int_equal(m.chart.slices.len, 1);
	assert_string_equal(m.chart.slices.items[0].title, "mm/slub.c: 1,000 bytes, 100.0 %");
	unmake(&m);
}

static void test_nothing(void **state)
{
	struct made m;

	assert_int_equal(ks_dirtree_init(&m.tree), 0);
	lay_out(&m, "fs/ext4");
	check_texts(&m.chart);
	assert_non_null(find_text(&m.chart, "0 B"));
	unmake(&m);
}

/* Thin slices are combined into one slice, and none is missing from it. */
static void test_other(void **state)
{
	struct made m;
	char path[64];
	int i;

	assert_int_equal(ks_dirtree_init(&m.tree), 0);
	assert_int_equal(ks_dirtree_add(&m.tree, "mm/big.c", 1000000), 0);
	for (i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "mm/small%d.c", i);
		assert_int_equal(ks_dirtree_add(&m.tree, path, 400), 0);
	}
	lay_out(&m, "mm");
	check_chart(&m.chart);
	assert_int_equal(m.chart.slices.len, 2);
	assert_string_equal(m.chart.slices.items[1].title,
			    "300 others in mm: 120,000 bytes, 10.7 %");
	assert_non_null(find_text(&m.chart, "other (300)"));
	unmake(&m);
}

static void test_hostile_names(void **state)
{
	struct made m;
	struct ks_strbuf out;
	struct ks_diag diag;
	char name[400], deep[20001];
	size_t i;

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(ks_dirtree_init(&m.tree), 0);
	assert_int_equal(ks_dirtree_add(&m.tree, "fs/<script>\"&'\x01\x1b[31m\xff\xfe", 500), 0);
	assert_int_equal(ks_dirtree_add(&m.tree, name, 900), 0);
	assert_int_equal(ks_dirtree_add(&m.tree, name, 100), 0);
	assert_int_equal(ks_dirtree_add(&m.tree, "a/b/c/d/e/f/g/h/i/j", 300), 0);
	memset(deep, '/', sizeof(deep));
	for (i = 0; i + 1 < sizeof(deep); i += 2)
		deep[i] = 'd';
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(ks_dirtree_add(&m.tree, deep, 700), 0);
	assert_true(m.tree.nodes.len < 100);
	lay_out(&m, "");
	check_texts(&m.chart);
	ks_strbuf_init(&out);
	ks_chart_svg(&m.chart, &out);
	assert_null(strstr(out.s, "<script>"));
	assert_null(strchr(out.s, '\x1b'));
	assert_null(strchr(out.s, '\xff'));
	ks_strbuf_deinit(&out);
	ks_strbuf_init(&out);
	assert_int_equal(ks_chart_png(&m.chart, &out, &diag), 0);
	ks_strbuf_deinit(&out);
	unmake(&m);
}

/*
 * Slices as they stand in the SVG, with the points worked out by hand: angles are clockwise from twelve
 * o'clock, y grows downwards, and each arc is drawn as two. sin 45 = 0.7071, sin 60 = 0.8660.
 */
static void test_svg_geometry(void **state)
{
	static const struct {
		struct ks_chart_slice slice;
		const char *path;
	} cases[] = {
		{ { .inner = 40, .outer = 80, .from = 0, .to = M_PI / 2 }, /* up to three o'clock */
		  "M200.00 20.00A80.00 80.00 0 0 1 256.57 43.43A80.00 80.00 0 0 1 280.00 100.00"
		  "L240.00 100.00A40.00 40.00 0 0 0 228.28 71.72A40.00 40.00 0 0 0 200.00 60.00Z" },
		{ { .inner = 0, .outer = 100, .from = M_PI, .to = M_PI * 5 / 3 }, /* six to ten */
		  "M200.00 200.00A100.00 100.00 0 0 1 113.40 150.00"
		  "A100.00 100.00 0 0 1 113.40 50.00Z" },
		{ { .inner = 10, .outer = 20, .from = 0, .to = 2 * M_PI }, /* a whole ring */
		  "M200.00 80.00A20.00 20.00 0 0 1 200.00 120.00A20.00 20.00 0 0 1 200.00 80.00"
		  "M200.00 90.00A10.00 10.00 0 0 0 200.00 110.00A10.00 10.00 0 0 0 200.00 90.00Z" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ks_chart_slice slice = cases[i].slice;
		struct ks_chart chart = {
			.title = "",
			.width = 400,
			.height = 300,
			.center_x = 200,
			.center_y = 100,
			.slices = { .items = &slice, .len = 1 },
		};
		struct ks_strbuf out, want;

		slice.id = slice.title = "";
		ks_strbuf_init(&out);
		ks_strbuf_init(&want);
		ks_chart_svg(&chart, &out);
		ks_strbuf_printf(&want, " d=\"%s\">", cases[i].path);
		if (!strstr(ks_strbuf_str(&out), ks_strbuf_str(&want)))
			fail_msg("no%s in %s", want.s, out.s);
		ks_strbuf_deinit(&want);
		ks_strbuf_deinit(&out);
	}
}

/* Two pixels per point, and the same bytes each time. */
static void test_png(void **state)
{
	struct ks_strbuf out[2];
	struct ks_diag diag;
	struct made m;
	int i;

	for (i = 0; i < 2; i++) {
		make_random(&m, 5);
		lay_out(&m, "");
		ks_strbuf_init(&out[i]);
		assert_int_equal(ks_chart_png(&m.chart, &out[i], &diag), 0);
		unmake(&m);
	}
	assert_memory_equal(out[0].s, "\x89PNG\r\n\x1a\n", 8);
	assert_memory_equal(out[0].s + 16, "\0\0\x0a\0\0\0\x06\x90", 8); /* 2560 x 1680 */
	assert_int_equal(out[0].len, out[1].len);
	assert_memory_equal(out[0].s, out[1].s, out[0].len);
	ks_strbuf_deinit(&out[0]);
	ks_strbuf_deinit(&out[1]);
}

static void test_colors(void **state)
{
	static const char *const tops[] = { "drivers", "fs",  "kernel", "mm",	    "net",
					    "arch",    "lib", "block",	"security", "crypto" };
	struct ks_hues hues;
	u8 seen[ARRAY_SIZE(tops)], last = 0xff;
	char name[16];
	size_t i, j, twice = 0;

	/* The large top directories: the colours are fixed, and all different. */
	for (i = 0; i < ARRAY_SIZE(tops); i++) {
		ks_hues_init(&hues);
		seen[i] = ks_hues_next(&hues, tops[i]);
		for (j = 0; j < i; j++)
			assert_int_not_equal(seen[i], seen[j]);
	}
	ks_hues_init(&hues);
	for (i = ARRAY_SIZE(tops); i-- > 0;)
		assert_int_equal(ks_hues_next(&hues, tops[i]), seen[i]);
	/* Other names: always of the same hue, never of the colour of a neighbour. */
	for (i = 0; i < 500; i++) {
		struct ks_hues alone;
		u8 color;

		snprintf(name, sizeof(name), "n%zu", i % 250);
		color = ks_hues_next(&hues, name);
		ks_hues_init(&alone);
		assert_int_equal(color % 12, ks_hues_next(&alone, name) % 12);
		assert_int_equal(ks_hues_next(&alone, name), ks_hues_next(&alone, name));
		assert_int_not_equal(color, last);
		last = color;
	}
	/* Nearly all of nine in a row differ, as in a legend: a hue has three tones. */
	for (i = 0; i < 100; i++) {
		u8 row[9];

		ks_hues_init(&hues);
		for (j = 0; j < ARRAY_SIZE(row); j++) {
			snprintf(name, sizeof(name), "s%zu", i * 9 + j);
			row[j] = ks_hues_next(&hues, name);
			twice += memchr(row, row[j], j) != NULL;
		}
	}
	assert_true(twice < 9); /* of 900 */
	/* A call site has the colour of its function; the one beside it has another tone. */
	ks_hues_init(&hues);
	last = ks_hues_next(&hues, "alloc_file");
	ks_hues_init(&hues);
	assert_int_equal(ks_hues_next(&hues, "alloc_file+0x12"), last);
	assert_int_equal(ks_hues_next(&hues, "alloc_file+0x12"), last);
	assert_int_not_equal(ks_hues_next(&hues, "alloc_file+0x9 [ext4]"), last);
	assert_int_equal(ks_hues_next(&hues, "alloc_file+0x9 [ext4]") % 12, last % 12);
	assert_int_equal(ks_text_color_on((struct ks_rgb){ 0, 0, 0 }).r, 255);
	assert_true(ks_text_color_on((struct ks_rgb){ 255, 255, 255 }).r < 64);
}

static void test_numbers(void **state)
{
	static const struct {
		u64 value;
		const char *bytes, *grouped;
	} cases[] = {
		{ 0, "0 B", "0" },
		{ 999, "999 B", "999" },
		{ 1023, "1023 B", "1,023" },
		{ 1024, "1.0 KiB", "1,024" },
		{ 1536, "1.5 KiB", "1,536" },
		{ 2184920, "2.1 MiB", "2,184,920" },
		{ 102348, "99.9 KiB", "102,348" },
		{ 102349, "100 KiB", "102,349" },
		{ 1048063, "1023 KiB", "1,048,063" },
		{ 1048064, "1.0 MiB", "1,048,064" },
		{ 102400, "100 KiB", "102,400" },
		{ 1048576, "1.0 MiB", "1,048,576" },
		{ UINT64_MAX, "16.0 EiB", "18,446,744,073,709,551,615" },
	};
	struct ks_strbuf sb;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ks_strbuf_init(&sb);
		ks_render_bytes(&sb, cases[i].value);
		assert_string_equal(sb.s, cases[i].bytes);
		ks_strbuf_deinit(&sb);
		ks_strbuf_init(&sb);
		ks_render_grouped(&sb, cases[i].value);
		assert_string_equal(sb.s, cases[i].grouped);
		ks_strbuf_deinit(&sb);
	}
	ks_strbuf_init(&sb);
	ks_render_count(&sb, 99999);
	ks_strbuf_puts(&sb, " ");
	ks_render_count(&sb, 100000);
	ks_strbuf_puts(&sb, " ");
	ks_render_count(&sb, 999499);
	ks_strbuf_puts(&sb, " ");
	ks_render_count(&sb, 999500);
	ks_strbuf_puts(&sb, " ");
	ks_render_count(&sb, UINT64_MAX);
	assert_string_equal(sb.s, "99999 100k 999k 1.0M 18.4E");
	ks_strbuf_deinit(&sb);
	ks_strbuf_init(&sb);
	ks_render_percent(&sb, 1, 3);
	ks_render_percent(&sb, 1, 100000);
	ks_render_percent(&sb, 0, 0);
	assert_string_equal(sb.s, "33.3 %<0.1 %0.0 %");
	ks_strbuf_deinit(&sb);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_dirtree),	      cmocka_unit_test(test_random_trees),
	cmocka_unit_test(test_one_directory), cmocka_unit_test(test_one_file),
	cmocka_unit_test(test_nothing),	      cmocka_unit_test(test_other),
	cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_svg_geometry),
	cmocka_unit_test(test_png),	      cmocka_unit_test(test_colors),
	cmocka_unit_test(test_numbers),
};

KS_RUN(tests)
