// SPDX-License-Identifier: LGPL-2.1-only
/* The typed table: its columns, rows and cells. */
#include "table/table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/u128.h"

/* === Data ================================================================================= */

static const char *const unit_names[] = {
	[KS_UNIT_NONE] = "none",   [KS_UNIT_BYTES] = "bytes",	  [KS_UNIT_OBJECTS] = "objects",
	[KS_UNIT_COUNT] = "count", [KS_UNIT_NS] = "ns",		  [KS_UNIT_TICKS] = "ticks",
	[KS_UNIT_RATIO] = "ratio", [KS_UNIT_ADDRESS] = "address",
};
_Static_assert(ARRAY_SIZE(unit_names) == KS_UNITS, "a name for every unit");

/* === Internals ============================================================================ */

/* Where a cell is stored: totals take the place in front of row 0. */
static size_t place_of(const struct ks_table *table, size_t row, unsigned int column)
{
	assert(column < table->nr_columns);
	assert(row == KS_TOTAL || row < table->nr_rows);
	return (row == KS_TOTAL ? 0 : row + 1) * table->nr_columns + column;
}

/* Adds cells for one more row, all unset. */
static int grow(struct ks_table *table)
{
	size_t len = table->cells.len, more = table->nr_columns;

	if (ks_vec_reserve(&table->cells, len + more) || ks_vec_reserve(&table->states, len + more))
		return -ENOMEM;
	memset(table->cells.items + len, 0, more * sizeof(*table->cells.items));
	memset(table->states.items + len, KS_CELL_UNSET, more);
	table->cells.len = table->states.len = len + more;
	return 0;
}

/* The cell to set, marked as set; NULL where memory ran out before. */
static union ks_cell_value *set(struct ks_row row, unsigned int column, u32 kinds)
{
	size_t place;

	if (!row.table)
		return NULL;
	place = place_of(row.table, row.number, column);
	assert(1u << row.table->columns[column].kind & kinds);
	row.table->states.items[place] = KS_CELL_SET;
	return &row.table->cells.items[place];
}

static struct ks_list *new_list(struct ks_table *table, size_t len)
{
	struct ks_list *list =
		ks_arena_alloc(&table->arena, sizeof(*list) + len * sizeof(list->items[0]));

	if (list)
		list->len = len;
	table->failed |= !list;
	return list;
}

static const char *copy(struct ks_table *table, const char *value, size_t len)
{
	const char *text = ks_arena_strndup(&table->arena, value, len);

	table->failed |= !text;
	return text ? text : "";
}

static bool can_show(const struct ks_column *column, enum ks_table_form form)
{
	if (form == KS_FORM_TEXT)
		return column->head != NULL;
	/* A cell of a flat file has no room for a list. */
	return column->name &&
	       (form == KS_FORM_JSON || form == KS_FORM_CELLS || column->kind < KS_CELL_TEXTS);
}

/* Selects all columns that the form can show. */
static int select_all(struct ks_table *table, enum ks_table_form form)
{
	unsigned int *ids = calloc(table->nr_columns + 1, sizeof(*ids)), i;
	size_t len = 0;

	if (!ids)
		return -ENOMEM;
	for (i = 0; i < table->nr_columns; i++)
		if (can_show(&table->columns[i], form))
			ids[len++] = i;
	table->forms[form].ids = ids;
	table->forms[form].len = len;
	return 0;
}

/* === Public =============================================================================== */

const char *ks_unit_name(enum ks_unit unit)
{
	return unit < KS_UNITS ? unit_names[unit] : "?";
}

struct ks_table *ks_table_new(const char *name, const struct ks_column *columns, size_t nr_columns)
{
	struct ks_table *table = calloc(1, sizeof(*table));
	int form, err = 0;

	if (!table)
		return NULL;
	table->name = name;
	table->nr_columns = nr_columns;
	ks_arena_init(&table->arena);
	table->columns = calloc(nr_columns + 1, sizeof(*columns));
	if (!table->columns || grow(table)) {
		ks_table_free(table);
		return NULL;
	}
	memcpy(table->columns, columns, nr_columns * sizeof(*columns));
	for (form = 0; form < KS_FORMS && !err; form++)
		err = select_all(table, (enum ks_table_form)form);
	if (err) {
		ks_table_free(table);
		return NULL;
	}
	return table;
}

void ks_table_free(struct ks_table *table)
{
	int form;

	if (!table)
		return;
	for (form = 0; form < KS_FORMS; form++)
		free(table->forms[form].ids);
	free(table->columns);
	ks_vec_free(&table->cells);
	ks_vec_free(&table->states);
	ks_arena_deinit(&table->arena);
	free(table);
}

void ks_table_select(struct ks_table *table, enum ks_table_form form, const unsigned int *ids,
		     size_t len)
{
	unsigned int *mine;
	size_t i;

	if (!table)
		return;
	for (i = 0; i < len; i++)
		assert(ids[i] < table->nr_columns && can_show(&table->columns[ids[i]], form));
	mine = calloc(len + 1, sizeof(*mine));
	if (!mine) {
		table->failed = true;
		return;
	}
	memcpy(mine, ids, len * sizeof(*ids));
	free(table->forms[form].ids);
	table->forms[form].ids = mine;
	table->forms[form].len = len;
}

size_t ks_table_selected_len(const struct ks_table *table, enum ks_table_form form)
{
	return table->forms[form].len;
}

unsigned int ks_table_selected(const struct ks_table *table, enum ks_table_form form, size_t i)
{
	assert(i < table->forms[form].len);
	return table->forms[form].ids[i];
}

struct ks_row ks_table_add(struct ks_table *table)
{
	if (!table || table->failed || grow(table)) {
		if (table)
			table->failed = true;
		return (struct ks_row){ NULL, 0 };
	}
	return (struct ks_row){ table, table->nr_rows++ };
}

struct ks_row ks_table_total(struct ks_table *table)
{
	if (table)
		table->has_total = true;
	return (struct ks_row){ table, KS_TOTAL };
}

void ks_table_label_total(struct ks_table *table, const char *label)
{
	if (table)
		table->total_label = copy(table, label, strlen(label));
}

void ks_row_text(struct ks_row row, unsigned int column, const char *value)
{
	ks_row_textn(row, column, value, strlen(value));
}

void ks_row_textn(struct ks_row row, unsigned int column, const char *value, size_t len)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_TEXT);

	if (cell)
		cell->text = copy(row.table, value, len);
}

void ks_row_u64(struct ks_row row, unsigned int column, u64 value)
{
	union ks_cell_value *cell =
		set(row, column, 1u << KS_CELL_U64 | 1u << KS_CELL_U32 | 1u << KS_CELL_HEX);

	if (cell)
		cell->u64 = value;
}

void ks_row_s64(struct ks_row row, unsigned int column, s64 value)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_S64);

	if (cell)
		cell->s64 = value;
}

void ks_row_bool(struct ks_row row, unsigned int column, bool value)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_BOOL);

	if (cell)
		cell->u64 = value;
}

void ks_row_double(struct ks_row row, unsigned int column, double value)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_DOUBLE);

	if (cell)
		cell->number = value;
}

void ks_row_share(struct ks_row row, unsigned int column, u64 part, u64 whole)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_SHARE);

	if (!cell)
		return;
	if (whole)
		cell->u64 = ks_mul_div(part, 10000, whole);
	else
		row.table->states.items[place_of(row.table, row.number, column)] = KS_CELL_UNSET;
}

void ks_row_change(struct ks_row row, unsigned int column, u64 before, u64 after)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_CHANGE);

	if (!cell)
		return;
	cell->u64 = after > before ? after - before : before - after;
	if (after < before)
		row.table->states.items[place_of(row.table, row.number, column)] = KS_CELL_NEGATIVE;
}

void ks_row_texts(struct ks_row row, unsigned int column, const char *const *values, size_t len)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_TEXTS);
	struct ks_list *list = cell ? new_list(row.table, len) : NULL;
	size_t i;

	if (!list)
		return;
	for (i = 0; i < len; i++)
		list->items[i].text = copy(row.table, values[i], strlen(values[i]));
	cell->list = list;
}

void ks_row_u64s(struct ks_row row, unsigned int column, const u64 *values, size_t len)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_U64S);
	struct ks_list *list = cell ? new_list(row.table, len) : NULL;
	size_t i;

	if (!list)
		return;
	for (i = 0; i < len; i++)
		list->items[i].u64 = values[i];
	cell->list = list;
}

void ks_row_table(struct ks_row row, unsigned int column, const struct ks_table *value)
{
	union ks_cell_value *cell = set(row, column, 1u << KS_CELL_TABLE);

	if (!cell)
		return;
	cell->table = value;
	if (!value)
		row.table->failed = true;
}

const union ks_cell_value *ks_table_cell(const struct ks_table *table, size_t row,
					 unsigned int column)
{
	return &table->cells.items[place_of(table, row, column)];
}

enum ks_cell_state ks_table_state(const struct ks_table *table, size_t row, unsigned int column)
{
	return (enum ks_cell_state)table->states.items[place_of(table, row, column)];
}

bool ks_table_is_zero(const struct ks_table *table, unsigned int column)
{
	size_t row;

	if (table->columns[column].kind == KS_CELL_TEXT ||
	    table->columns[column].kind >= KS_CELL_TEXTS)
		return false;
	for (row = 0; row < table->nr_rows; row++)
		if (ks_table_state(table, row, column) != KS_CELL_UNSET &&
		    ks_table_cell(table, row, column)->u64)
			return false;
	return true;
}
