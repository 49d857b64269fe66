/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The groups of a model as a table. This is the one list of their columns: for "report" and "account",
 * and for the exports as CSV, JSON and Parquet.
 */
#ifndef KS_REPORT_GROUPS_H
#define KS_REPORT_GROUPS_H

#include "report/report.h"

enum ks_group_column {
	KS_GROUP_LABEL,
	KS_GROUP_FUNCTION, /* from here to KS_GROUP_ADDRESS: of call sites */
	KS_GROUP_OFFSET,
	KS_GROUP_MODULE,
	KS_GROUP_PATH,
	KS_GROUP_INLINED,
	KS_GROUP_HELPER,
	KS_GROUP_ADDRESS,
	KS_GROUP_TOTAL_BYTES,
	KS_GROUP_TOTAL_REQ,
	KS_GROUP_LIVE_BYTES,
	KS_GROUP_LIVE_REQ,
	KS_GROUP_LIVE_OBJECTS,
	KS_GROUP_PEAK_BYTES,
	KS_GROUP_ALLOCS,
	KS_GROUP_FREES,
	KS_GROUP_IMPLIED_FREES,
	KS_GROUP_PAGE_FREES,
	KS_GROUP_CENSUS_FREES,
	KS_GROUP_LIVE_LEAST,
	KS_GROUP_LIVE_OBJECTS_LEAST,
	KS_GROUP_PEAK_LEAST,
	KS_GROUP_KERNEL_OBJECTS,
	KS_GROUP_KERNEL_BYTES,
	KS_GROUP_BEFORE,
	KS_GROUP_ALIASES,
	KS_GROUP_RECLAIMABLE,
	KS_GROUP_FAILED,
	KS_GROUP_PEAK_TS,
	KS_GROUP_FIRST_TS,
	KS_GROUP_LAST_TS,
	KS_GROUP_WASTE,
	KS_GROUP_SEEN,
	KS_GROUP_COLUMNS
};

/* A table "rows" in the document, without a place yet; NULL when there is no memory. */
struct ks_table *ks_groups_table(struct ks_doc *doc, const struct ks_model *model,
				 const struct ks_rows *rows);

#endif
