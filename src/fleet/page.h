/* SPDX-License-Identifier: LGPL-2.1-only */
/* The answer to a question as a page: one file, without scripts and without anything from elsewhere. */
#ifndef KS_FLEET_PAGE_H
#define KS_FLEET_PAGE_H

#include "table/doc.h"

/* Live bytes a host over time, a line for each build: what KS_ASK_HISTORY answered. */
struct ks_fleet_chart {
	const char *title;
	const struct ks_doc *history;
};

void ks_fleet_page(const char *title, const struct ks_doc *answer,
		   const struct ks_fleet_chart *charts, size_t nr_charts, struct ks_strbuf *out);

#endif
