/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The renderers of tables and documents: one file each. All append to a strbuf, which fails where the
 * table or the document had no memory.
 */
#ifndef KS_TABLE_RENDER_H
#define KS_TABLE_RENDER_H

#include "table/doc.h"
#include "table/json.h"

/* For people: aligned columns, escaped for a terminal. */
void ks_render_doc(const struct ks_doc *doc, struct ks_strbuf *out);
void ks_render_table(const struct ks_table *table, struct ks_strbuf *out);

/* A cell as text shows it, unescaped: what ks_show_fn is called for in place of. */
void ks_render_cell(const struct ks_table *table, size_t row, unsigned int column,
		    struct ks_strbuf *out);

/* Bytes as text shows them: "1.9 MiB" for @people, else their number. */
void ks_render_amount(bool people, u64 bytes, struct ks_strbuf *out);

/* A cell that is a number and is set, as text and CSV both write it. */
void ks_render_number(const struct ks_table *table, size_t row, unsigned int column,
		      struct ks_strbuf *out);

/* One JSON document; or its members alone, in an object that the caller has opened. */
void ks_render_doc_json(const struct ks_doc *doc, struct ks_strbuf *out);
void ks_render_members_json(const struct ks_doc *doc, struct ks_json *json);

/* The rows as an array of objects. */
void ks_render_table_json(const struct ks_table *table, const char *key, struct ks_json *json);

/* A line of names, and a line for each row. Of a document, its main table. */
void ks_render_doc_csv(const struct ks_doc *doc, struct ks_strbuf *out);
void ks_render_table_csv(const struct ks_table *table, struct ks_strbuf *out);

/* For comments and summaries on forges: the headline, and the main table as text shows it. */
void ks_render_doc_markdown(const struct ks_doc *doc, struct ks_strbuf *out);
void ks_render_table_markdown(const struct ks_table *table, struct ks_strbuf *out);

/* A table of a page without scripts: what text shows, escaped. */
void ks_render_table_html(const struct ks_table *table, struct ks_strbuf *out);

/* A Parquet file. */
void ks_render_table_parquet(const struct ks_table *table, struct ks_strbuf *out);

/*
 * For the page of the HTML report: an object with the number of rows and a member for each column, which
 * is a list of its cells, or 0 where all of them are 0.
 */
void ks_render_table_page(const struct ks_table *table, const char *key, struct ks_json *json);

#endif
