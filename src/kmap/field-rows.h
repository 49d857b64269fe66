/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/kmap: rows for the fields of a struct, its cache lines, and what is read beside what is written. */
#ifndef KS_KMAP_FIELD_ROWS_H
#define KS_KMAP_FIELD_ROWS_H

#include "kmap/fields.h"
#include "table/doc.h"

/* Tables without rows; NULL when there is no memory. */
struct ks_table *ks_kmap_field_table(struct ks_doc *doc);
struct ks_table *ks_kmap_line_table(struct ks_doc *doc);
struct ks_table *ks_kmap_pair_table(struct ks_doc *doc);

/* These add the rows of a struct to such a table. */
void ks_kmap_put_fields(struct ks_table *table, const struct ks_kmap_struct *type,
			const struct ks_kmap_places *places);
void ks_kmap_put_lines(struct ks_table *table, const struct ks_kmap_struct *type);
void ks_kmap_put_pairs(struct ks_table *table, const struct ks_kmap_struct *type,
		       const struct ks_kmap_places *places);

#endif
