// SPDX-License-Identifier: LGPL-2.1-only
/* A document in the data of the HTML report: its values, its tables by column, and its notes. */
#include "report/html.h"

/* === Internals ============================================================================ */

static void put_value(const struct ks_part *part, struct ks_json *json)
{
	switch (part->kind) {
	case KS_PART_TEXT:
		ks_json_string(json, part->name, part->value.text);
		break;
	case KS_PART_U64:
		ks_json_u64(json, part->name, part->value.u64);
		break;
	case KS_PART_BOOL:
		ks_json_bool(json, part->name, part->value.u64);
		break;
	default:
		break;
	}
}

static void put_notes(const struct ks_doc *doc, struct ks_json *json)
{
	size_t i;

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
}

/* === Public =============================================================================== */

void ks_html_tables(const void *part, struct ks_json *json)
{
	const struct ks_html_tables *tables = part;
	const struct ks_doc *doc = tables->doc;
	size_t i;

	ks_json_break(json);
	ks_json_object(json, tables->member);
	ks_json_string(json, "name", tables->name);
	for (i = 0; i < doc->parts.len; i++)
		put_value(&doc->parts.items[i], json);
	for (i = 0; i < doc->parts.len; i++) {
		const struct ks_part *table = &doc->parts.items[i];

		if (table->kind != KS_PART_TABLE)
			continue;
		ks_json_break(json);
		ks_render_table_page(table->value.table, table->name, json);
	}
	put_notes(doc, json);
	ks_json_end_object(json);
	json->out->failed |= ks_doc_failed(doc);
}
