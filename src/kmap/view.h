/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What commands show of an access map: tables whose columns have names and kinds. Renderers see
 * these and nothing else of a map.
 */
#ifndef KS_KMAP_VIEW_H
#define KS_KMAP_VIEW_H

#include "base/arena.h"
#include "base/vec.h"

enum ks_cell_kind { KS_CELL_TEXT, KS_CELL_U64, KS_CELL_HEX, KS_CELL_RATIO, KS_CELL_S64 };

struct ks_view_column {
	const char *name; /* in JSON and CSV */
	const char *head; /* in a table for people; NULL = not shown there */
	enum ks_cell_kind kind;
	bool if_any; /* not shown there either where all of it is 0 */
};

union ks_view_cell {
	const char *text;
	u64 u64;
	s64 s64;
	double ratio; /* NaN = there is none */
};

struct ks_view_table {
	const char *name;  /* in JSON */
	const char *title; /* for people */
	size_t nr_columns, nr_rows;
	KS_VEC(union ks_view_cell) cells; /* row by row */
	struct ks_view_column columns[];
};

struct ks_view_note {
	const char *name; /* in JSON */
	u64 value;
	const char *text; /* for people, behind the value */
};

struct ks_view {
	const char *schema;
	struct ks_arena strings;
	KS_VEC(struct ks_view_table *) tables;
	KS_VEC(struct ks_view_note) notes; /* totals and the quality of the map */
	bool failed;			   /* there was no memory for something */
};

struct ks_view *ks_view_new(const char *schema);
void ks_view_free(struct ks_view *view);

/* Copies the columns. NULL, and the view failed, when there is no memory. Adding a row to the table NULL is the same. */
struct ks_view_table *ks_view_add_table(struct ks_view *view, const char *name, const char *title,
					const struct ks_view_column *columns, size_t nr_columns);
union ks_view_cell *ks_view_add_row(struct ks_view *view, struct ks_view_table *table);
const char *ks_view_string(struct ks_view *view, const char *s);

void ks_view_note(struct ks_view *view, const char *name, u64 value, const char *text);

#endif
