// SPDX-License-Identifier: LGPL-2.1-only
/* Tables as callers see them: all columns that programs have names for, and cells by type. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "api/api.h"

/* === Data ================================================================================= */

static const enum ks_column_type types[KS_CELL_KINDS] = {
	[KS_CELL_TEXT] = KS_TYPE_TEXT,	   [KS_CELL_U64] = KS_TYPE_U64,
	[KS_CELL_U32] = KS_TYPE_U64,	   [KS_CELL_S64] = KS_TYPE_S64,
	[KS_CELL_HEX] = KS_TYPE_U64,	   [KS_CELL_BOOL] = KS_TYPE_BOOL,
	[KS_CELL_DOUBLE] = KS_TYPE_DOUBLE, [KS_CELL_SHARE] = KS_TYPE_DOUBLE,
	[KS_CELL_CHANGE] = KS_TYPE_S64,	   [KS_CELL_TEXTS] = KS_TYPE_TEXTS,
	[KS_CELL_U64S] = KS_TYPE_U64S,	   [KS_CELL_TABLE] = KS_TYPE_TABLE,
};

enum { SHARE = 10000 }; /* the whole, of a KS_CELL_SHARE */

/* === Internals ============================================================================ */

/* The cell of that type, or NULL. */
static const union ks_cell_value *cell_of(const struct ks_table *table, size_t row, size_t column,
					  enum ks_column_type type)
{
	unsigned int id;
	const struct ks_column *found = ks_api_column(table, column, &id);

	if (!found || types[found->kind] != type || !ks_table_is_set(table, row, column))
		return NULL;
	return ks_table_cell(table, row, id);
}

static const struct ks_list *list_of(const struct ks_table *table, size_t row, size_t column,
				     enum ks_column_type type)
{
	const union ks_cell_value *cell = cell_of(table, row, column, type);

	return cell ? cell->list : NULL;
}

/* === Interface ============================================================================ */

const struct ks_column *ks_api_column(const struct ks_table *table, size_t column,
				      unsigned int *ret_id)
{
	if (column >= ks_table_selected_len(table, KS_FORM_CELLS))
		return NULL;
	*ret_id = ks_table_selected(table, KS_FORM_CELLS, column);
	return &table->columns[*ret_id];
}

const char *ks_api_column_name(const struct ks_column *column)
{
	return column->flat ? column->flat : column->name;
}

/* === Public =============================================================================== */

const char *ks_table_name(const struct ks_table *table)
{
	return table->name ? table->name : "";
}

size_t ks_table_rows(const struct ks_table *table)
{
	return ks_table_len(table);
}

size_t ks_table_columns(const struct ks_table *table)
{
	return ks_table_selected_len(table, KS_FORM_CELLS);
}

uint64_t ks_table_left_out(const struct ks_table *table)
{
	return table->left_out;
}

const char *ks_table_column_name(const struct ks_table *table, size_t column)
{
	unsigned int id;
	const struct ks_column *found = ks_api_column(table, column, &id);

	return found ? ks_api_column_name(found) : NULL;
}

const char *ks_table_column_head(const struct ks_table *table, size_t column)
{
	unsigned int id;
	const struct ks_column *found = ks_api_column(table, column, &id);

	if (!found)
		return NULL;
	return found->head ? found->head : ks_api_column_name(found);
}

int ks_table_column_type(const struct ks_table *table, size_t column)
{
	unsigned int id;
	const struct ks_column *found = ks_api_column(table, column, &id);

	return found ? types[found->kind] : KS_TYPE_NONE;
}

const char *ks_table_column_unit(const struct ks_table *table, size_t column)
{
	unsigned int id;
	const struct ks_column *found = ks_api_column(table, column, &id);

	return found ? ks_unit_name(found->unit) : NULL;
}

int ks_table_column(const struct ks_table *table, const char *name)
{
	size_t i;

	for (i = 0; i < ks_table_columns(table); i++)
		if (!strcmp(ks_table_column_name(table, i), name))
			return (int)i;
	return -ENOENT;
}

int ks_table_has_total(const struct ks_table *table)
{
	return table->has_total;
}

int ks_table_is_set(const struct ks_table *table, size_t row, size_t column)
{
	unsigned int id;
	const struct ks_column *found = ks_api_column(table, column, &id);

	if (!found || (row == KS_TOTAL ? !table->has_total : row >= ks_table_len(table)))
		return 0;
	if (ks_table_state(table, row, id) == KS_CELL_UNSET)
		return 0;
	return found->kind != KS_CELL_DOUBLE || !isnan(ks_table_cell(table, row, id)->number);
}

const char *ks_table_text(const struct ks_table *table, size_t row, size_t column)
{
	const union ks_cell_value *cell = cell_of(table, row, column, KS_TYPE_TEXT);

	return cell ? cell->text : NULL;
}

uint64_t ks_table_u64(const struct ks_table *table, size_t row, size_t column)
{
	const union ks_cell_value *cell = cell_of(table, row, column, KS_TYPE_U64);

	return cell ? cell->u64 : 0;
}

int64_t ks_table_s64(const struct ks_table *table, size_t row, size_t column)
{
	const union ks_cell_value *cell = cell_of(table, row, column, KS_TYPE_S64);
	unsigned int id;
	s64 size;

	if (!cell)
		return 0;
	if (ks_api_column(table, column, &id)->kind == KS_CELL_S64)
		return cell->s64;
	/* A change beyond the numbers of the type is the largest of them. */
	size = (s64)ks_min(cell->u64, (u64)INT64_MAX);
	return ks_table_state(table, row, id) == KS_CELL_NEGATIVE ? -size : size;
}

double ks_table_double(const struct ks_table *table, size_t row, size_t column)
{
	const union ks_cell_value *cell = cell_of(table, row, column, KS_TYPE_DOUBLE);
	unsigned int id;

	if (cell)
		return ks_api_column(table, column, &id)->kind == KS_CELL_SHARE
			       ? (double)cell->u64 / SHARE
			       : cell->number;
	if (ks_table_column_type(table, column) == KS_TYPE_S64)
		return (double)ks_table_s64(table, row, column);
	return (double)ks_table_u64(table, row, column);
}

int ks_table_bool(const struct ks_table *table, size_t row, size_t column)
{
	const union ks_cell_value *cell = cell_of(table, row, column, KS_TYPE_BOOL);

	return cell && cell->u64;
}

size_t ks_table_list_len(const struct ks_table *table, size_t row, size_t column)
{
	const struct ks_list *list = list_of(table, row, column, KS_TYPE_TEXTS);

	if (!list)
		list = list_of(table, row, column, KS_TYPE_U64S);
	return list ? list->len : 0;
}

const char *ks_table_list_text(const struct ks_table *table, size_t row, size_t column, size_t item)
{
	const struct ks_list *list = list_of(table, row, column, KS_TYPE_TEXTS);

	return list && item < list->len ? list->items[item].text : NULL;
}

uint64_t ks_table_list_u64(const struct ks_table *table, size_t row, size_t column, size_t item)
{
	const struct ks_list *list = list_of(table, row, column, KS_TYPE_U64S);

	return list && item < list->len ? list->items[item].u64 : 0;
}

const struct ks_table *ks_table_inner(const struct ks_table *table, size_t row, size_t column)
{
	const union ks_cell_value *cell = cell_of(table, row, column, KS_TYPE_TABLE);

	return cell ? cell->table : NULL;
}
