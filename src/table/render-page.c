// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Tables as the page of the HTML report wants them: column by column, since the names of columns would
 * be most of the text if they stood in every row.
 */
#include "table/render.h"

/* === Internals ============================================================================ */

static void put_cell(const struct ks_table *table, size_t row, unsigned int id,
		     struct ks_json *json)
{
	const union ks_cell_value *cell = ks_table_cell(table, row, id);
	enum ks_cell_kind kind = table->columns[id].kind;

	if (kind == KS_CELL_TEXT)
		ks_json_string(json, NULL, cell->text ? cell->text : "");
	else if (kind == KS_CELL_S64)
		ks_json_s64(json, NULL, cell->s64);
	else if (kind == KS_CELL_DOUBLE)
		ks_json_double(json, NULL, cell->number);
	else
		ks_json_u64(json, NULL, cell->u64);
}

/* === Public =============================================================================== */

void ks_render_table_page(const struct ks_table *table, const char *key, struct ks_json *json)
{
	size_t i, row;

	ks_json_object(json, key);
	ks_json_u64(json, "rows", table->nr_rows);
	for (i = 0; i < ks_table_selected_len(table, KS_FORM_JSON); i++) {
		unsigned int id = ks_table_selected(table, KS_FORM_JSON, i);
		const char *name = table->columns[id].name;

		ks_json_break(json);
		if (ks_table_is_zero(table, id)) {
			ks_json_u64(json, name, 0);
			continue;
		}
		ks_json_array(json, name);
		for (row = 0; row < table->nr_rows; row++)
			put_cell(table, row, id, json);
		ks_json_end_array(json);
	}
	ks_json_end_object(json);
	json->out->failed |= table->failed;
}
