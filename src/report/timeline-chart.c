// SPDX-License-Identifier: LGPL-2.1-only
/* The chart of live bytes over time: a bar a bucket, its groups on top of each other. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/quantity.h"
#include "report/rings.h"
#include "report/timeline.h"

/* === Data ================================================================================= */

/* In points. */
static const double left = 76, top = 52, plot_width = 700, plot_height = 300;
static const double legend_x = 800, legend_row = 18, chart_width = 1080, chart_height = 400;

enum { LABEL_MAX = 38, GRID_LINES = 5 };

static const struct ks_rgb black = { 0x22, 0x22, 0x22 }, line = { 0xe0, 0xe0, 0xe0 };

struct layout {
	const struct ks_moments *m;
	struct ks_chart chart;
	const struct ks_text_measure *measure;
	u64 most;
	int err;
};

/* === Internals ============================================================================ */

static void put_box(struct layout *l, double x, double y, double width, double height,
		    struct ks_rgb fill)
{
	struct ks_chart_box *box = ks_vec_push(&l->chart.boxes);

	if (!box) {
		l->err = -ENOMEM;
		return;
	}
	*box = (struct ks_chart_box){ x, y, width, height, fill };
}

static void put_text(struct layout *l, double x, double y, enum ks_anchor anchor, double size,
		     const struct ks_strbuf *text)
{
	struct ks_chart_text *item = ks_vec_push(&l->chart.texts);
	char *copy = ks_arena_strndup(&l->chart.arena, ks_strbuf_str(text), text->len);

	if (!item || !copy || text->failed) {
		l->err = -ENOMEM;
		return;
	}
	*item = (struct ks_chart_text){
		.x = x,
		.y = y,
		.size = size,
		.width = l->measure->width(l->measure->ctx, copy, size, false),
		.anchor = anchor,
		.color = black,
		.text = copy,
		.slice = KS_NONE,
	};
}

static double height_of(const struct layout *l, u64 bytes)
{
	return l->most ? plot_height * (double)bytes / (double)l->most : 0;
}

/* Lines at powers of two, and their multiples, which are round in every unit. */
static void put_grid(struct layout *l)
{
	u64 step = 1, i;

	while (l->most / step > GRID_LINES)
		step *= 2;
	for (i = 0; i <= l->most / step; i++) {
		double y = top + plot_height - height_of(l, i * step);
		struct ks_strbuf text;

		ks_strbuf_init(&text);
		ks_render_bytes(&text, i * step);
		put_box(l, left, y - 0.5, plot_width, 1, line);
		put_text(l, left - 8, y, KS_ANCHOR_END, 11, &text);
		ks_strbuf_deinit(&text);
	}
}

/* 1, 2, 5, 10, 20, ... */
static u64 time_step(u64 span)
{
	u64 unit = 1, factor = 1;

	while (span / (unit * factor) > GRID_LINES) {
		factor = factor == 1 ? 2 : factor == 2 ? 5 : 1;
		unit *= factor == 1 ? 10 : 1;
	}
	return unit * factor;
}

/* In the largest unit in which all steps are whole. */
static void render_since(const struct ks_model *model, u64 since, u64 step, struct ks_strbuf *out)
{
	static const struct {
		u64 ns;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "µs" }, { 1, "ns" } };
	size_t i = 0;

	if (model->clock != KS_CLOCK_SECONDS) {
		ks_strbuf_printf(out, "+%llu", (unsigned long long)since);
		return;
	}
	while (step % units[i].ns)
		i++;
	ks_strbuf_printf(out, "+%llu %s", (unsigned long long)(since / units[i].ns), units[i].name);
}

/* The time at which the chart begins, and then how long after it, as --since and --until take it. */
static void put_times(struct layout *l)
{
	const struct ks_moments *m = l->m;
	u64 span = m->len * m->width, step = time_step(span), since;

	for (since = 0; m->len && since <= span; since += step) {
		double x = left + plot_width * (double)since / (double)span;
		struct ks_strbuf text;

		ks_strbuf_init(&text);
		if (since)
			render_since(m->model, since, step, &text);
		else
			ks_render_time(m->model, m->items[0].ts, &text);
		put_box(l, x - 0.5, top + plot_height, 1, 5, line);
		put_text(l, since ? x : left, top + plot_height + 16,
			 since ? KS_ANCHOR_MIDDLE : KS_ANCHOR_START, 11, &text);
		ks_strbuf_deinit(&text);
	}
}

static void put_bar(struct layout *l, size_t bucket, const struct ks_rgb *colors)
{
	const struct ks_moments *m = l->m;
	/* On the pixels of a PNG, or there are gaps between the bars. */
	double x = left + round(plot_width * 2 * (double)bucket / (double)m->len) / 2;
	double end = left + round(plot_width * 2 * (double)(bucket + 1) / (double)m->len) / 2;
	double y = top + plot_height;
	u64 rest = m->items[bucket].live;
	size_t k;

	for (k = 0; k <= m->tracks_len; k++) {
		u64 bytes = k < m->tracks_len ? m->live[k * m->len + bucket] : rest;
		double height = height_of(l, bytes);

		rest -= k < m->tracks_len ? ks_min(bytes, rest) : 0;
		if (height < 0.05)
			continue;
		y -= height;
		put_box(l, x, y, end - x, height, colors[k]);
	}
}

/* Valid UTF-8, or cairo refuses it, and no longer than the legend is wide. */
static void put_label(struct ks_strbuf *out, const char *label)
{
	struct ks_strbuf clean;
	size_t len;

	ks_strbuf_init(&clean);
	ks_escape_tty(&clean, label, strlen(label));
	len = ks_min(clean.len, (size_t)LABEL_MAX);
	while (len < clean.len && len && (clean.s[len] & 0xc0) == 0x80)
		len--;
	ks_strbuf_add(out, ks_strbuf_str(&clean), len);
	ks_strbuf_puts(out, len < clean.len ? ".." : "");
	out->failed |= clean.failed;
	ks_strbuf_deinit(&clean);
}

static void put_legend(struct layout *l, const struct ks_rgb *colors)
{
	const struct ks_moments *m = l->m;
	size_t k;

	for (k = 0; k <= m->tracks_len; k++) {
		const char *label = k < m->tracks_len ? m->tracks[k]->label : "all others";
		double y = top + legend_row * (double)k;
		struct ks_strbuf text;

		ks_strbuf_init(&text);
		put_label(&text, label);
		put_box(l, legend_x, y, 11, 11, colors[k]);
		put_text(l, legend_x + 18, y + 5.5, KS_ANCHOR_START, 11, &text);
		ks_strbuf_deinit(&text);
	}
}

static void put_title(struct layout *l)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_strbuf_printf(&text, "Kernel %s: live bytes over time, by %s%s",
			 l->m->model->level == KS_SLAB ? "slab memory" : "pages",
			 ks_tl_dim_name(l->m->dim),
			 ks_model_has_loss(l->m->model) ? " (the capture lost events)" : "");
	put_text(l, left, 24, KS_ANCHOR_START, 15, &text);
	ks_strbuf_deinit(&text);
	if (l->chart.texts.len)
		l->chart.title = l->chart.texts.items[0].text;
}

/* By name, as in ring charts and flame graphs, so that a site has its colour in all of them; neighbours differ. */
static struct ks_rgb *make_colors(const struct ks_moments *m)
{
	struct ks_rgb *colors = calloc(m->tracks_len + 1, sizeof(*colors));
	struct ks_hues hues;
	size_t k;

	ks_hues_init(&hues);
	for (k = 0; colors && k < m->tracks_len; k++)
		colors[k] = ks_rings_color(ks_hues_next(&hues, m->tracks[k]->label), 0, false);
	if (colors)
		colors[m->tracks_len] = ks_rings_other_color(0);
	return colors;
}

/* === Public =============================================================================== */

int ks_timeline_layout(const struct ks_moments *m, const struct ks_text_measure *measure,
		       struct ks_chart *ret_chart)
{
	struct layout l = { .m = m, .measure = measure };
	struct ks_rgb *colors;
	size_t i;

	ks_arena_init(&l.chart.arena);
	l.chart.title = "";
	l.chart.width = chart_width;
	l.chart.height = ks_max(chart_height, top + legend_row * (double)(m->tracks_len + 2));
	for (i = 0; i < m->len; i++)
		l.most = ks_max(l.most, m->items[i].live);
	colors = make_colors(m);
	if (!colors) {
		ks_chart_deinit(&l.chart);
		return -ENOMEM;
	}
	put_title(&l);
	put_grid(&l);
	put_times(&l);
	for (i = 0; i < m->len; i++)
		put_bar(&l, i, colors);
	put_legend(&l, colors);
	free(colors);
	if (l.err)
		ks_chart_deinit(&l.chart);
	else
		*ret_chart = l.chart;
	return l.err;
}
