// SPDX-License-Identifier: LGPL-2.1-only
/*
 * An access map in the data of the HTML report: tables by column, a column that is all zero as 0,
 * and nothing indented, for the same reason as in html-data.c.
 */
#include "report/html.h"

#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static void put_string(struct ks_strbuf *out, const char *s)
{
	ks_strbuf_puts(out, "\"");
	ks_escape_json(out, s, strlen(s));
	ks_strbuf_puts(out, "\"");
}

static const union ks_view_cell *cell_at(const struct ks_view_table *table, size_t row,
					 size_t column)
{
	return &table->cells.items[row * table->nr_columns + column];
}

static bool is_zero(const struct ks_view_table *table, size_t column)
{
	size_t row;

	for (row = 0; row < table->nr_rows; row++)
		if (cell_at(table, row, column)->u64)
			return false;
	return true;
}

static void put_column(struct ks_strbuf *out, const struct ks_view_table *table, size_t column)
{
	bool text = table->columns[column].kind == KS_CELL_TEXT;
	size_t row;

	ks_strbuf_printf(out, "%s\"%s\":", column ? ",\n" : "\n", table->columns[column].name);
	if (!text && is_zero(table, column)) {
		ks_strbuf_puts(out, "0");
		return;
	}
	ks_strbuf_puts(out, "[");
	for (row = 0; row < table->nr_rows; row++) {
		const union ks_view_cell *cell = cell_at(table, row, column);

		ks_strbuf_puts(out, row ? "," : "");
		if (text)
			put_string(out, cell->text);
		else
			ks_strbuf_printf(out, "%llu", (unsigned long long)cell->u64);
	}
	ks_strbuf_puts(out, "]");
}

/* === Public =============================================================================== */

void ks_render_html_kmap(const struct ks_view *view, const char *name, struct ks_strbuf *out)
{
	size_t i, column;

	ks_strbuf_puts(out, "{\"name\":");
	put_string(out, name);
	for (i = 0; i < view->tables.len; i++) {
		const struct ks_view_table *table = view->tables.items[i];

		ks_strbuf_printf(out, ",\n\"%s\":{\"rows\":%zu,", table->name, table->nr_rows);
		for (column = 0; column < table->nr_columns; column++)
			put_column(out, table, column);
		ks_strbuf_puts(out, "}");
	}
	ks_strbuf_puts(out, ",\n\"notes\":[");
	for (i = 0; i < view->notes.len; i++) {
		const struct ks_view_note *note = &view->notes.items[i];

		ks_strbuf_printf(out, "%s{\"name\":\"%s\",\"value\":%llu,\"text\":", i ? "," : "",
				 note->name, (unsigned long long)note->value);
		put_string(out, note->text);
		ks_strbuf_puts(out, "}");
	}
	ks_strbuf_puts(out, "]}");
	out->failed |= view->failed;
}
