// SPDX-License-Identifier: LGPL-2.1-only
/* Draws a struct by cache line. */
#include "report/struct-chart.h"

#include <errno.h>
#include <stdio.h>

#include "base/num.h"
#include "report/chart-put.h"

/* === Data ================================================================================= */

#define LINE	  64 /* bytes of a cache line */
#define BYTE	  14.0
#define ROW	  30.0
#define GAP	  4.0
#define FONT	  9.0
#define MARGIN	  12.0
#define OFFSETS	  44.0 /* room for the offsets to the left */
#define LINES_MAX 512

static const struct ks_rgb black = { 30, 30, 30 }, grey = { 110, 110, 110 },
			   pale = { 240, 240, 240 }, white = { 255, 255, 255 };

struct drawing {
	struct ks_chart *chart;
	const struct ks_text_measure *measure;
	u64 most; /* reads or writes of one field */
	double top;
};

/* === Internals ============================================================================ */

static struct ks_rgb heat_color(const struct drawing *d, u64 accesses)
{
	return accesses ? ks_heat_color(ks_heat_of(accesses, d->most)) : pale;
}

static bool is_dark(struct ks_rgb color)
{
	return color.r * 3 + color.g * 6 + color.b < 1200;
}

static int put(const struct drawing *d, double x, double y, double size, struct ks_rgb color,
	       bool bold, double most, const char *text)
{
	return ks_chart_put_text(
		d->chart, d->measure, most,
		&(struct ks_chart_text){
			.x = x, .y = y, .size = size, .bold = bold, .color = color, .text = text });
}

/* The name, or as much of it as the box has room for. */
static int put_name(const struct drawing *d, const char *name, double x, double y, double width,
		    struct ks_rgb color)
{
	char text[64];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s", name);

	len = ks_min(len, sizeof(text) - 1);
	while (len && d->measure->width(d->measure->ctx, text, FONT, false) > width)
		text[--len] = '\0';
	return len > 1 || (len && !name[1]) ? put(d, x, y, FONT, color, false, width, text) : 0;
}

/* What of a field is in a line: two halves, reads above writes. */
static int put_field(const struct drawing *d, const struct ks_kmap_field *field, u64 line)
{
	u64 start = ks_max((u64)field->offset, line * LINE);
	u64 end = ks_min((u64)field->offset + field->size, (line + 1) * LINE);
	double x = MARGIN + OFFSETS + (double)(start - line * LINE) * BYTE;
	double y = d->top + (double)line * (ROW + GAP), width = (double)(end - start) * BYTE - 1;
	struct ks_rgb reads = heat_color(d, field->reads), writes = heat_color(d, field->writes);
	int err = ks_chart_put_box(d->chart, x, y, width, ROW / 2, reads);

	if (!err)
		err = ks_chart_put_box(d->chart, x, y + ROW / 2, width, ROW / 2, writes);
	if (!err)
		err = put_name(d, field->name, x + 2, y + ROW / 4, width - 3,
			       is_dark(reads) ? white : black);
	return err;
}

static int put_line(const struct drawing *d, const struct ks_kmap_struct *type, u64 line)
{
	double y = d->top + (double)line * (ROW + GAP);
	char text[24];
	size_t i;
	int err;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)(line * LINE));
	err = put(d, MARGIN, y + ROW / 2, FONT, grey, false, OFFSETS, text);
	for (i = 0; i < type->fields.len && !err; i++) {
		const struct ks_kmap_field *field = &type->fields.items[i];

		if (field->size && field->offset < (line + 1) * LINE &&
		    (u64)field->offset + field->size > line * LINE)
			err = put_field(d, field, line);
	}
	return err;
}

static int put_legend(const struct drawing *d, double y)
{
	char text[64];
	int i, err;

	err = put(d, MARGIN, y, FONT, grey, false, 30, "1");
	for (i = 0; i < 50 && !err; i++)
		err = ks_chart_put_box(d->chart, MARGIN + 12 + i * 2, y - 5, 2, 10,
				       ks_heat_color(i / 49.0));
	snprintf(text, sizeof(text), "%llu accesses; grey: none", (unsigned long long)d->most);
	return err ? err : put(d, MARGIN + 118, y, FONT, grey, false, 300, text);
}

static int lay_out(struct drawing *d, const struct ks_kmap_struct *type)
{
	u64 line, lines = ks_min((type->size + LINE - 1) / LINE, (u64)LINES_MAX);
	char text[320];
	size_t i;
	int err;

	for (i = 0; i < type->fields.len; i++) {
		d->most = ks_max(d->most, type->fields.items[i].reads);
		d->most = ks_max(d->most, type->fields.items[i].writes);
	}
	d->top = MARGIN + 40;
	d->chart->title = "fields by cache line";
	d->chart->width = MARGIN * 2 + OFFSETS + LINE * BYTE;
	d->chart->height = d->top + (double)lines * (ROW + GAP) + 30;
	snprintf(text, sizeof(text), "%s%s, %llu bytes, %llu objects",
		 type->layout ? "struct " : "", type->name, (unsigned long long)type->size,
		 (unsigned long long)type->objects);
	err = put(d, MARGIN, MARGIN + 6, 13, black, true, d->chart->width, text);
	if (!err)
		err = put(d, MARGIN, MARGIN + 24, FONT, grey, false, d->chart->width,
			  "a row is a cache line; of each field, reads above, writes below");
	for (line = 0; line < lines && !err; line++)
		err = put_line(d, type, line);
	return err ? err : put_legend(d, d->chart->height - 16);
}

/* === Public =============================================================================== */

int ks_render_struct(const struct ks_kmap_struct *type, bool png, struct ks_strbuf *out,
		     struct ks_diag *diag)
{
	struct ks_text_measure measure;
	struct ks_chart chart = { 0 };
	struct drawing d = { .chart = &chart, .measure = &measure };
	int err = ks_cairo_measure_new(&measure, diag);

	if (err)
		return err;
	ks_arena_init(&chart.arena);
	err = lay_out(&d, type);
	if (err)
		err = ks_diag_nomem(diag, "drawing a struct");
	else if (png)
		err = ks_chart_png(&chart, out, diag);
	else
		ks_chart_svg(&chart, out);
	ks_chart_deinit(&chart);
	ks_cairo_measure_free(&measure);
	return err;
}
