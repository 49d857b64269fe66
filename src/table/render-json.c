// SPDX-License-Identifier: LGPL-2.1-only
/* Tables and documents as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/digits.h"
#include "base/escape.h"
#include "table/render.h"
#include "table/sink.h"

/* === Data ================================================================================= */

struct json_sink {
	struct ks_sink sink;
	struct ks_json *json;
	struct ks_words words;
	struct ks_strbuf *names; /* as they stand before a cell */
};

/* === Internals: cells ===================================================================== */

static void put_share(struct ks_json *json, const char *key, u64 value)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_strbuf_printf(&text, "%" PRIu64 ".%04" PRIu64, value / 10000, value % 10000);
	ks_json_raw(json, key, &text);
	ks_strbuf_deinit(&text);
}

/* JSON has numbers of any size, C has none that holds this one with its sign. */
static void put_change(struct ks_json *json, const char *key, u64 value, bool negative)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_strbuf_printf(&text, "%s%" PRIu64, negative ? "-" : "", value);
	ks_json_raw(json, key, &text);
	ks_strbuf_deinit(&text);
}

static void put_list(struct ks_json *json, const char *key, const struct ks_list *list, bool texts)
{
	size_t i;

	ks_json_array(json, key);
	for (i = 0; list && i < list->len; i++)
		if (texts)
			ks_json_string(json, NULL, list->items[i].text);
		else
			ks_json_u64(json, NULL, list->items[i].u64);
	ks_json_end_array(json);
}

static void put_cell(struct ks_json *json, const struct ks_table *table, size_t row,
		     unsigned int id)
{
	const struct ks_column *column = &table->columns[id];
	const union ks_cell_value *cell = ks_table_cell(table, row, id);
	bool negative = ks_table_state(table, row, id) == KS_CELL_NEGATIVE;

	switch (column->kind) {
	case KS_CELL_TEXT:
		ks_json_string(json, column->name, cell->text);
		break;
	case KS_CELL_U64:
	case KS_CELL_U32:
		ks_json_u64(json, column->name, cell->u64);
		break;
	case KS_CELL_S64:
		ks_json_s64(json, column->name, cell->s64);
		break;
	case KS_CELL_HEX:
		ks_json_hex(json, column->name, cell->u64);
		break;
	case KS_CELL_BOOL:
		ks_json_bool(json, column->name, cell->u64);
		break;
	case KS_CELL_DOUBLE:
		ks_json_double(json, column->name, cell->number);
		break;
	case KS_CELL_SHARE:
		put_share(json, column->name, cell->u64);
		break;
	case KS_CELL_CHANGE:
		put_change(json, column->name, cell->u64, negative);
		break;
	case KS_CELL_TEXTS:
	case KS_CELL_U64S:
		put_list(json, column->name, cell->list, column->kind == KS_CELL_TEXTS);
		break;
	case KS_CELL_TABLE:
		ks_render_table_json(cell->table, column->name, json);
		break;
	case KS_CELL_KINDS:
		break;
	}
}

/* A cell that is not set is no member; but programs may rely on a share, so that is null. */
static bool is_member(const struct ks_table *table, size_t row, unsigned int id)
{
	return ks_table_state(table, row, id) != KS_CELL_UNSET ||
	       (table->columns[id].kind == KS_CELL_SHARE && !table->columns[id].optional);
}

/* === Internals: rows ====================================================================== */

static bool same_object(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* The members of a row. Columns of one object stand side by side; an object without any is left out. */
static void put_members(struct ks_json *json, const struct ks_table *table, size_t row)
{
	const char *open = NULL;
	size_t i;

	for (i = 0; i < ks_table_selected_len(table, KS_FORM_JSON); i++) {
		unsigned int id = ks_table_selected(table, KS_FORM_JSON, i);
		const struct ks_column *column = &table->columns[id];

		if (!is_member(table, row, id))
			continue;
		if (!same_object(open, column->object)) {
			if (open)
				ks_json_end_object(json);
			if (column->object)
				ks_json_object(json, column->object);
			open = column->object;
		}
		if (ks_table_state(table, row, id) == KS_CELL_UNSET)
			ks_json_null(json, column->name);
		else
			put_cell(json, table, row, id);
	}
	if (open)
		ks_json_end_object(json);
}

static void put_part(struct ks_json *json, const struct ks_part *part)
{
	switch (part->kind) {
	case KS_PART_TEXT:
		ks_json_string(json, part->name, part->value.text);
		break;
	case KS_PART_U64:
	case KS_PART_NOTE:
		ks_json_u64(json, part->name, part->value.u64);
		break;
	case KS_PART_HEX:
		ks_json_hex(json, part->name, part->value.u64);
		break;
	case KS_PART_BOOL:
		ks_json_bool(json, part->name, part->value.u64);
		break;
	case KS_PART_TEXTS:
		put_list(json, part->name, part->value.list, true);
		break;
	case KS_PART_OPEN:
		ks_json_object(json, part->name);
		break;
	case KS_PART_CLOSE:
		ks_json_end_object(json);
		break;
	case KS_PART_TOTAL:
		put_members(json, part->value.table, KS_TOTAL);
		break;
	case KS_PART_TABLE:
		ks_render_table_json(part->value.table, part->name, json);
		break;
	case KS_PART_SAY:
	case KS_PART_BYTES:
		break;
	}
}

/* === Internals: rows as they come ========================================================= */

/* ', "name": ', or with a quote behind it; the first member of a row lacks the comma. */
enum { COMMA = 2 };

static bool is_quoted(const struct ks_column *column)
{
	return column->kind == KS_CELL_TEXT || column->kind == KS_CELL_HEX;
}

static void json_row(struct ks_sink *sink, const struct ks_value *values)
{
	struct json_sink *x = (struct json_sink *)sink;
	struct ks_strbuf *out = x->json->out;
	size_t i, skip = COMMA;
	char *to;

	ks_json_next(x->json);
	to = ks_words_reserve(&x->words, out, values);
	if (!to)
		return;
	*to++ = '{';
	for (i = 0; i < sink->nr_columns; i++) {
		const struct ks_column *column = &sink->columns[i];
		const struct ks_strbuf *name = &x->names[i];

		if (!values[i].set)
			continue;
		to = ks_copy_word(to, name->s + skip, name->len - skip);
		skip = 0;
		if (column->kind == KS_CELL_TEXT)
			to = ks_words_put(&x->words, (unsigned int)i, values[i].key, to);
		else if (column->kind == KS_CELL_HEX)
			to = ks_put_hex(to, values[i].number);
		else
			to = ks_put_decimal(to, values[i].number);
		if (is_quoted(column))
			*to++ = '"';
	}
	*to++ = '}';
	*to = '\0';
	out->len = (size_t)(to - out->s);
}

static void json_end(struct ks_sink *sink)
{
	(void)sink;
}

static void json_free(struct ks_sink *sink)
{
	struct json_sink *x = (struct json_sink *)sink;
	size_t i;

	for (i = 0; x->names && i < sink->nr_columns; i++)
		ks_strbuf_deinit(&x->names[i]);
	free(x->names);
	ks_words_deinit(&x->words);
	free(x);
}

static int name_members(struct json_sink *x)
{
	static const char room[KS_WORD_COPY];
	bool failed = false;
	size_t i;

	for (i = 0; i < x->sink.nr_columns; i++) {
		struct ks_strbuf *name = &x->names[i];

		ks_strbuf_printf(name, ", \"%s\": %s", x->sink.columns[i].name,
				 is_quoted(&x->sink.columns[i]) ? "\"" : "");
		ks_strbuf_add(name, room, sizeof(room));
		name->len -= name->failed ? 0 : sizeof(room);
		x->words.extra += name->len;
		failed |= name->failed;
	}
	return failed ? -ENOMEM : 0;
}

/* === Public =============================================================================== */

void ks_render_table_json(const struct ks_table *table, const char *key, struct ks_json *json)
{
	size_t row;

	ks_json_array(json, key);
	for (row = 0; row < table->nr_rows; row++) {
		ks_json_object(json, NULL);
		put_members(json, table, row);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
	json->out->failed |= table->failed;
}

void ks_render_members_json(const struct ks_doc *doc, struct ks_json *json)
{
	size_t i;

	for (i = 0; i < doc->parts.len; i++)
		if (doc->parts.items[i].where & KS_IN_JSON)
			put_part(json, &doc->parts.items[i]);
	json->out->failed |= ks_doc_failed(doc);
}

void ks_render_doc_json(const struct ks_doc *doc, struct ks_strbuf *out)
{
	struct ks_json json;

	ks_json_init(&json, out, KS_JSON_INDENTED);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", doc->schema);
	ks_render_members_json(doc, &json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}

struct ks_sink *ks_json_sink_new(const struct ks_column *columns, size_t nr_columns,
				 struct ks_json *json)
{
	static const struct ks_sink_ops ops = { .row = json_row,
						.end = json_end,
						.free = json_free };
	struct json_sink *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->sink = (struct ks_sink){ &ops, columns, nr_columns, &x->words };
	x->json = json;
	x->names = calloc(nr_columns + 1, sizeof(*x->names));
	if (!x->names || ks_words_init(&x->words, columns, nr_columns, ks_escape_json) ||
	    name_members(x)) {
		json_free(&x->sink);
		return NULL;
	}
	return &x->sink;
}
