/* SPDX-License-Identifier: LGPL-2.1-only */
/* Renderers: each turns a model into text and returns nothing but that text. */
#ifndef KS_REPORT_REPORT_H
#define KS_REPORT_REPORT_H

#include "analysis/budget.h"
#include "analysis/diff.h"
#include "analysis/model.h"
#include "base/strbuf.h"
#include "report/json.h"

/* By what rows are sorted, largest first. The names are trace_analyze's. */
enum ks_order {
	KS_ORDER_CURRENT,
	KS_ORDER_TOTAL,
	KS_ORDER_ALLOCS,
	KS_ORDER_FREES,
	KS_ORDER_WASTE,
	KS_ORDER_PEAK,
	KS_ORDERS
};

/* "current_dynamic", ... */
const char *ks_order_name(enum ks_order order);

struct ks_rows {
	const struct ks_group **items;
	size_t len;
};

/* The model's groups in order, ties broken by size, then by name; the first @top of them, or all (0). */
int ks_rows_init(struct ks_rows *rows, const struct ks_model *model, enum ks_order order, u64 top);
void ks_rows_deinit(struct ks_rows *rows);

/* trace_analyze's account file. */
void ks_render_account(const struct ks_model *model, const struct ks_rows *rows,
		       struct ks_strbuf *out);

/* trace_analyze's callers file: site, live bytes, waste, directory. */
void ks_render_callers(const struct ks_model *model, const struct ks_rows *rows,
		       struct ks_strbuf *out);

/* The table of "kmemscope report", for any grouping. */
void ks_render_table(const struct ks_model *model, const struct ks_rows *rows,
		     struct ks_strbuf *out);

/* "kmemscope info": what is in the file. */
void ks_render_info(const struct ks_model *model, struct ks_strbuf *out);
void ks_render_info_json(const struct ks_model *model, struct ks_strbuf *out);

/* All rows with all numbers; @schema names the document. */
void ks_render_json(const struct ks_model *model, const struct ks_rows *rows, enum ks_order order,
		    const char *schema, struct ks_strbuf *out);
void ks_render_csv(const struct ks_model *model, const struct ks_rows *rows, struct ks_strbuf *out);

/* "kmemscope report --frag" and kmemtrace-report: by site and by size, totals, findings. */
void ks_render_frag(const struct ks_model *model, const struct ks_frag *frag, u64 top,
		    struct ks_strbuf *out);
void ks_render_frag_json(const struct ks_model *model, const struct ks_frag *frag, u64 top,
			 struct ks_strbuf *out);

/* "kmemscope leaks". */
void ks_render_leaks(const struct ks_model *model, const struct ks_leaks *leaks, u64 top,
		     struct ks_strbuf *out);
void ks_render_leaks_json(const struct ks_model *model, const struct ks_leaks *leaks,
			  struct ks_strbuf *out);

/* "kmemscope diff". */
void ks_render_diff(const struct ks_diff *diff, u64 top, struct ks_strbuf *out);
void ks_render_diff_json(const struct ks_diff *diff, u64 top, struct ks_strbuf *out);
void ks_render_diff_csv(const struct ks_diff *diff, u64 top, struct ks_strbuf *out);

/* "kmemscope gate". */
void ks_render_gate(const struct ks_gate *gate, struct ks_strbuf *out);
void ks_render_gate_json(const struct ks_model *model, const struct ks_gate *gate,
			 struct ks_strbuf *out);

/* Capture quality, as every report ends with it; in JSON the members "quality" and "findings". */
void ks_render_quality(const struct ks_model *model, struct ks_strbuf *out);
void ks_render_quality_json(const struct ks_model *model, struct ks_json *json);

/* Sites that allocate for their callers, where there are any. Part of the quality. */
void ks_render_helpers(const struct ks_model *model, struct ks_strbuf *out);

/* The findings, each with both sites; nothing when there are none. */
void ks_render_findings(const struct ks_model *model, struct ks_strbuf *out);

/* Whether the capture lost events (--strict). */
bool ks_model_has_loss(const struct ks_model *model);

/* A time stamp in the model's clock: "415.214965000", or ticks. */
void ks_render_time(const struct ks_model *model, u64 ts, struct ks_strbuf *out);

#endif
