/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The report in one HTML file: the page is in assets/, and carries its data with it. The data is one JSON
 * object, to which each part adds its members.
 */
#ifndef KS_REPORT_HTML_H
#define KS_REPORT_HTML_H

#include "analysis/diff.h"
#include "analysis/timeline.h"
#include "report/report.h"

/* Writes the members of a part into the object that is open. */
typedef void ks_html_fn(const void *part, struct ks_json *json);

struct ks_html_part {
	ks_html_fn *write;
	const void *part; /* what it is called with */
};

/* The capture: the first part of every page, which names the schema, kmemscope-html-1. */
struct ks_html_capture {
	const struct ks_model *model;
	const struct ks_timeline *timeline;
	const struct ks_model
		*processes; /* those that can be picked, each by itself; NULL = none */
	const char *name;   /* what the capture is called in the page */
};

/* Tables to go with the capture: an access map, a heap. */
struct ks_html_tables {
	const char *member;	  /* of the page's data: "kmap", "heap" */
	const struct ks_doc *doc; /* ks_kmap_view_page(), ks_doc_of_heap_page() */
	const char *name;
};

/* The capture compared with one that came before: by site, function, cache and module. */
enum { KS_HTML_DIFFS = 4 };

struct ks_html_diff {
	const char *name; /* of the other */
	struct ks_diff by[KS_HTML_DIFFS];
	size_t len;					     /* how many of them are made */
	u64 size_before[KS_NORMALS], size_after[KS_NORMALS]; /* ks_diff_size() */
};

/* The groupings that both models need an account of. */
extern const enum ks_by ks_html_diff_by[KS_HTML_DIFFS];

/* The models were made with @filter and must outlive it. deinit accepts what a failed init left. */
int ks_html_diff_init(struct ks_html_diff *diff, const char *name, const struct ks_model *before,
		      const struct ks_model *after, const struct ks_filter *filter,
		      struct ks_diag *diag);
void ks_html_diff_deinit(struct ks_html_diff *diff);

ks_html_fn ks_html_capture, ks_html_tables, ks_html_diff;

void ks_render_html(const struct ks_html_part *parts, size_t nr_parts, struct ks_strbuf *out);

/* The data alone, as JSON. */
void ks_render_html_data(const struct ks_html_part *parts, size_t nr_parts, struct ks_strbuf *out);

#endif
