/* SPDX-License-Identifier: LGPL-2.1-only */
/* What charts with boxes and heat have in common. */
#ifndef KS_REPORT_CHART_PUT_H
#define KS_REPORT_CHART_PUT_H

#include "report/chart.h"

/* Adds a copy of the text, which takes at most @most of width. 0 or -ENOMEM. */
int ks_chart_put_text(struct ks_chart *chart, const struct ks_text_measure *measure, double most,
		      const struct ks_chart_text *text);
int ks_chart_put_box(struct ks_chart *chart, double x, double y, double width, double height,
		     struct ks_rgb fill);

/* From 0 to 1, by the logarithm. */
double ks_heat_of(u64 accesses, u64 most);

/* Light yellow to dark red: lightness falls all the way, so that it reads in grey too. */
struct ks_rgb ks_heat_color(double heat);

#endif
