/* SPDX-License-Identifier: LGPL-2.1-only */
/* The report in one HTML file: the page is in assets/, and carries its data with it. */
#ifndef KS_REPORT_HTML_H
#define KS_REPORT_HTML_H

#include "analysis/diff.h"
#include "analysis/timeline.h"
#include "kmap/view.h"
#include "report/report.h"

/* An access map to go with the capture: ks_kmap_view_page() of it. */
struct ks_html_kmap {
	const struct ks_view *view; /* NULL = there is none */
	const char *name;
};

/* The capture compared with one that came before: by site, function, cache and module. */
enum { KS_HTML_DIFFS = 4 };

struct ks_html_diff {
	const char *name; /* of the other */
	const struct ks_diff *by[KS_HTML_DIFFS];
	u64 size_before[KS_NORMALS], size_after[KS_NORMALS]; /* ks_diff_size() */
};

/* @name is what the capture is called in the page; @diff may be NULL. */
void ks_render_html(const struct ks_model *model, const struct ks_timeline *timeline,
		    const struct ks_html_kmap *kmap, const struct ks_html_diff *diff,
		    const char *name, struct ks_strbuf *out);

/* The data alone, as JSON; its schema is kmemscope-html-1. */
void ks_render_html_data(const struct ks_model *model, const struct ks_timeline *timeline,
			 const struct ks_html_kmap *kmap, const struct ks_html_diff *diff,
			 const char *name, struct ks_strbuf *out);

/* The part of the data that is the comparison. */
void ks_render_html_diff(const struct ks_html_diff *diff, struct ks_strbuf *out);

/* The part of the data that is the map. */
void ks_render_html_kmap(const struct ks_view *view, const char *name, struct ks_strbuf *out);

#endif
