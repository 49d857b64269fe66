/* SPDX-License-Identifier: LGPL-2.1-only */
/* A struct as its cache lines, with the heat of each field. */
#ifndef KS_REPORT_STRUCT_CHART_H
#define KS_REPORT_STRUCT_CHART_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "kmap/views.h"

/*
 * A row for each cache line, 64 bytes wide; a box for each field in it. The upper half of a box has the heat of its reads, the
 * lower half that of its writes, by the logarithm. Holes are white. PNG or SVG.
 */
int ks_render_struct(const struct ks_kmap_struct *type, bool png, struct ks_strbuf *out,
		     struct ks_diag *diag);

#endif
