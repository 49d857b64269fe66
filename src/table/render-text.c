// SPDX-License-Identifier: LGPL-2.1-only
/* Tables and documents for people. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/quantity.h"
#include "table/render.h"

/* === Data ================================================================================= */

/* How a table is laid out: the columns that are shown, and their widths. */
struct layout {
	const struct ks_table *table;
	unsigned int *columns;
	size_t *widths;
	size_t len;
	struct ks_strbuf raw, cell; /* scratch: a cell before and after escaping */
};

/* === Internals: cells ===================================================================== */

static void put_seconds(struct ks_strbuf *out, u64 ns)
{
	ks_strbuf_printf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

/* With a unit, if the column has one that people use. */
static bool put_quantity(enum ks_unit unit, u64 value, struct ks_strbuf *out)
{
	if (unit == KS_UNIT_BYTES)
		ks_render_bytes(out, value);
	else if (unit == KS_UNIT_OBJECTS || unit == KS_UNIT_COUNT)
		ks_render_count(out, value);
	else
		return false;
	return true;
}

static void put_change(const struct ks_table *table, size_t row, unsigned int id,
		       struct ks_strbuf *out)
{
	u64 size = ks_table_cell(table, row, id)->u64;
	bool negative = ks_table_state(table, row, id) == KS_CELL_NEGATIVE;
	struct ks_strbuf quantity;

	ks_strbuf_init(&quantity);
	if (table->people && put_quantity(table->columns[id].unit, size, &quantity))
		ks_strbuf_printf(out, "%s%s",
				 negative ? "-"
				 : size	  ? "+"
					  : "",
				 ks_strbuf_str(&quantity));
	else
		ks_render_number(table, row, id, out);
	out->failed |= quantity.failed;
	ks_strbuf_deinit(&quantity);
}

static void put_unset(const struct ks_table *table, size_t row, unsigned int id,
		      struct ks_strbuf *out)
{
	size_t len = ks_table_selected_len(table, KS_FORM_TEXT);

	if (table->columns[id].kind != KS_CELL_TEXT)
		ks_strbuf_puts(out, "-");
	else if (row == KS_TOTAL && table->total_label && len &&
		 ks_table_selected(table, KS_FORM_TEXT, len - 1) == id)
		ks_strbuf_puts(out, table->total_label);
}

/* The cell into layout->cell, escaped. Widths are those of the escaped text. */
static void format_cell(struct layout *layout, size_t row, unsigned int column)
{
	layout->raw.len = layout->cell.len = 0;
	ks_render_cell(layout->table, row, column, &layout->raw);
	ks_escape_tty(&layout->cell, ks_strbuf_str(&layout->raw), layout->raw.len);
}

/* === Internals: columns =================================================================== */

static bool is_left(const struct ks_column *column)
{
	return column->kind == KS_CELL_TEXT;
}

static size_t rows_shown(const struct ks_table *table)
{
	return table->text_rows ? ks_min(table->text_rows, table->nr_rows) : table->nr_rows;
}

/* The cells of a column have one width, so that numbers stand below each other. */
static size_t width_of(struct layout *layout, unsigned int column)
{
	const struct ks_table *table = layout->table;
	size_t row, width = ks_max(strlen(table->columns[column].head),
				   (size_t)table->columns[column].width);

	for (row = 0; row < rows_shown(table); row++) {
		format_cell(layout, row, column);
		width = ks_max(width, layout->cell.len);
	}
	if (table->has_total) {
		format_cell(layout, KS_TOTAL, column);
		width = ks_max(width, layout->cell.len);
	}
	return width;
}

static bool is_shown(const struct ks_table *table, unsigned int column)
{
	if (table->columns[column].kind == KS_CELL_TEXTS)
		return false; /* below its row */
	return !table->columns[column].if_any || !ks_table_is_zero(table, column);
}

static int layout_init(struct layout *layout, const struct ks_table *table)
{
	size_t i, all = ks_table_selected_len(table, KS_FORM_TEXT);

	*layout = (struct layout){ .table = table };
	layout->columns = calloc(all + 1, sizeof(*layout->columns));
	layout->widths = calloc(all + 1, sizeof(*layout->widths));
	if (!layout->columns || !layout->widths)
		return -ENOMEM;
	for (i = 0; i < all; i++) {
		unsigned int column = ks_table_selected(table, KS_FORM_TEXT, i);

		if (!is_shown(table, column))
			continue;
		layout->columns[layout->len] = column;
		layout->widths[layout->len++] = width_of(layout, column);
	}
	return 0;
}

static void layout_deinit(struct layout *layout)
{
	free(layout->columns);
	free(layout->widths);
	ks_strbuf_deinit(&layout->raw);
	ks_strbuf_deinit(&layout->cell);
}

/* === Internals: lines ===================================================================== */

static void put_blanks(struct ks_strbuf *out, size_t len)
{
	ks_strbuf_printf(out, "%*s", (int)len, "");
}

/* Text stands left, numbers right. The last column is not filled up, so lines end with no blank. */
static void put_padded(struct layout *layout, size_t i, struct ks_strbuf *out)
{
	const struct ks_column *column = &layout->table->columns[layout->columns[i]];
	size_t pad = layout->widths[i] - ks_min(layout->cell.len, layout->widths[i]);

	if (i)
		put_blanks(out, column->gap ? column->gap : 2);
	if (!is_left(column))
		put_blanks(out, pad);
	ks_strbuf_add(out, ks_strbuf_str(&layout->cell), layout->cell.len);
	if (is_left(column) && i + 1 < layout->len)
		put_blanks(out, pad);
}

static void put_head(struct layout *layout, struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < layout->len; i++) {
		layout->cell.len = 0;
		ks_strbuf_puts(&layout->cell, layout->table->columns[layout->columns[i]].head);
		put_padded(layout, i, out);
	}
	ks_strbuf_puts(out, "\n");
}

static void put_row(struct layout *layout, size_t row, struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < layout->len; i++) {
		format_cell(layout, row, layout->columns[i]);
		put_padded(layout, i, out);
	}
	ks_strbuf_puts(out, "\n");
}

/* Lists of strings, a line each, below their row. */
static void put_details(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	size_t i, j;

	for (i = 0; i < ks_table_selected_len(table, KS_FORM_TEXT); i++) {
		unsigned int column = ks_table_selected(table, KS_FORM_TEXT, i);
		const struct ks_list *list;

		if (table->columns[column].kind != KS_CELL_TEXTS ||
		    ks_table_state(table, row, column) == KS_CELL_UNSET)
			continue;
		list = ks_table_cell(table, row, column)->list;
		for (j = 0; list && j < list->len; j++) {
			put_blanks(out, table->columns[column].width);
			ks_escape_tty(out, list->items[j].text, strlen(list->items[j].text));
			ks_strbuf_puts(out, "\n");
		}
	}
}

static void put_more(const struct layout *layout, struct ks_strbuf *out)
{
	const struct ks_table *table = layout->table;
	u64 more = table->nr_rows - rows_shown(table) + table->left_out;

	if (!table->more || !more)
		return;
	ks_strbuf_printf(out, "%*s and %" PRIu64 " %s\n", layout->len ? (int)layout->widths[0] : 0,
			 "...", more, table->more);
}

static void put_columns(const struct ks_table *table, struct ks_strbuf *out)
{
	struct layout layout;
	size_t row;

	if (layout_init(&layout, table)) {
		out->failed = true;
	} else {
		put_head(&layout, out);
		for (row = 0; row < rows_shown(table); row++) {
			put_row(&layout, row, out);
			put_details(table, row, out);
		}
		put_more(&layout, out);
		if (table->has_total)
			put_row(&layout, KS_TOTAL, out);
	}
	out->failed |= layout.raw.failed || layout.cell.failed;
	layout_deinit(&layout);
}

static void put_note(const struct ks_doc *doc, const struct ks_part *note, struct ks_strbuf *out)
{
	if (!note->value.u64 && !note->always)
		return;
	ks_strbuf_printf(out, "%s%*" PRIu64 " %s\n", doc->note_width ? "" : "  ", doc->note_width,
			 note->value.u64, note->text);
}

static void put_bytes(const struct ks_doc *doc, const struct ks_part *part, struct ks_strbuf *out)
{
	struct ks_strbuf number;

	ks_strbuf_init(&number);
	ks_render_amount(doc->people, part->value.u64, &number);
	ks_strbuf_printf(out, "%*s%s", (int)part->width, ks_strbuf_str(&number),
			 doc->people ? "" : part->text);
	out->failed |= number.failed;
	ks_strbuf_deinit(&number);
}

/* === Public =============================================================================== */

void ks_render_cell(const struct ks_table *table, size_t row, unsigned int id,
		    struct ks_strbuf *out)
{
	const struct ks_column *column = &table->columns[id];
	const union ks_cell_value *cell = ks_table_cell(table, row, id);

	if (column->show) {
		column->show(table, row, id, out);
		return;
	}
	if (ks_table_state(table, row, id) == KS_CELL_UNSET) {
		put_unset(table, row, id, out);
		return;
	}
	switch (column->kind) {
	case KS_CELL_TEXT:
		ks_strbuf_puts(out, cell->text);
		break;
	case KS_CELL_U64:
	case KS_CELL_U32:
		if (column->unit == KS_UNIT_NS)
			put_seconds(out, cell->u64);
		else if (!table->people || column->exact ||
			 !put_quantity(column->unit, cell->u64, out))
			ks_render_number(table, row, id, out);
		break;
	case KS_CELL_CHANGE:
		put_change(table, row, id, out);
		break;
	case KS_CELL_S64:
	case KS_CELL_HEX:
	case KS_CELL_DOUBLE:
		ks_render_number(table, row, id, out);
		break;
	case KS_CELL_BOOL:
		ks_strbuf_puts(out, cell->u64 ? "yes" : "no");
		break;
	case KS_CELL_SHARE:
		ks_strbuf_printf(out, "%" PRIu64 "%%", cell->u64 / 100);
		break;
	case KS_CELL_TEXTS: /* below the row */
	case KS_CELL_U64S:
	case KS_CELL_TABLE:
	case KS_CELL_KINDS:
		break;
	}
}

void ks_render_amount(bool people, u64 bytes, struct ks_strbuf *out)
{
	if (people)
		ks_render_bytes(out, bytes);
	else
		ks_strbuf_printf(out, "%" PRIu64, bytes);
}

void ks_render_table(const struct ks_table *table, struct ks_strbuf *out)
{
	size_t row;

	if (table->title)
		ks_strbuf_printf(out, "%s:\n", table->title);
	for (row = 0; table->say && row < rows_shown(table); row++)
		table->say(table, row, out);
	if (!table->say)
		put_columns(table, out);
	if (table->title)
		ks_strbuf_puts(out, "\n");
	out->failed |= table->failed;
}

void ks_render_doc(const struct ks_doc *doc, struct ks_strbuf *out)
{
	size_t i;

	for (i = 0; i < doc->parts.len; i++) {
		const struct ks_part *part = &doc->parts.items[i];

		if (!(part->where & (KS_IN_TEXT | (doc->detailed ? KS_IN_DETAIL : KS_IN_BRIEF))))
			continue;
		if (part->kind == KS_PART_TABLE)
			ks_render_table(part->value.table, out);
		else if (part->kind == KS_PART_NOTE)
			put_note(doc, part, out);
		else if (part->kind == KS_PART_BYTES)
			put_bytes(doc, part, out);
		else if (part->kind == KS_PART_SAY)
			ks_strbuf_puts(out, part->text);
	}
	out->failed |= ks_doc_failed(doc);
}
