// SPDX-License-Identifier: LGPL-2.1-only
/* Tables in Markdown, as forges show them below a test run or in a comment. */
#include <string.h>

#include "base/escape.h"
#include "table/render.h"

/* === Internals ============================================================================ */

/* Nothing in a cell may end it, begin markup, or become HTML. */
static void put_escaped(const char *s, struct ks_strbuf *out)
{
	static const char special[] = "\\|`*_{}[]<>#!&~$@";
	struct ks_strbuf safe;
	size_t i;

	ks_strbuf_init(&safe);
	ks_escape_tty(&safe, s, strlen(s));
	for (i = 0; i < safe.len; i++) {
		if (strchr(special, safe.s[i]))
			ks_strbuf_puts(out, "\\");
		ks_strbuf_add(out, &safe.s[i], 1);
	}
	out->failed |= safe.failed;
	ks_strbuf_deinit(&safe);
}

/* Lists have no cell of their own in a line. */
static bool is_shown(const struct ks_column *column)
{
	return column->kind != KS_CELL_TEXTS && column->kind != KS_CELL_U64S &&
	       column->kind != KS_CELL_TABLE;
}

static void put_row(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	struct ks_strbuf cell;
	size_t i;

	ks_strbuf_init(&cell);
	for (i = 0; i < ks_table_selected_len(table, KS_FORM_TEXT); i++) {
		unsigned int column = ks_table_selected(table, KS_FORM_TEXT, i);

		if (!is_shown(&table->columns[column]))
			continue;
		cell.len = 0;
		ks_render_cell(table, row, column, &cell);
		ks_strbuf_puts(out, "| ");
		put_escaped(cell.len ? ks_strbuf_str(&cell) : "", out);
		ks_strbuf_puts(out, " ");
	}
	ks_strbuf_puts(out, "|\n");
	out->failed |= cell.failed;
	ks_strbuf_deinit(&cell);
}

static void put_head(const struct ks_table *table, struct ks_strbuf *out)
{
	size_t i, len = ks_table_selected_len(table, KS_FORM_TEXT);
	int rule;

	for (rule = 0; rule < 2; rule++) {
		for (i = 0; i < len; i++) {
			const struct ks_column *column =
				&table->columns[ks_table_selected(table, KS_FORM_TEXT, i)];

			if (!is_shown(column))
				continue;
			ks_strbuf_puts(out, "| ");
			if (!rule)
				put_escaped(column->head, out);
			else
				ks_strbuf_puts(out, column->kind == KS_CELL_TEXT ? "---" : "---:");
			ks_strbuf_puts(out, " ");
		}
		ks_strbuf_puts(out, "|\n");
	}
}

/* === Public =============================================================================== */

void ks_render_table_markdown(const struct ks_table *table, struct ks_strbuf *out)
{
	size_t row, len = ks_table_len(table);

	if (table->text_rows)
		len = ks_min(len, table->text_rows);
	put_head(table, out);
	for (row = 0; row < len; row++)
		put_row(table, row, out);
	if (table->has_total)
		put_row(table, KS_TOTAL, out);
	out->failed |= table->failed;
}

void ks_render_doc_markdown(const struct ks_doc *doc, struct ks_strbuf *out)
{
	size_t i;

	if (doc->headline) {
		ks_strbuf_puts(out, "**");
		put_escaped(doc->headline, out);
		ks_strbuf_puts(out, "**\n");
	}
	/* Where text leaves the table out, so does Markdown. */
	for (i = 0; i < doc->parts.len; i++) {
		const struct ks_part *part = &doc->parts.items[i];

		if (part->kind != KS_PART_TABLE || part->value.table != doc->main ||
		    !(part->where & KS_IN_TEXT))
			continue;
		if (doc->headline)
			ks_strbuf_puts(out, "\n");
		ks_render_table_markdown(doc->main, out);
	}
	out->failed |= ks_doc_failed(doc);
}
