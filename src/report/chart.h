/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A chart as a list of things to draw, in points, y downwards. Layout makes the list, drawing knows
 * nothing of what it means: so the same chart is a PNG or an SVG.
 */
#ifndef KS_REPORT_CHART_H
#define KS_REPORT_CHART_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct ks_rgb {
	u8 r, g, b;
};

/* A piece of a ring. Angles are in radians, clockwise from twelve o'clock. */
struct ks_chart_slice {
	double inner, outer; /* radii; inner 0 = a disc */
	double from, to;
	struct ks_rgb fill;
	const char *id;	   /* unique in the chart; "" = none */
	const char *title; /* for those who point at it; "" = none */
};

/* How far the base line is below the middle of a line of text, as a part of its size. */
#define KS_BASELINE 0.36

enum ks_anchor { KS_ANCHOR_START, KS_ANCHOR_MIDDLE, KS_ANCHOR_END };

/* One line of text; (x, y) is on the middle of its height, at the anchor of its length. */
struct ks_chart_text {
	double x, y;
	double angle; /* clockwise */
	double size, width;
	enum ks_anchor anchor;
	bool bold;
	struct ks_rgb color;
	const char *text;
	u32 slice; /* the slice that it labels, KS_NONE = none */
};

struct ks_chart_box {
	double x, y, width, height;
	struct ks_rgb fill;
};

struct ks_chart {
	struct ks_arena arena;
	const char *title; /* of the document */
	double width, height;
	double center_x, center_y; /* of the rings */
	KS_VEC(struct ks_chart_slice) slices;
	KS_VEC(struct ks_chart_box) boxes;
	KS_VEC(struct ks_chart_text) texts;
};

void ks_chart_deinit(struct ks_chart *chart);

/* How wide text will be; the one thing that layout has to ask the drawing side. */
struct ks_text_measure {
	double (*width)(void *ctx, const char *text, double size, bool bold);
	void *ctx;
};

/* Measures as ks_chart_png() draws. new/free. */
int ks_cairo_measure_new(struct ks_text_measure *measure, struct ks_diag *diag);
void ks_cairo_measure_free(struct ks_text_measure *measure);

/* Two pixels a point. */
int ks_chart_png(const struct ks_chart *chart, struct ks_strbuf *out, struct ks_diag *diag);

/* With ids, and titles that show when one points at a slice. */
void ks_chart_svg(const struct ks_chart *chart, struct ks_strbuf *out);

#endif
