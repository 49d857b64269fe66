// SPDX-License-Identifier: LGPL-2.1-only
/* Tables as CSV, whole or row by row as they come. */
#include <inttypes.h>
#include <string.h>

#include "base/digits.h"
#include "base/escape.h"
#include "table/render.h"
#include "table/sink.h"

/* === Data ================================================================================= */

struct csv_sink {
	struct ks_sink sink;
	struct ks_strbuf *out;
	struct ks_words words; /* texts as they are written */
};

/* === Internals: tables ==================================================================== */

static const char *flat_name(const struct ks_column *column)
{
	return column->flat ? column->flat : column->name;
}

/* Names may come from a capture, as those of the groups of a timeline do. */
static void put_head(struct ks_strbuf *out, size_t i, const struct ks_column *column)
{
	const char *name = flat_name(column);

	if (i)
		ks_strbuf_puts(out, ",");
	ks_escape_csv(out, name, strlen(name));
}

/* A number that is not set is 0, except where a column may hold nothing, or 0 is not the same. */
static bool is_nothing(const struct ks_column *column, enum ks_cell_state state)
{
	return state == KS_CELL_UNSET && (column->optional || column->kind == KS_CELL_SHARE ||
					  column->kind == KS_CELL_DOUBLE);
}

static void put_cell(const struct ks_table *table, size_t row, unsigned int id,
		     struct ks_strbuf *out)
{
	const struct ks_column *column = &table->columns[id];
	const union ks_cell_value *cell = ks_table_cell(table, row, id);

	if (is_nothing(column, ks_table_state(table, row, id)))
		return;
	switch (column->kind) {
	case KS_CELL_TEXT:
		if (cell->text)
			ks_escape_csv(out, cell->text, strlen(cell->text));
		break;
	case KS_CELL_U64:
	case KS_CELL_U32:
	case KS_CELL_S64:
	case KS_CELL_HEX:
	case KS_CELL_DOUBLE:
	case KS_CELL_CHANGE:
		ks_render_number(table, row, id, out);
		break;
	case KS_CELL_BOOL:
		ks_strbuf_puts(out, cell->u64 ? "true" : "false");
		break;
	case KS_CELL_SHARE:
		ks_strbuf_printf(out, "%" PRIu64 ".%04" PRIu64, cell->u64 / 10000,
				 cell->u64 % 10000);
		break;
	case KS_CELL_TEXTS: /* a cell has no room for a list */
	case KS_CELL_U64S:
	case KS_CELL_TABLE:
	case KS_CELL_KINDS:
		break;
	}
}

/* === Internals: rows as they come ========================================================= */

static void csv_row(struct ks_sink *sink, const struct ks_value *values)
{
	struct csv_sink *csv = (struct csv_sink *)sink;
	char *to = ks_words_reserve(&csv->words, csv->out, values);
	size_t i;

	if (!to)
		return;
	for (i = 0; i < sink->nr_columns; i++) {
		const struct ks_value *value = &values[i];

		if (i)
			*to++ = ',';
		if (!value->set)
			continue;
		if (sink->columns[i].kind == KS_CELL_TEXT)
			to = ks_words_put(&csv->words, (unsigned int)i, value->key, to);
		else if (sink->columns[i].kind == KS_CELL_HEX)
			to = ks_put_hex(to, value->number);
		else
			to = ks_put_decimal(to, value->number);
	}
	*to++ = '\n';
	*to = '\0';
	csv->out->len = (size_t)(to - csv->out->s);
}

static void csv_end(struct ks_sink *sink)
{
	(void)sink;
}

static void csv_free(struct ks_sink *sink)
{
	struct csv_sink *csv = (struct csv_sink *)sink;

	ks_words_deinit(&csv->words);
	free(csv);
}

/* === Public =============================================================================== */

void ks_render_table_csv(const struct ks_table *table, struct ks_strbuf *out)
{
	size_t i, row, len = ks_table_selected_len(table, KS_FORM_CSV);

	for (i = 0; i < len; i++)
		put_head(out, i, &table->columns[ks_table_selected(table, KS_FORM_CSV, i)]);
	ks_strbuf_puts(out, "\n");
	for (row = 0; row < table->nr_rows; row++) {
		for (i = 0; i < len; i++) {
			if (i)
				ks_strbuf_puts(out, ",");
			put_cell(table, row, ks_table_selected(table, KS_FORM_CSV, i), out);
		}
		ks_strbuf_puts(out, "\n");
	}
	out->failed |= table->failed;
}

void ks_render_doc_csv(const struct ks_doc *doc, struct ks_strbuf *out)
{
	if (doc->main)
		ks_render_table_csv(doc->main, out);
	else
		ks_strbuf_puts(out, "\n");
	out->failed |= ks_doc_failed(doc);
}

struct ks_sink *ks_csv_sink_new(const struct ks_column *columns, size_t nr_columns,
				struct ks_strbuf *out)
{
	static const struct ks_sink_ops ops = { .row = csv_row, .end = csv_end, .free = csv_free };
	struct csv_sink *csv = calloc(1, sizeof(*csv));
	size_t i;

	if (!csv)
		return NULL;
	csv->sink = (struct ks_sink){ &ops, columns, nr_columns, &csv->words };
	csv->out = out;
	if (ks_words_init(&csv->words, columns, nr_columns, ks_escape_csv)) {
		free(csv);
		return NULL;
	}
	for (i = 0; i < nr_columns; i++)
		put_head(out, i, &columns[i]);
	ks_strbuf_puts(out, "\n");
	return &csv->sink;
}
