// SPDX-License-Identifier: LGPL-2.1-only
/* Tables of a document as HTML, for pages without scripts. */
#include <string.h>

#include "base/escape.h"
#include "table/render.h"

/* === Internals ============================================================================ */

static void put_cell(const struct ks_table *table, size_t row, unsigned int id,
		     struct ks_strbuf *out)
{
	bool number = table->columns[id].kind != KS_CELL_TEXT;
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_render_cell(table, row, id, &text);
	ks_strbuf_puts(out, number ? "<td class=n>" : "<td>");
	ks_escape_xml(out, ks_strbuf_str(&text), text.len);
	ks_strbuf_puts(out, "</td>");
	out->failed |= text.failed;
	ks_strbuf_deinit(&text);
}

/* === Public =============================================================================== */

void ks_render_table_html(const struct ks_table *table, struct ks_strbuf *out)
{
	size_t columns = ks_table_selected_len(table, KS_FORM_TEXT), row, i;

	ks_strbuf_puts(out, "<table>\n<tr>");
	for (i = 0; i < columns; i++) {
		const char *head = table->columns[ks_table_selected(table, KS_FORM_TEXT, i)].head;

		ks_strbuf_puts(out, "<th>");
		ks_escape_xml(out, head, strlen(head));
		ks_strbuf_puts(out, "</th>");
	}
	ks_strbuf_puts(out, "</tr>\n");
	for (row = 0; row < ks_table_len(table); row++) {
		ks_strbuf_puts(out, "<tr>");
		for (i = 0; i < columns; i++)
			put_cell(table, row, ks_table_selected(table, KS_FORM_TEXT, i), out);
		ks_strbuf_puts(out, "</tr>\n");
	}
	ks_strbuf_puts(out, "</table>\n");
	out->failed |= table->failed;
}
