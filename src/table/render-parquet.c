// SPDX-License-Identifier: LGPL-2.1-only
/* Tables as Parquet files, whole or row by row as they come. */
#include <math.h>

#include "table/parquet.h"
#include "table/render.h"
#include "table/sink.h"

/* === Data ================================================================================= */

struct parquet_sink {
	struct ks_sink sink;
	struct ks_parquet *file;
	struct ks_parquet_field *fields;
};

/* How a kind of cell is stored; lists and tables inside of rows have no place in a flat file. */
static const enum ks_parquet_type types[KS_CELL_KINDS] = {
	[KS_CELL_TEXT] = KS_PARQUET_STRING,   [KS_CELL_U64] = KS_PARQUET_U64,
	[KS_CELL_U32] = KS_PARQUET_U32,	      [KS_CELL_S64] = KS_PARQUET_S64,
	[KS_CELL_HEX] = KS_PARQUET_U64,	      [KS_CELL_BOOL] = KS_PARQUET_BOOL,
	[KS_CELL_DOUBLE] = KS_PARQUET_DOUBLE, [KS_CELL_SHARE] = KS_PARQUET_DOUBLE,
	[KS_CELL_CHANGE] = KS_PARQUET_S64,    [KS_CELL_TEXTS] = KS_PARQUET_STRING,
	[KS_CELL_U64S] = KS_PARQUET_STRING,   [KS_CELL_TABLE] = KS_PARQUET_STRING,
};

/* === Internals ============================================================================ */

static struct ks_parquet_field field_of(const struct ks_column *column)
{
	/* Shares and ratios may not exist, whatever the column says. */
	bool optional = column->optional || column->kind == KS_CELL_DOUBLE ||
			column->kind == KS_CELL_SHARE || column->kind >= KS_CELL_TEXTS;

	return (struct ks_parquet_field){ column->flat ? column->flat : column->name,
					  types[column->kind], optional };
}

/* A change that is larger than the numbers of the format becomes the largest of them. */
static u64 clamp_change(u64 size, bool negative)
{
	u64 most = ks_min(size, (u64)INT64_MAX);

	return negative ? -most : most;
}

static u64 bits_of(double value)
{
	u64 bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* An empty string says nothing either, where a column may hold nothing. */
static bool is_nothing(const struct ks_table *table, size_t row, unsigned int id)
{
	return ks_table_state(table, row, id) == KS_CELL_UNSET ||
	       (table->columns[id].kind == KS_CELL_TEXT && !*ks_table_cell(table, row, id)->text);
}

static void put_cell(struct ks_parquet *file, const struct ks_table *table, size_t row,
		     unsigned int id)
{
	const struct ks_column *column = &table->columns[id];
	const union ks_cell_value *cell = ks_table_cell(table, row, id);
	enum ks_cell_state state = ks_table_state(table, row, id);

	if (field_of(column).optional && is_nothing(table, row, id)) {
		ks_parquet_null(file);
		return;
	}
	switch (column->kind) {
	case KS_CELL_TEXT: /* mostly different from row to row: its number is as good a key as any */
		ks_parquet_string(file, (u32)row, cell->text ? cell->text : "");
		break;
	case KS_CELL_U64:
	case KS_CELL_U32:
	case KS_CELL_S64:
	case KS_CELL_HEX:
	case KS_CELL_BOOL:
		ks_parquet_number(file, cell->u64);
		break;
	case KS_CELL_DOUBLE:
		if (isnan(cell->number))
			ks_parquet_null(file);
		else
			ks_parquet_number(file, bits_of(cell->number));
		break;
	case KS_CELL_SHARE:
		ks_parquet_number(file, bits_of((double)cell->u64 / 10000));
		break;
	case KS_CELL_CHANGE:
		ks_parquet_number(file, clamp_change(cell->u64, state == KS_CELL_NEGATIVE));
		break;
	case KS_CELL_TEXTS:
	case KS_CELL_U64S:
	case KS_CELL_TABLE:
	case KS_CELL_KINDS:
		ks_parquet_null(file);
		break;
	}
}

static struct ks_parquet_field *table_fields(const struct ks_table *table)
{
	size_t i, len = ks_table_selected_len(table, KS_FORM_PARQUET);
	struct ks_parquet_field *fields = calloc(len + 1, sizeof(*fields));

	for (i = 0; fields && i < len; i++)
		fields[i] = field_of(&table->columns[ks_table_selected(table, KS_FORM_PARQUET, i)]);
	return fields;
}

/* === Internals: rows as they come ========================================================= */

static bool parquet_knows(const struct ks_sink *sink, unsigned int column, u32 key)
{
	return ks_parquet_knows(((const struct parquet_sink *)sink)->file, column, key);
}

static void parquet_row(struct ks_sink *sink, const struct ks_value *values)
{
	struct ks_parquet *file = ((struct parquet_sink *)sink)->file;
	size_t i;

	for (i = 0; i < sink->nr_columns; i++) {
		if (!values[i].set)
			ks_parquet_null(file);
		else if (sink->columns[i].kind == KS_CELL_TEXT)
			ks_parquet_string(file, values[i].key, values[i].text);
		else
			ks_parquet_number(file, values[i].number);
	}
}

static void parquet_end(struct ks_sink *sink)
{
	ks_parquet_finish(((struct parquet_sink *)sink)->file);
}

static void parquet_free(struct ks_sink *sink)
{
	struct parquet_sink *x = (struct parquet_sink *)sink;

	ks_parquet_free(x->file);
	free(x->fields);
	free(x);
}

/* === Public =============================================================================== */

void ks_render_table_parquet(const struct ks_table *table, struct ks_strbuf *out)
{
	size_t i, row, len = ks_table_selected_len(table, KS_FORM_PARQUET);
	struct ks_parquet_field *fields = table_fields(table);
	struct ks_parquet *file = fields ? ks_parquet_new(fields, len, out) : NULL;

	if (!file) {
		free(fields);
		out->failed = true;
		return;
	}
	for (row = 0; row < table->nr_rows; row++)
		for (i = 0; i < len; i++)
			put_cell(file, table, row, ks_table_selected(table, KS_FORM_PARQUET, i));
	ks_parquet_finish(file);
	ks_parquet_free(file);
	free(fields);
	out->failed |= table->failed;
}

struct ks_sink *ks_parquet_sink_new(const struct ks_column *columns, size_t nr_columns,
				    struct ks_strbuf *out)
{
	static const struct ks_sink_ops ops = { parquet_knows, parquet_row, parquet_end,
						parquet_free };
	struct parquet_sink *x = calloc(1, sizeof(*x));
	size_t i;

	if (!x)
		return NULL;
	x->sink = (struct ks_sink){ &ops, columns, nr_columns, NULL };
	x->fields = calloc(nr_columns + 1, sizeof(*x->fields));
	for (i = 0; x->fields && i < nr_columns; i++)
		x->fields[i] = field_of(&columns[i]);
	x->file = x->fields ? ks_parquet_new(x->fields, nr_columns, out) : NULL;
	if (!x->file) {
		free(x->fields);
		free(x);
		return NULL;
	}
	return &x->sink;
}
