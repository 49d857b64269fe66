// SPDX-License-Identifier: LGPL-2.1-only
/* An access map in the data of the HTML report: its tables by column, and its notes. */
#include "report/html.h"

void ks_html_kmap(const void *part, struct ks_json *json)
{
	const struct ks_html_kmap *kmap = part;
	const struct ks_doc *doc = kmap->doc;
	size_t i;

	ks_json_break(json);
	ks_json_object(json, "kmap");
	ks_json_string(json, "name", kmap->name);
	for (i = 0; i < doc->parts.len; i++) {
		const struct ks_part *table = &doc->parts.items[i];

		if (table->kind != KS_PART_TABLE)
			continue;
		ks_json_break(json);
		ks_render_table_page(table->value.table, table->name, json);
	}
	ks_json_break(json);
	ks_json_array(json, "notes");
	for (i = 0; i < doc->parts.len; i++) {
		const struct ks_part *note = &doc->parts.items[i];

		if (note->kind != KS_PART_NOTE)
			continue;
		ks_json_object(json, NULL);
		ks_json_string(json, "name", note->name);
		ks_json_u64(json, "value", note->value.u64);
		ks_json_string(json, "text", note->text);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
	ks_json_end_object(json);
	json->out->failed |= ks_doc_failed(doc);
}
