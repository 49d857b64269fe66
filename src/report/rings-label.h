/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the ring charts: whether, where and how large a label fits into its slice. */
#ifndef KS_REPORT_RINGS_LABEL_H
#define KS_REPORT_RINGS_LABEL_H

#include "report/chart.h"

/*
 * Tries level, along the ring and across it, in ever smaller sizes; fills in all of @text but its
 * words and colour. False: it fits in no way.
 */
bool ks_label_fit(const struct ks_chart_slice *slice, const struct ks_text_measure *measure,
		  double center_x, double center_y, struct ks_chart_text *text);

#endif
