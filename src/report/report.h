/* SPDX-License-Identifier: LGPL-2.1-only */
/* Reports: each makes a document of tables from a model. */
#ifndef KS_REPORT_REPORT_H
#define KS_REPORT_REPORT_H

#include "analysis/budget.h"
#include "analysis/diff.h"
#include "analysis/model.h"
#include "base/strbuf.h"
#include "table/render.h"

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

/* From one of these names, or "live", "total", "allocs", "frees"; -ENOENT = it is none. */
int ks_order_from_name(const char *name);

struct ks_rows {
	const struct ks_group **items;
	size_t len;
};

/* The model's groups in order, ties broken by size, then by name; the first @top of them, or all (0). */
int ks_rows_init(struct ks_rows *rows, const struct ks_model *model, enum ks_order order, u64 top);
/* The same of another account than the first. */
int ks_rows_of_sums(struct ks_rows *rows, const struct ks_sums *sums, enum ks_order order, u64 top);
void ks_rows_deinit(struct ks_rows *rows);

/*
 * Documents: what a report says, as tables for any renderer. All return NULL when there is no memory, and
 * copy what they need, so that the model may be freed before they are rendered.
 */

/* "kmemscope report", for any grouping, and trace_analyze's account; @schema names the document. */
struct ks_doc *ks_doc_of_groups(const struct ks_model *model, const struct ks_rows *rows,
				enum ks_order order, const char *schema);

/* "kmemscope info": what is in the file. */
struct ks_doc *ks_doc_of_info(const struct ks_model *model);

/* "kmemscope report --before": what the kernel had when recording began, by cache, and by type if the capture has that. */
struct ks_doc *ks_doc_of_before(const struct ks_model *model, u64 top);

/* "kmemscope report --frag" and kmemtrace-report: by site and by size, totals, findings. */
struct ks_doc *ks_doc_of_frag(const struct ks_model *model, const struct ks_frag *frag, u64 top);

/* "kmemscope leaks". @top is for people: programs get all rows. */
struct ks_doc *ks_doc_of_leaks(const struct ks_model *model, const struct ks_leaks *leaks, u64 top,
			       bool all);

/* "kmemscope diff". @all: text has rows that did not change, too. */
struct ks_doc *ks_doc_of_diff(const struct ks_diff *diff, u64 top, bool all);

/* "kmemscope gate"; @model is NULL of a heap snapshot. @all: text has checks that passed, too. */
struct ks_doc *ks_doc_of_gate(const struct ks_model *model, const struct ks_gate *gate, bool all);

/* The checks of such a document as JUnit's XML. */
void ks_render_gate_junit(const struct ks_doc *doc, const char *suite, bool allow_missing,
			  struct ks_strbuf *out);

/* A file that a command has written: for programs, what and how much; for people, the quality. */
struct ks_written {
	const char *path, *format;
	const char *table; /* "sites", "objects"; NULL = it is no table */
	u64 bytes, rows;
};

struct ks_doc *ks_doc_of_written(const struct ks_model *model, const struct ks_written *written);

/* Parts of documents: capture quality, with which every report ends; the findings, for people. */
void ks_doc_quality(struct ks_doc *doc, const struct ks_model *model);
void ks_doc_findings(struct ks_doc *doc, const struct ks_model *model);

/* The quality alone, for people. */
void ks_render_quality(const struct ks_model *model, bool detailed, struct ks_strbuf *out);

/* trace_analyze's files, of the main table of ks_doc_of_groups() by site. */
void ks_render_account(const struct ks_model *model, const struct ks_table *groups,
		       struct ks_strbuf *out);
void ks_render_callers(const struct ks_table *groups, struct ks_strbuf *out);

/* Whether the capture lost events (--strict). */
bool ks_model_has_loss(const struct ks_model *model);

/* Whether times are in nanoseconds, and the unit of columns that hold times. */
bool ks_model_in_seconds(const struct ks_model *model);
enum ks_unit ks_time_unit(const struct ks_model *model);

/* A time stamp in the model's clock: "415.214965000", or ticks. */
void ks_render_time(const struct ks_model *model, u64 ts, struct ks_strbuf *out);

/*
 * The time of day, where the model knows it, by this machine's time zone: of one event, "10:00:05.214", or of all of the
 * capture, "2026-11-17 10:00:05 to 10:02:07 UTC".
 */
void ks_render_wall(const struct ks_model *model, u64 ts, struct ks_strbuf *out);
void ks_render_wall_span(const struct ks_model *model, struct ks_strbuf *out);

/* As it goes into JSON, everywhere the same: "2026-11-17T10:00:05.214965000Z". */
void ks_render_wall_utc(const struct ks_model *model, u64 ts, struct ks_strbuf *out);

#endif
