// SPDX-License-Identifier: LGPL-2.1-only
/* Boxes, texts and colours of heat, for charts. */
#include "report/chart-put.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* === Data ================================================================================= */

static const struct ks_rgb scale[] = {
	{ 255, 247, 215 }, { 254, 217, 118 }, { 253, 141, 60 }, { 214, 40, 40 }, { 103, 0, 31 }
};

/* === Public =============================================================================== */

int ks_chart_put_text(struct ks_chart *chart, const struct ks_text_measure *measure, double most,
		      const struct ks_chart_text *text)
{
	struct ks_chart_text *slot = ks_vec_push(&chart->texts);

	if (!slot)
		return -ENOMEM;
	*slot = *text;
	slot->text = ks_arena_strndup(&chart->arena, text->text, strlen(text->text));
	slot->slice = KS_NONE;
	if (!slot->text)
		return -ENOMEM;
	slot->width = measure->width(measure->ctx, slot->text, slot->size, slot->bold);
	slot->width = ks_min(slot->width, most);
	return 0;
}

int ks_chart_put_box(struct ks_chart *chart, double x, double y, double width, double height,
		     struct ks_rgb fill)
{
	struct ks_chart_box *box = ks_vec_push(&chart->boxes);

	if (!box)
		return -ENOMEM;
	*box = (struct ks_chart_box){ x, y, width, height, fill };
	return 0;
}

double ks_heat_of(u64 accesses, u64 most)
{
	return most > 1 ? log((double)accesses) / log((double)most) : 1;
}

struct ks_rgb ks_heat_color(double heat)
{
	double at = heat * (double)(ARRAY_SIZE(scale) - 1);
	size_t i = ks_min((size_t)at, ARRAY_SIZE(scale) - 2);
	double part = at - (double)i;

	return (struct ks_rgb){
		(u8)(scale[i].r + part * (scale[i + 1].r - scale[i].r)),
		(u8)(scale[i].g + part * (scale[i + 1].g - scale[i].g)),
		(u8)(scale[i].b + part * (scale[i + 1].b - scale[i].b)),
	};
}
