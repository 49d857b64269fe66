/* SPDX-License-Identifier: LGPL-2.1-only */
/* Flame graphs: where memory goes, by directory, file, function and call site. */
#ifndef KS_REPORT_FLAME_H
#define KS_REPORT_FLAME_H

#include "report/report.h"

/* An SVG with the root at the top; each frame tells its numbers when one points at it. */
void ks_render_flame(const struct ks_rows *rows, enum ks_measure measure, const char *title,
		     struct ks_strbuf *out);

#endif
