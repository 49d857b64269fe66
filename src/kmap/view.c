// SPDX-License-Identifier: LGPL-2.1-only
/* Tables in the making. */
#include "kmap/view.h"

#include <string.h>

/* === Public =============================================================================== */

struct ks_view *ks_view_new(const char *schema)
{
	struct ks_view *view = calloc(1, sizeof(*view));

	if (view) {
		view->schema = schema;
		ks_arena_init(&view->strings);
	}
	return view;
}

void ks_view_free(struct ks_view *view)
{
	size_t i;

	if (!view)
		return;
	for (i = 0; i < view->tables.len; i++) {
		ks_vec_free(&view->tables.items[i]->cells);
		free(view->tables.items[i]);
	}
	ks_vec_free(&view->tables);
	ks_vec_free(&view->notes);
	ks_arena_deinit(&view->strings);
	free(view);
}

struct ks_view_table *ks_view_add_table(struct ks_view *view, const char *name, const char *title,
					const struct ks_view_column *columns, size_t nr_columns)
{
	struct ks_view_table *table = calloc(1, sizeof(*table) + nr_columns * sizeof(*columns));
	struct ks_view_table **slot = table ? ks_vec_push(&view->tables) : NULL;

	if (!slot) {
		free(table);
		view->failed = true;
		return NULL;
	}
	*slot = table;
	table->name = name;
	table->title = title;
	table->nr_columns = nr_columns;
	memcpy(table->columns, columns, nr_columns * sizeof(*columns));
	return table;
}

union ks_view_cell *ks_view_add_row(struct ks_view *view, struct ks_view_table *table)
{
	union ks_view_cell *row;

	if (!table || ks_vec_reserve(&table->cells, table->cells.len + table->nr_columns)) {
		view->failed = true;
		return NULL;
	}
	row = table->cells.items + table->cells.len;
	memset(row, 0, table->nr_columns * sizeof(*row));
	table->cells.len += table->nr_columns;
	table->nr_rows++;
	return row;
}

const char *ks_view_string(struct ks_view *view, const char *s)
{
	const char *copy = ks_arena_strndup(&view->strings, s, strlen(s));

	view->failed |= !copy;
	return copy ? copy : "";
}

void ks_view_note(struct ks_view *view, const char *name, u64 value, const char *text)
{
	struct ks_view_note *note = ks_vec_push(&view->notes);

	if (note)
		*note = (struct ks_view_note){ name, value, text };
	view->failed |= !note;
}
