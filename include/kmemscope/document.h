/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Documents, which are what all questions are answered with, and the tables in them. See
 * ks_document(3).
 */
#ifndef KMEMSCOPE_DOCUMENT_H
#define KMEMSCOPE_DOCUMENT_H

#include <kmemscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ArrowArrayStream; /* kmemscope/arrow.h */

/*
 * Tables, with named numbers and texts around them. It is complete in itself and does not change.
 */
struct ks_document;
struct ks_table;

/* Tables stay until their document is freed. */
KS_API void ks_document_free(struct ks_document *document);

/* The kind of document and its version: "kmemscope-leaks-1". */
KS_API const char *ks_document_schema(const struct ks_document *document);

/* The tables, by number from 0; NULL = there is none. The main one is what CSV and Parquet have. */
KS_API const struct ks_table *ks_document_table(const struct ks_document *document, size_t number);
KS_API const struct ks_table *ks_document_main(const struct ks_document *document);
KS_API const struct ks_table *ks_document_find(const struct ks_document *document,
					       const char *name);

/*
 * Values beside the tables, by the names that they have in JSON, those of objects with dots:
 * "events_total", "quality.lost_events". 1, or 0 where the document has no such number; NULL where
 * it has no such text.
 */
KS_API int ks_document_number(const struct ks_document *document, const char *name,
			      uint64_t *ret_number);
KS_API const char *ks_document_text(const struct ks_document *document, const char *name);

/*
 * The document as "text", "json", "csv", "markdown" or "parquet". The bytes have a 0 behind them,
 * which is not counted, and are given back with ks_free(). -EINVAL: there is no such form.
 */
KS_API int ks_document_render(const struct ks_document *document, const char *form,
			      char **ret_bytes, size_t *ret_len, struct ks_diag *diag);

/* What a column holds. */
enum ks_column_type {
	KS_TYPE_NONE = 0, /* there is no such column */
	KS_TYPE_TEXT = 1,
	KS_TYPE_U64 = 2,
	KS_TYPE_S64 = 3,
	KS_TYPE_DOUBLE = 4,
	KS_TYPE_BOOL = 5,
	KS_TYPE_TEXTS = 6, /* a list of texts */
	KS_TYPE_U64S = 7,  /* a list of numbers */
	KS_TYPE_TABLE = 8  /* a table in each row */
};

KS_API const char *ks_table_name(const struct ks_table *table);
KS_API size_t ks_table_rows(const struct ks_table *table);
KS_API size_t ks_table_columns(const struct ks_table *table);

/* Rows that the maker left out, as there were too many. */
KS_API uint64_t ks_table_left_out(const struct ks_table *table);

/*
 * Columns have numbers from 0. Names are unique and the same in all releases; NULL = there is no
 * such column.
 */
KS_API const char *ks_table_column_name(const struct ks_table *table, size_t column);

/* What stands above the column for people; its name where it is not for people. */
KS_API const char *ks_table_column_head(const struct ks_table *table, size_t column);
KS_API int ks_table_column_type(const struct ks_table *table,
				size_t column); /* enum ks_column_type */

/*
 * What its numbers count: "none", "bytes", "objects", "count", "ns", "ticks", "ratio", "address".
 */
KS_API const char *ks_table_column_unit(const struct ks_table *table, size_t column);

/* The number of the column of that name, or -ENOENT. */
KS_API int ks_table_column(const struct ks_table *table, const char *name);

/* In place of the number of a row: the totals, which not all tables have. */
#define KS_ROW_TOTAL SIZE_MAX
KS_API int ks_table_has_total(const struct ks_table *table);

/*
 * Cells. What is asked with another type than the column's, of no row, of no column, or where the
 * cell is empty is 0 or NULL; but numbers of all types can be asked as double.
 */
KS_API int ks_table_is_set(const struct ks_table *table, size_t row, size_t column);
KS_API const char *ks_table_text(const struct ks_table *table, size_t row, size_t column);
KS_API uint64_t ks_table_u64(const struct ks_table *table, size_t row, size_t column);
KS_API int64_t ks_table_s64(const struct ks_table *table, size_t row, size_t column);
KS_API double ks_table_double(const struct ks_table *table, size_t row, size_t column);
KS_API int ks_table_bool(const struct ks_table *table, size_t row, size_t column);

/* Of a list: how long it is, and its items. */
KS_API size_t ks_table_list_len(const struct ks_table *table, size_t row, size_t column);
KS_API const char *ks_table_list_text(const struct ks_table *table, size_t row, size_t column,
				      size_t item);
KS_API uint64_t ks_table_list_u64(const struct ks_table *table, size_t row, size_t column,
				  size_t item);

/* The table in a row. */
KS_API const struct ks_table *ks_table_inner(const struct ks_table *table, size_t row,
					     size_t column);

/*
 * The rows of a table of the document by the Arrow C stream interface: batches of at most 65536
 * rows, a column of each but those of tables in rows. The stream keeps the document, which may be
 * freed before it is read; who gets it releases it.
 */
KS_API int ks_document_arrow(const struct ks_document *document, const struct ks_table *table,
			     struct ArrowArrayStream *ret_stream, struct ks_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
