// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A chart as SVG. Written by hand, since cairo's SVG has neither ids nor titles. textLength keeps the
 * text as wide as the layout thinks it is, whatever font the reader has.
 */
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "report/chart.h"

/* === Internals ============================================================================ */

static void put_escaped(struct ks_strbuf *out, const char *s)
{
	ks_escape_xml(out, s, strlen(s));
}

static void put_color(struct ks_strbuf *out, struct ks_rgb c)
{
	ks_strbuf_printf(out, "#%02x%02x%02x", c.r, c.g, c.b);
}

static void put_point(struct ks_strbuf *out, const struct ks_chart *chart, double radius,
		      double angle)
{
	ks_strbuf_printf(out, "%.2f %.2f", chart->center_x + radius * sin(angle),
			 chart->center_y - radius * cos(angle));
}

/* An arc of a whole circle has no two ends: it is drawn as two. */
static void put_arc(struct ks_strbuf *out, const struct ks_chart *chart, double radius, double from,
		    double to)
{
	double middle = (from + to) / 2, ends[2] = { middle, to };
	int i;

	for (i = 0; i < 2; i++) {
		ks_strbuf_printf(out, "A%.2f %.2f 0 0 %d ", radius, radius, to > from);
		put_point(out, chart, radius, ends[i]);
	}
}

static void put_slice(struct ks_strbuf *out, const struct ks_chart *chart,
		      const struct ks_chart_slice *s)
{
	bool whole = s->to - s->from > 2 * M_PI - 1e-9;

	ks_strbuf_puts(out, "<path");
	if (*s->id) {
		ks_strbuf_puts(out, " id=\"");
		put_escaped(out, s->id);
		ks_strbuf_puts(out, "\"");
	}
	ks_strbuf_puts(out, " fill=\"");
	put_color(out, s->fill);
	ks_strbuf_puts(out, "\" d=\"M");
	put_point(out, chart, s->outer, s->from);
	put_arc(out, chart, s->outer, s->from, s->to);
	if (s->inner > 0) {
		ks_strbuf_puts(out, whole ? "M" : "L");
		put_point(out, chart, s->inner, s->to);
		put_arc(out, chart, s->inner, s->to, s->from);
	}
	ks_strbuf_puts(out, "Z\">");
	if (*s->title) {
		ks_strbuf_puts(out, "<title>");
		put_escaped(out, s->title);
		ks_strbuf_puts(out, "</title>");
	}
	ks_strbuf_puts(out, "</path>\n");
}

static void put_text(struct ks_strbuf *out, const struct ks_chart_text *t)
{
	static const char *const anchors[] = { "start", "middle", "end" };

	ks_strbuf_printf(out, "<text font-size=\"%g\" text-anchor=\"%s\"", t->size,
			 anchors[t->anchor]);
	if (t->bold)
		ks_strbuf_puts(out, " font-weight=\"bold\"");
	if (t->width > 0)
		ks_strbuf_printf(out, " textLength=\"%.2f\" lengthAdjust=\"spacingAndGlyphs\"",
				 t->width);
	ks_strbuf_puts(out, " fill=\"");
	put_color(out, t->color);
	/* y is the middle; the base line is about a third of the size below it. */
	ks_strbuf_printf(out, "\" transform=\"translate(%.2f %.2f) rotate(%.2f)\" y=\"%.2f\">",
			 t->x, t->y, t->angle * 180 / M_PI, t->size * KS_BASELINE);
	put_escaped(out, t->text);
	ks_strbuf_puts(out, "</text>\n");
}

/* === Public =============================================================================== */

void ks_chart_svg(const struct ks_chart *chart, struct ks_strbuf *out)
{
	size_t i;

	ks_strbuf_printf(out,
			 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
			 "width=\"%g\" height=\"%g\" font-family=\"DejaVu Sans, Verdana, "
			 "sans-serif\">\n<title>",
			 chart->width, chart->height, chart->width, chart->height);
	put_escaped(out, chart->title);
	ks_strbuf_puts(out, "</title>\n<style>path:hover{opacity:.75}text{pointer-events:none}"
			    "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
			    "<g stroke=\"#ffffff\" stroke-width=\"1\" fill-rule=\"evenodd\">\n");
	for (i = 0; i < chart->slices.len; i++)
		put_slice(out, chart, &chart->slices.items[i]);
	/* Boxes that touch must not show a line between them, however large the picture is. */
	ks_strbuf_puts(out, "</g>\n<g shape-rendering=\"crispEdges\">\n");
	for (i = 0; i < chart->boxes.len; i++) {
		const struct ks_chart_box *b = &chart->boxes.items[i];

		ks_strbuf_printf(
			out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"",
			b->x, b->y, b->width, b->height);
		put_color(out, b->fill);
		ks_strbuf_puts(out, "\"/>\n");
	}
	ks_strbuf_puts(out, "</g>\n");
	for (i = 0; i < chart->texts.len; i++)
		put_text(out, &chart->texts.items[i]);
	ks_strbuf_puts(out, "</svg>\n");
}
