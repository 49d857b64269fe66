/* SPDX-License-Identifier: LGPL-2.1-only */
/* The static footprint as tables. */
#ifndef KS_REPORT_STATIC_H
#define KS_REPORT_STATIC_H

#include "analysis/static-model.h"
#include "table/render.h"

enum ks_static_by {
	KS_STATIC_DIR,
	KS_STATIC_FILE,
	KS_STATIC_SECTION,
	KS_STATIC_SYMBOL,
	KS_STATIC_BYS
};

const char *ks_static_by_name(enum ks_static_by by);

/* One row. Sections and symbols have all their bytes in one class. */
struct ks_static_row {
	const char *name; /* belongs to the rows or to the model */
	const char *file; /* symbols only, else "" */
	const char *module;
	struct ks_footprint size;
	u64 files;	  /* directories and sections: how many are in it */
	bool is_function; /* symbols only */
};

struct ks_static_rows {
	struct ks_intern names;
	enum ks_static_by by;
	KS_VEC(struct ks_static_row) items; /* largest first, then by name */
	u64 left_out;			    /* rows beyond the top ones */
};

/* @depth: how many directories below the branch make a row; @top: the number of rows, 0 = all. */
int ks_static_rows_init(struct ks_static_rows *rows, const struct ks_static_model *model,
			enum ks_static_by by, unsigned int depth, u64 top);
void ks_static_rows_deinit(struct ks_static_rows *rows);

/* The table, what was skipped and why, and how it agrees with vmlinux. NULL when there is no memory. */
struct ks_doc *ks_doc_of_static(const struct ks_static_model *model,
				const struct ks_static_rows *rows);

/* Every file that was not counted, with the reason. */
struct ks_doc *ks_doc_of_skipped(const struct ks_static_model *model);

#endif
