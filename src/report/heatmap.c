// SPDX-License-Identifier: LGPL-2.1-only
/* The access matrix, or that of calls, as a heat map. */
#include "report/heatmap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "report/chart-put.h"

/* === Data ================================================================================= */

#define MOST	  40 /* rows, and columns, that are shown by name */
#define CELL	  18.0
#define FONT	  10.0
#define MARGIN	  12.0
#define MAX_LABEL 260.0

/* One side of the map. */
struct axis {
	const struct ks_kmap_places *places;
	u64 *weight; /* accesses by label */
	u32 *labels; /* those shown, heaviest first */
	u32 *place;  /* of a label: its row or column; len = "others" */
	size_t len;
	bool others;
	double width; /* of the widest name */
};

/* What the map says that it shows. */
struct words {
	const char *title, *heading, *sides, *unit;
};

static const struct words words_of_accesses = {
	.title = "who touches whose objects",
	.heading = "Who touches whose objects",
	.sides = "rows: the code; columns: whose objects",
	.unit = "accesses",
};

static const struct words words_of_calls = {
	.title = "who calls whom",
	.heading = "Who calls whom",
	.sides = "rows: the caller; columns: what is called",
	.unit = "calls",
};

static const struct ks_rgb black = { 30, 30, 30 }, grey = { 110, 110, 110 },
			   empty = { 244, 244, 244 };

/* === Internals: axes ====================================================================== */

static int compare_labels(const void *a, const void *b, void *ctx)
{
	const struct axis *axis = ctx;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	if (axis->weight[x] != axis->weight[y])
		return axis->weight[x] > axis->weight[y] ? -1 : 1;
	return strcmp(ks_kmap_label(axis->places, x), ks_kmap_label(axis->places, y));
}

static void axis_deinit(struct axis *axis)
{
	free(axis->weight);
	free(axis->labels);
	free(axis->place);
}

static int axis_init(struct axis *axis, const struct ks_kmap_matrix *matrix, bool owners)
{
	size_t i, used = 0, all = matrix->places->labels.strs.len;

	*axis = (struct axis){ .places = matrix->places };
	axis->weight = calloc(all + 1, sizeof(*axis->weight));
	axis->labels = calloc(all + 1, sizeof(*axis->labels));
	axis->place = calloc(all + 1, sizeof(*axis->place));
	if (!axis->weight || !axis->labels || !axis->place)
		return -ENOMEM;
	for (i = 0; i < matrix->entries.len; i++) {
		const struct ks_kmap_matrix_entry *cell = &matrix->entries.items[i];
		u64 *weight = &axis->weight[owners ? cell->owner : cell->code];

		*weight = ks_add_sat(*weight, ks_add_sat(cell->reads, cell->writes));
	}
	for (i = 0; i < all; i++)
		if (axis->weight[i])
			axis->labels[used++] = (u32)i;
	qsort_r(axis->labels, used, sizeof(*axis->labels), compare_labels, axis);
	axis->others = used > MOST;
	axis->len = axis->others ? MOST : used;
	for (i = 0; i < used; i++)
		axis->place[axis->labels[i]] = (u32)ks_min(i, axis->len);
	return 0;
}

static size_t axis_slots(const struct axis *axis)
{
	return axis->len + axis->others;
}

static const char *axis_name(const struct axis *axis, size_t i)
{
	return i < axis->len ? ks_kmap_label(axis->places, axis->labels[i]) : "others";
}

static void measure_axis(struct axis *axis, const struct ks_text_measure *measure)
{
	size_t i;

	for (i = 0; i < axis_slots(axis); i++) {
		double width = measure->width(measure->ctx, axis_name(axis, i), FONT, false);

		axis->width = ks_max(axis->width, ks_min(width, MAX_LABEL));
	}
}

/* === Internals: drawing =================================================================== */

static int put_names(struct ks_chart *chart, const struct ks_text_measure *measure,
		     const struct axis *rows, const struct axis *columns, double x, double y)
{
	size_t i;
	int err = 0;

	for (i = 0; i < axis_slots(rows) && !err; i++)
		err = ks_chart_put_text(chart, measure, MAX_LABEL,
					&(struct ks_chart_text){
						.x = x - 6,
						.y = y + ((double)i + 0.5) * CELL,
						.size = FONT,
						.anchor = KS_ANCHOR_END,
						.color = black,
						.text = axis_name(rows, i),
					});
	for (i = 0; i < axis_slots(columns) && !err; i++)
		err = ks_chart_put_text(chart, measure, MAX_LABEL,
					&(struct ks_chart_text){
						.x = x + ((double)i + 0.5) * CELL,
						.y = y - 6,
						.angle = -M_PI / 2,
						.size = FONT,
						.anchor = KS_ANCHOR_START,
						.color = black,
						.text = axis_name(columns, i),
					});
	return err;
}

static int put_cells(struct ks_chart *chart, const u64 *sums, const struct axis *rows,
		     const struct axis *columns, u64 most, double x, double y)
{
	size_t row, column, width = axis_slots(columns);
	int err = 0;

	for (row = 0; row < axis_slots(rows); row++)
		for (column = 0; column < width && !err; column++) {
			u64 sum = sums[row * width + column];

			err = ks_chart_put_box(chart, x + (double)column * CELL + 0.5,
					       y + (double)row * CELL + 0.5, CELL - 1, CELL - 1,
					       sum ? ks_heat_color(ks_heat_of(sum, most)) : empty);
		}
	return err;
}

/* The scale: a bar of colours with 1 and the most at its ends. */
static int put_legend(struct ks_chart *chart, const struct ks_text_measure *measure, u64 most,
		      const char *unit, double x, double y)
{
	struct ks_strbuf text;
	int i, err = 0;

	ks_strbuf_init(&text);
	ks_strbuf_printf(&text, "%llu %s; colours are logarithmic", (unsigned long long)most, unit);
	for (i = 0; i < 50 && !err; i++)
		err = ks_chart_put_box(chart, x + 12 + i * 2, y - 5, 2, 10,
				       ks_heat_color(i / 49.0));
	if (!err)
		err = ks_chart_put_text(
			chart, measure, MAX_LABEL,
			&(struct ks_chart_text){
				.x = x, .y = y, .size = FONT, .color = grey, .text = "1" });
	if (!err)
		err = ks_chart_put_text(chart, measure, MAX_LABEL,
					&(struct ks_chart_text){ .x = x + 118,
								 .y = y,
								 .size = FONT,
								 .color = grey,
								 .text = ks_strbuf_str(&text) });
	ks_strbuf_deinit(&text);
	return err;
}

static u64 *sum_cells(const struct ks_kmap_matrix *matrix, const struct axis *rows,
		      const struct axis *columns, u64 *ret_most)
{
	size_t i, width = axis_slots(columns);
	u64 *sums = calloc(axis_slots(rows) * width + 1, sizeof(*sums));
	u64 most = 0;

	for (i = 0; sums && i < matrix->entries.len; i++) {
		const struct ks_kmap_matrix_entry *cell = &matrix->entries.items[i];
		u64 *sum = &sums[rows->place[cell->code] * width + columns->place[cell->owner]];

		*sum = ks_add_sat(*sum, ks_add_sat(cell->reads, cell->writes));
		most = ks_max(most, *sum);
	}
	*ret_most = most;
	return sums;
}

static int lay_out(struct ks_chart *chart, const struct ks_kmap_matrix *matrix, struct axis *rows,
		   struct axis *columns, const struct ks_text_measure *measure)
{
	const struct words *words = matrix->of_calls ? &words_of_calls : &words_of_accesses;
	double x, y, bottom;
	u64 most, *sums = sum_cells(matrix, rows, columns, &most);
	int err;

	if (!sums)
		return -ENOMEM;
	measure_axis(rows, measure);
	measure_axis(columns, measure);
	x = MARGIN + rows->width + 6;
	y = MARGIN + 34 + columns->width + 6;
	bottom = y + (double)axis_slots(rows) * CELL;
	chart->title = words->title;
	chart->width = ks_max(x + (double)axis_slots(columns) * CELL + MARGIN, 480.0);
	chart->height = bottom + 34;
	err = ks_chart_put_text(chart, measure, MAX_LABEL,
				&(struct ks_chart_text){ .x = MARGIN,
							 .y = MARGIN + 6,
							 .size = 13,
							 .bold = true,
							 .color = black,
							 .text = words->heading });
	if (!err)
		err = ks_chart_put_text(chart, measure, MAX_LABEL,
					&(struct ks_chart_text){
						.x = MARGIN,
						.y = MARGIN + 22,
						.size = FONT,
						.color = grey,
						.text = words->sides,
					});
	if (!err)
		err = put_names(chart, measure, rows, columns, x, y);
	if (!err)
		err = put_cells(chart, sums, rows, columns, most, x, y);
	if (!err)
		err = put_legend(chart, measure, most, words->unit, MARGIN, bottom + 18);
	free(sums);
	return err;
}

/* === Public =============================================================================== */

int ks_render_heatmap(const struct ks_kmap_matrix *matrix, bool png, struct ks_strbuf *out,
		      struct ks_diag *diag)
{
	struct axis rows = { 0 }, columns = { 0 };
	struct ks_text_measure measure;
	struct ks_chart chart = { 0 };
	int err = ks_cairo_measure_new(&measure, diag);

	if (err)
		return err;
	ks_arena_init(&chart.arena);
	err = axis_init(&rows, matrix, false);
	if (!err)
		err = axis_init(&columns, matrix, true);
	if (!err)
		err = lay_out(&chart, matrix, &rows, &columns, &measure);
	if (err)
		err = ks_diag_nomem(diag, "drawing a heat map");
	else if (png)
		err = ks_chart_png(&chart, out, diag);
	else
		ks_chart_svg(&chart, out);
	axis_deinit(&rows);
	axis_deinit(&columns);
	ks_chart_deinit(&chart);
	ks_cairo_measure_free(&measure);
	return err;
}
