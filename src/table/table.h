/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The typed table: what every report, comparison and export makes, and what every renderer takes.
 *
 * A table has a fixed list of columns, any number of rows, and possibly a row of totals. A column is
 * known by its number in the list, for which the maker of a table has an enum. Cells are set by that
 * number; setting a cell of the wrong kind, or of a column that is not there, is a bug and asserted.
 *
 * Running out of memory marks the table as failed. Everything that takes a table or a row then does
 * nothing, and a renderer marks its output as failed, so makers need not check each call.
 */
#ifndef KS_TABLE_TABLE_H
#define KS_TABLE_TABLE_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum ks_cell_kind {
	KS_CELL_TEXT,
	KS_CELL_U64,
	KS_CELL_U32, /* a u64 that needs only 32 bits in a file */
	KS_CELL_S64,
	KS_CELL_HEX,
	KS_CELL_BOOL,
	KS_CELL_DOUBLE, /* NaN = there is none */
	KS_CELL_SHARE,	/* a part of a whole, exact to 1/10000, rounded down */
	KS_CELL_CHANGE, /* a difference of two u64, with its sign */
	KS_CELL_TEXTS,	/* a list of strings */
	KS_CELL_U64S,	/* a list of numbers */
	KS_CELL_TABLE,	/* a table inside of the row */
	KS_CELL_KINDS
};

/* What a number counts. Renderers may use it: text shows nanoseconds as seconds. */
enum ks_unit {
	KS_UNIT_NONE,
	KS_UNIT_BYTES,
	KS_UNIT_OBJECTS,
	KS_UNIT_COUNT, /* of events, lines, ... */
	KS_UNIT_NS,    /* a time or a duration */
	KS_UNIT_TICKS, /* the same, of a clock that does not say how long a tick is */
	KS_UNIT_RATIO,
	KS_UNIT_ADDRESS,
	KS_UNITS
};

/* "bytes", ... */
const char *ks_unit_name(enum ks_unit unit);

struct ks_table;

/* Writes a cell for people, unescaped. @row may be KS_TOTAL. */
typedef void ks_show_fn(const struct ks_table *table, size_t row, unsigned int column,
			struct ks_strbuf *out);

/* Writes a row for people as a sentence of its own, with its newline. Escapes what it shows. */
typedef void ks_say_fn(const struct ks_table *table, size_t row, struct ks_strbuf *out);

struct ks_column {
	const char *name; /* in JSON, CSV and Parquet; NULL = in none of them */
	const char *head; /* above it in text; NULL = not in text */
	enum ks_cell_kind kind;
	enum ks_unit unit;
	bool if_any;	    /* text leaves it out where every cell is 0 */
	bool optional;	    /* cells may be left unset */
	bool exact;	    /* text always has all digits: the size of one object */
	u8 digits;	    /* of KS_CELL_HEX: this many and no 0x, in text and CSV; 0 = 0x1f */
	u8 width;	    /* in text, at least; lines of KS_CELL_TEXTS are indented by it */
	u8 gap;		    /* in text, blanks before it; 0 = two */
	const char *object; /* in JSON, the object inside of the row that it is in; NULL = none */
	const char *flat;   /* its name in CSV and Parquet; NULL = @name */
	ks_show_fn *show;   /* in text; NULL = by kind and unit */
};

union ks_cell_value {
	const char *text;
	u64 u64; /* also KS_CELL_HEX; KS_CELL_SHARE in 1/10000; the size of a KS_CELL_CHANGE */
	s64 s64;
	double number;
	const struct ks_list *list;
	const struct ks_table *table;
};

/* Whether a cell is set; the sign of a KS_CELL_CHANGE is here, since 64 bits have no room for it. */
enum ks_cell_state { KS_CELL_UNSET, KS_CELL_SET, KS_CELL_NEGATIVE };

/* The strings of a KS_CELL_TEXTS or the numbers of a KS_CELL_U64S. */
struct ks_list {
	size_t len;
	union ks_cell_value items[];
};

/* The formats that may each have their own choice and order of columns. */
enum ks_table_form {
	KS_FORM_TEXT,
	KS_FORM_JSON,
	KS_FORM_CSV,
	KS_FORM_PARQUET,
	KS_FORM_CELLS, /* what programs ask cell by cell: all columns with a name */
	KS_FORMS
};

struct ks_table {
	const char *name;  /* in JSON */
	const char *title; /* above it in text, with an empty line after the table; NULL = none */
	ks_say_fn *say;	  /* text has a sentence for each row in place of columns; NULL = columns */
	size_t text_rows; /* text shows only this many rows; 0 = all */
	u64 left_out;	  /* rows that the maker did not add */
	const char *more; /* text says "... and 5 MORE" of rows that it lacks; NULL = nothing */
	void *ctx;	  /* for show and say */
	bool people;	  /* text has "1.9 MiB" and "123k" in place of all digits */

	/* The rest is for ks_table_* alone. */
	struct ks_column *columns;
	size_t nr_columns, nr_rows;
	bool has_total;
	bool failed;
	const char *total_label; /* what text has in the last column of the totals, where unset */
	KS_VEC(union ks_cell_value) cells; /* row by row; the row of totals is the first */
	KS_VEC(u8) states;		   /* enum ks_cell_state, likewise */
	struct ks_arena arena;
	struct {
		unsigned int *ids;
		size_t len;
	} forms[KS_FORMS];
};

/* The row of totals, where a row is asked for by its number. */
#define KS_TOTAL SIZE_MAX

/* A row to be filled in. It stays valid while rows are added. */
struct ks_row {
	struct ks_table *table; /* NULL = there was no memory; cells are then dropped */
	size_t number;
};

/* Copies the columns, not their strings. NULL when there is no memory. */
struct ks_table *ks_table_new(const char *name, const struct ks_column *columns, size_t nr_columns);
void ks_table_free(struct ks_table *table);

/*
 * Chooses the columns of a form and their order. Otherwise a form has all columns that it can show:
 * text those with a head, the others those with a name; lists are in text and JSON alone.
 */
void ks_table_select(struct ks_table *table, enum ks_table_form form, const unsigned int *ids,
		     size_t len);
size_t ks_table_selected_len(const struct ks_table *table, enum ks_table_form form);
unsigned int ks_table_selected(const struct ks_table *table, enum ks_table_form form, size_t i);

struct ks_row ks_table_add(struct ks_table *table);

/* The row of totals; the table has one from then on. */
struct ks_row ks_table_total(struct ks_table *table);

/* What text calls the totals, in its last column. The string is copied. */
void ks_table_label_total(struct ks_table *table, const char *label);

/* Strings are copied. */
void ks_row_text(struct ks_row row, unsigned int column, const char *value);
void ks_row_textn(struct ks_row row, unsigned int column, const char *value, size_t len);
void ks_row_u64(struct ks_row row, unsigned int column, u64 value); /* also KS_CELL_HEX and U32 */
void ks_row_s64(struct ks_row row, unsigned int column, s64 value);
void ks_row_bool(struct ks_row row, unsigned int column, bool value);
void ks_row_double(struct ks_row row, unsigned int column, double value);
void ks_row_share(struct ks_row row, unsigned int column, u64 part, u64 whole); /* whole 0: unset */
void ks_row_change(struct ks_row row, unsigned int column, u64 before, u64 after);
void ks_row_texts(struct ks_row row, unsigned int column, const char *const *values, size_t len);
void ks_row_u64s(struct ks_row row, unsigned int column, const u64 *values, size_t len);

/* @value is not copied and must live as long as the table. */
void ks_row_table(struct ks_row row, unsigned int column, const struct ks_table *value);

/* Reading: rows are numbered from 0, in the order in which they were added. */
static inline size_t ks_table_len(const struct ks_table *table)
{
	return table->nr_rows;
}

const union ks_cell_value *ks_table_cell(const struct ks_table *table, size_t row,
					 unsigned int column);
enum ks_cell_state ks_table_state(const struct ks_table *table, size_t row, unsigned int column);

/* Whether all cells of a column, totals aside, are unset or 0. Never true of a column of text. */
bool ks_table_is_zero(const struct ks_table *table, unsigned int column);

#endif
