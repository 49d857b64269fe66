// SPDX-License-Identifier: LGPL-2.1-only
/* Whether, where and how large a label fits into its slice. */
#include "report/rings-label.h"

#include <math.h>

/* === Data ================================================================================= */

static const double sizes[] = { 14, 12.5, 11, 9.5, 8.5 };

/* Air between a label and the edge of its slice. */
#define AIR 2.5

/* The height of a line of text, as a part of its size. */
#define LINE 1.15

struct point {
	double x, y; /* from the centre of the rings */
};

/* === Internals ============================================================================ */

static bool is_whole(const struct ks_chart_slice *s)
{
	return s->to - s->from > 2 * M_PI - 1e-9;
}

/* A whole ring has its label on top. */
static double middle_of(const struct ks_chart_slice *s)
{
	return is_whole(s) ? 0 : (s->from + s->to) / 2;
}

/* How far the point is on the slice's side of the edge at @angle; @side is +1 or -1. */
static double beyond_edge(struct point p, double angle, double side)
{
	return side * (p.x * cos(angle) + p.y * sin(angle));
}

/*
 * Up to half a circle a slice is what lies on the right side of both edges; a larger one is not
 * convex, but a label at its middle that is on the outer side of the centre is in it.
 */
static bool between_edges(const struct ks_chart_slice *s, struct point p)
{
	double middle;

	if (is_whole(s))
		return true;
	if (s->to - s->from <= M_PI)
		return beyond_edge(p, s->from, 1) >= AIR && beyond_edge(p, s->to, -1) >= AIR;
	middle = middle_of(s);
	return p.x * sin(middle) - p.y * cos(middle) >= 0;
}

/* The distance from the centre of the rings to the nearest point of the line a-b. */
static double distance_to_line(struct point a, struct point b)
{
	double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
	double t = length > 0 ? -(a.x * dx + a.y * dy) / length : 0;

	t = fmin(fmax(t, 0), 1);
	return hypot(a.x + t * dx, a.y + t * dy);
}

/* Whether the rectangle round @at, turned by @angle, is inside the slice. */
static bool rectangle_fits(const struct ks_chart_slice *s, struct point at, double angle,
			   double width, double height)
{
	static const double signs[4][2] = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } };
	struct point corners[4];
	int i;

	for (i = 0; i < 4; i++) {
		double x = signs[i][0] * width / 2, y = signs[i][1] * height / 2;

		corners[i].x = at.x + x * cos(angle) - y * sin(angle);
		corners[i].y = at.y + x * sin(angle) + y * cos(angle);
		if (hypot(corners[i].x, corners[i].y) > s->outer - AIR ||
		    !between_edges(s, corners[i]))
			return false;
	}
	for (i = 0; i < 4; i++)
		if (distance_to_line(corners[i], corners[(i + 1) % 4]) < s->inner + AIR)
			return false;
	return true;
}

/* Turned so that it is never upside down. */
static double upright(double angle)
{
	angle = remainder(angle, 2 * M_PI);
	if (angle > M_PI / 2 + 1e-9)
		angle -= M_PI;
	else if (angle < -M_PI / 2 - 1e-9)
		angle += M_PI;
	return angle;
}

/* === Public =============================================================================== */

bool ks_label_fit(const struct ks_chart_slice *s, const struct ks_text_measure *measure,
		  double center_x, double center_y, struct ks_chart_text *text)
{
	double middle = middle_of(s), radius = (s->inner + s->outer) / 2;
	double angles[] = { 0, upright(middle), upright(middle - M_PI / 2) };
	struct point at = { radius * sin(middle), -radius * cos(middle) };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		double width = measure->width(measure->ctx, text->text, sizes[i], false);

		for (j = 0; j < ARRAY_SIZE(angles); j++) {
			if (!rectangle_fits(s, at, angles[j], width, sizes[i] * LINE))
				continue;
			text->x = center_x + at.x;
			text->y = center_y + at.y;
			text->angle = angles[j];
			text->size = sizes[i];
			text->width = width;
			text->anchor = KS_ANCHOR_MIDDLE;
			text->bold = false;
			return true;
		}
	}
	return false;
}
