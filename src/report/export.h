/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The formats of other tools. Those of profiles take models by site or by stack, pprof by sample; rows
 * give their order.
 */
#ifndef KS_REPORT_EXPORT_H
#define KS_REPORT_EXPORT_H

#include "analysis/timeline.h"
#include "report/report.h"

/* pprof's protocol buffer, compressed: objects and bytes, allocated and in use. */
void ks_export_pprof(const struct ks_model *model, const struct ks_rows *rows,
		     struct ks_strbuf *out);

/* speedscope's JSON: a profile for each measure. */
void ks_export_speedscope(const struct ks_model *model, const struct ks_rows *rows,
			  struct ks_strbuf *out);

/* "root;...;leaf value" lines. */
void ks_export_collapsed(const struct ks_rows *rows, enum ks_measure measure,
			 struct ks_strbuf *out);

/* A Parquet table of the sites. */
void ks_export_parquet(const struct ks_rows *rows, struct ks_strbuf *out);

/* Counters of live bytes and rates over time. */
void ks_export_chrome(const struct ks_model *model, const struct ks_timeline *timeline,
		      struct ks_strbuf *out);

#endif
