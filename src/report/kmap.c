// SPDX-License-Identifier: LGPL-2.1-only
/* The views of access maps as tables, JSON and CSV. */
#include "report/kmap.h"

#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "report/json.h"

/* === Internals ============================================================================ */

/* A cell as it is shown, unescaped. */
static void put_cell(struct ks_strbuf *out, enum ks_cell_kind kind, const union ks_view_cell *cell)
{
	switch (kind) {
	case KS_CELL_TEXT:
		ks_strbuf_puts(out, cell->text);
		break;
	case KS_CELL_U64:
		ks_strbuf_printf(out, "%llu", (unsigned long long)cell->u64);
		break;
	case KS_CELL_S64:
		ks_strbuf_printf(out, "%lld", (long long)cell->s64);
		break;
	case KS_CELL_HEX:
		ks_strbuf_printf(out, "%016llx", (unsigned long long)cell->u64);
		break;
	case KS_CELL_RATIO:
		if (isnan(cell->ratio))
			ks_strbuf_puts(out, "-");
		else
			ks_strbuf_printf(out, "%.4g", cell->ratio);
		break;
	}
}

/* The cells of a column have one width, so that numbers stand below each other. */
static size_t width_of(const struct ks_view_table *table, size_t column, struct ks_strbuf *scratch)
{
	size_t row, width = strlen(table->columns[column].head);

	for (row = 0; row < table->nr_rows; row++) {
		scratch->len = 0;
		put_cell(scratch, table->columns[column].kind,
			 &table->cells.items[row * table->nr_columns + column]);
		width = ks_max(width, scratch->len);
	}
	return width;
}

/* Text stands left, numbers right; the last column is not filled up. */
static void put_padded(struct ks_strbuf *out, const struct ks_strbuf *cell, bool left, size_t width,
		       bool last)
{
	size_t pad = cell->len < width ? width - cell->len : 0;

	if (!left)
		ks_strbuf_printf(out, "%*s", (int)pad, "");
	ks_escape_tty(out, ks_strbuf_str(cell), cell->len);
	if (left && !last)
		ks_strbuf_printf(out, "%*s", (int)pad, "");
	ks_strbuf_puts(out, last ? "\n" : "  ");
}

static bool is_shown(const struct ks_view_table *table, size_t column)
{
	size_t row;

	if (!table->columns[column].head || !table->columns[column].if_any)
		return table->columns[column].head;
	for (row = 0; row < table->nr_rows; row++)
		if (table->cells.items[row * table->nr_columns + column].u64)
			return true;
	return false;
}

static void put_table(const struct ks_view_table *table, struct ks_strbuf *out,
		      struct ks_strbuf *scratch)
{
	size_t last = 0, row, i, width[32];
	bool shown[32];

	for (i = 0; i < table->nr_columns; i++) {
		shown[i] = is_shown(table, i);
		width[i] = shown[i] ? width_of(table, i, scratch) : 0;
		last = shown[i] ? i : last;
	}
	ks_strbuf_printf(out, "%s:\n", table->title);
	/* Row 0 is the head. */
	for (row = 0; row <= table->nr_rows; row++)
		for (i = 0; i < table->nr_columns; i++) {
			const struct ks_view_column *column = &table->columns[i];

			if (!shown[i])
				continue;
			scratch->len = 0;
			if (row)
				put_cell(scratch, column->kind,
					 &table->cells.items[(row - 1) * table->nr_columns + i]);
			else
				ks_strbuf_puts(scratch, column->head);
			put_padded(out, scratch, column->kind == KS_CELL_TEXT, width[i], i == last);
		}
	ks_strbuf_puts(out, "\n");
}

static void put_json_cell(struct ks_json *json, const struct ks_view_column *column,
			  const union ks_view_cell *cell)
{
	switch (column->kind) {
	case KS_CELL_TEXT:
		ks_json_string(json, column->name, cell->text);
		break;
	case KS_CELL_U64:
		ks_json_u64(json, column->name, cell->u64);
		break;
	case KS_CELL_S64:
		ks_json_s64(json, column->name, cell->s64);
		break;
	case KS_CELL_HEX:
		ks_json_hex(json, column->name, cell->u64);
		break;
	case KS_CELL_RATIO:
		ks_json_double(json, column->name, cell->ratio);
		break;
	}
}

/* === Public =============================================================================== */

void ks_render_view(const struct ks_view *view, struct ks_strbuf *out)
{
	struct ks_strbuf scratch;
	size_t i;

	ks_strbuf_init(&scratch);
	for (i = 0; i < view->tables.len; i++)
		put_table(view->tables.items[i], out, &scratch);
	ks_strbuf_puts(out, "the map:\n");
	for (i = 0; i < view->notes.len; i++)
		if (view->notes.items[i].value || !i)
			ks_strbuf_printf(out, "  %llu %s\n",
					 (unsigned long long)view->notes.items[i].value,
					 view->notes.items[i].text);
	out->failed |= scratch.failed || view->failed;
	ks_strbuf_deinit(&scratch);
}

void ks_render_view_json(const struct ks_view *view, struct ks_strbuf *out)
{
	struct ks_json json;
	size_t i, row, column;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", view->schema);
	for (i = 0; i < view->tables.len; i++) {
		const struct ks_view_table *table = view->tables.items[i];

		ks_json_array(&json, table->name);
		for (row = 0; row < table->nr_rows; row++) {
			ks_json_object(&json, NULL);
			for (column = 0; column < table->nr_columns; column++)
				put_json_cell(
					&json, &table->columns[column],
					&table->cells.items[row * table->nr_columns + column]);
			ks_json_end_object(&json);
		}
		ks_json_end_array(&json);
	}
	ks_json_object(&json, "map");
	for (i = 0; i < view->notes.len; i++)
		ks_json_u64(&json, view->notes.items[i].name, view->notes.items[i].value);
	ks_json_end_object(&json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
	out->failed |= view->failed;
}

void ks_render_view_csv(const struct ks_view *view, struct ks_strbuf *out)
{
	const struct ks_view_table *table = view->tables.len ? view->tables.items[0] : NULL;
	size_t row, column;

	for (column = 0; table && column < table->nr_columns; column++)
		ks_strbuf_printf(out, "%s%s", column ? "," : "", table->columns[column].name);
	ks_strbuf_puts(out, "\n");
	for (row = 0; table && row < table->nr_rows; row++)
		for (column = 0; column < table->nr_columns; column++) {
			const union ks_view_cell *cell =
				&table->cells.items[row * table->nr_columns + column];

			if (table->columns[column].kind == KS_CELL_TEXT)
				ks_escape_csv(out, cell->text, strlen(cell->text));
			else
				put_cell(out, table->columns[column].kind, cell);
			ks_strbuf_puts(out, column + 1 < table->nr_columns ? "," : "\n");
		}
	out->failed |= view->failed;
}
