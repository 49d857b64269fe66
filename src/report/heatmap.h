/* SPDX-License-Identifier: LGPL-2.1-only */
/* The access matrix as a heat map. */
#ifndef KS_REPORT_HEATMAP_H
#define KS_REPORT_HEATMAP_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "kmap/views.h"

/*
 * Code downwards, owners of objects to the right, the colour by the logarithm of accesses. The 40
 * most accessed of each are shown, all others as one. PNG or SVG.
 */
int ks_render_heatmap(const struct ks_kmap_matrix *matrix, bool png, struct ks_strbuf *out,
		      struct ks_diag *diag);

#endif
