// SPDX-License-Identifier: LGPL-2.1-only
/* A chart as PNG, drawn by cairo, and the width of text as cairo draws it. */
#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/chart.h"
#include "report/late-cairo.h"

/* === Data ================================================================================= */

#define FONT  "DejaVu Sans"
#define SCALE 2

/* === Internals ============================================================================ */

static void set_color(cairo_t *cr, struct ks_rgb c)
{
	cairo_set_source_rgb(cr, c.r / 255.0, c.g / 255.0, c.b / 255.0);
}

/* Metrics that do not depend on the grid of pixels: text scales with the picture. */
static void set_font(cairo_t *cr, double size, bool bold)
{
	cairo_font_options_t *options = cairo_font_options_create();

	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	cairo_set_font_options(cr, options);
	cairo_font_options_destroy(options);
	cairo_select_font_face(cr, FONT, CAIRO_FONT_SLANT_NORMAL,
			       bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(cr, size);
}

static double text_width(void *ctx, const char *text, double size, bool bold)
{
	cairo_text_extents_t extents;
	cairo_t *cr = ctx;

	set_font(cr, size, bold);
	cairo_text_extents(cr, text, &extents);
	return extents.x_advance;
}

static void draw_slice(cairo_t *cr, const struct ks_chart *chart, const struct ks_chart_slice *s)
{
	/* Cairo counts angles from three o'clock. */
	double from = s->from - M_PI / 2, to = s->to - M_PI / 2;

	cairo_new_path(cr);
	cairo_arc(cr, chart->center_x, chart->center_y, s->outer, from, to);
	if (s->inner > 0) {
		if (s->to - s->from > 2 * M_PI - 1e-9)
			cairo_new_sub_path(cr);
		cairo_arc_negative(cr, chart->center_x, chart->center_y, s->inner, to, from);
	}
	cairo_close_path(cr);
	set_color(cr, s->fill);
	cairo_fill_preserve(cr);
	cairo_set_source_rgb(cr, 1, 1, 1);
	cairo_set_line_width(cr, 1);
	cairo_stroke(cr);
}

static void draw_text(cairo_t *cr, const struct ks_chart_text *t)
{
	static const double shift[] = { 0, -0.5, -1 };

	cairo_save(cr);
	cairo_translate(cr, t->x, t->y);
	cairo_rotate(cr, t->angle);
	set_font(cr, t->size, t->bold);
	set_color(cr, t->color);
	cairo_move_to(cr, shift[t->anchor] * t->width, t->size * KS_BASELINE);
	cairo_show_text(cr, t->text);
	cairo_restore(cr);
}

static void draw(cairo_t *cr, const struct ks_chart *chart)
{
	size_t i;

	cairo_scale(cr, SCALE, SCALE);
	cairo_set_source_rgb(cr, 1, 1, 1);
	cairo_paint(cr);
	cairo_set_fill_rule(cr, CAIRO_FILL_RULE_EVEN_ODD);
	for (i = 0; i < chart->slices.len; i++)
		draw_slice(cr, chart, &chart->slices.items[i]);
	for (i = 0; i < chart->boxes.len; i++) {
		const struct ks_chart_box *b = &chart->boxes.items[i];

		cairo_rectangle(cr, b->x, b->y, b->width, b->height);
		set_color(cr, b->fill);
		cairo_fill(cr);
	}
	for (i = 0; i < chart->texts.len; i++)
		draw_text(cr, &chart->texts.items[i]);
}

static cairo_status_t append(void *closure, const unsigned char *data, unsigned int len)
{
	struct ks_strbuf *out = closure;

	ks_strbuf_add(out, data, len);
	return out->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

/* === Public =============================================================================== */

int ks_cairo_measure_new(struct ks_text_measure *measure, struct ks_diag *diag)
{
	cairo_surface_t *surface;
	cairo_t *cr;
	int err = ks_late_cairo(diag);

	if (err)
		return err;
	surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
	cr = cairo_create(surface);
	cairo_surface_destroy(surface); /* the context keeps it */
	if (cairo_status(cr)) {
		cairo_destroy(cr);
		return ks_diag_nomem(diag, "measuring text");
	}
	measure->width = text_width;
	measure->ctx = cr;
	return 0;
}

void ks_cairo_measure_free(struct ks_text_measure *measure)
{
	cairo_destroy(measure->ctx);
}

int ks_chart_png(const struct ks_chart *chart, struct ks_strbuf *out, struct ks_diag *diag)
{
	cairo_surface_t *surface;
	cairo_t *cr;
	cairo_status_t status;
	int err = ks_late_cairo(diag);

	if (err)
		return err;
	surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(chart->width * SCALE),
					     (int)(chart->height * SCALE));
	cr = cairo_create(surface);
	draw(cr, chart);
	status = cairo_status(cr);
	cairo_destroy(cr);
	if (!status)
		status = cairo_surface_write_to_png_stream(surface, append, out);
	cairo_surface_destroy(surface);
	if (status)
		return ks_diag_set(diag, status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM : -EIO,
				   "cannot draw the chart: %s", cairo_status_to_string(status));
	return 0;
}
