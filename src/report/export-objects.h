/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Objects, one by one, as rows of a table that is never kept; what comes out may be taken from the strbuf
 * at any time.
 */
#ifndef KS_REPORT_EXPORT_OBJECTS_H
#define KS_REPORT_EXPORT_OBJECTS_H

#include "analysis/objects.h"
#include "base/strbuf.h"

enum ks_object_format { KS_OBJECTS_NONE, KS_OBJECTS_CSV, KS_OBJECTS_JSON, KS_OBJECTS_PARQUET };

struct ks_object_export;

/* NULL when there is no memory. Later, lack of memory fails the strbuf. */
struct ks_object_export *ks_object_export_new(enum ks_object_format format, struct ks_strbuf *out);
void ks_object_export_free(struct ks_object_export *x);

/* Fails where a name can't be had. */
int ks_object_export_add(struct ks_object_export *x, struct ks_object_source *source,
			 const struct ks_object_row *row, struct ks_diag *diag);
void ks_object_export_finish(struct ks_object_export *x, const struct ks_model *model);

/* Rows so far. */
u64 ks_object_export_rows(const struct ks_object_export *x);

#endif
