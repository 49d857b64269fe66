// SPDX-License-Identifier: LGPL-2.1-only
/* Documents in the making. */
#include "table/doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static struct ks_part *add(struct ks_doc *doc, enum ks_part_kind kind, const char *name)
{
	struct ks_part *part = ks_vec_push(&doc->parts);

	if (!part) {
		doc->failed = true;
		return NULL;
	}
	part->kind = kind;
	part->name = name;
	part->where = doc->where;
	return part;
}

static void add_u64(struct ks_doc *doc, enum ks_part_kind kind, const char *name, u64 value)
{
	struct ks_part *part = add(doc, kind, name);

	if (part)
		part->value.u64 = value;
}

static void add_say(struct ks_doc *doc, const struct ks_strbuf *text)
{
	struct ks_part *part = add(doc, KS_PART_SAY, NULL);

	if (part)
		part->text = ks_doc_string(doc, ks_strbuf_str(text));
	doc->failed |= text->failed;
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_new(const char *schema)
{
	struct ks_doc *doc = calloc(1, sizeof(*doc));

	if (!doc)
		return NULL;
	doc->schema = schema;
	doc->note_width = 14;
	doc->where = KS_IN_BOTH;
	ks_arena_init(&doc->arena);
	return doc;
}

void ks_doc_free(struct ks_doc *doc)
{
	size_t i;

	if (!doc)
		return;
	for (i = 0; i < doc->tables.len; i++)
		ks_table_free(doc->tables.items[i]);
	ks_vec_free(&doc->tables);
	ks_vec_free(&doc->parts);
	ks_arena_deinit(&doc->arena);
	free(doc);
}

void ks_doc_show_in(struct ks_doc *doc, unsigned int where)
{
	doc->where = (u8)where;
}

void ks_doc_text(struct ks_doc *doc, const char *name, const char *value)
{
	struct ks_part *part = add(doc, KS_PART_TEXT, name);

	if (part)
		part->value.text = ks_doc_string(doc, value);
}

void ks_doc_u64(struct ks_doc *doc, const char *name, u64 value)
{
	add_u64(doc, KS_PART_U64, name, value);
}

void ks_doc_hex(struct ks_doc *doc, const char *name, u64 value)
{
	add_u64(doc, KS_PART_HEX, name, value);
}

void ks_doc_bool(struct ks_doc *doc, const char *name, bool value)
{
	add_u64(doc, KS_PART_BOOL, name, value);
}

void ks_doc_texts(struct ks_doc *doc, const char *name, const char *const *values, size_t len)
{
	struct ks_list *list =
		ks_arena_alloc(&doc->arena, sizeof(*list) + len * sizeof(list->items[0]));
	struct ks_part *part = list ? add(doc, KS_PART_TEXTS, name) : NULL;
	size_t i;

	if (!part) {
		doc->failed = true;
		return;
	}
	list->len = len;
	for (i = 0; i < len; i++)
		list->items[i].text = ks_doc_string(doc, values[i]);
	part->value.list = list;
}

void ks_doc_open(struct ks_doc *doc, const char *name)
{
	add(doc, KS_PART_OPEN, name);
}

void ks_doc_close(struct ks_doc *doc)
{
	add(doc, KS_PART_CLOSE, NULL);
}

void ks_doc_note(struct ks_doc *doc, const char *name, u64 value, const char *text, bool always)
{
	struct ks_part *part = add(doc, KS_PART_NOTE, name);

	if (!part)
		return;
	part->value.u64 = value;
	part->text = text;
	part->always = always;
}

void ks_doc_say(struct ks_doc *doc, const char *fmt, ...)
{
	struct ks_strbuf text;
	va_list ap;
	char *s = NULL;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&s, fmt, ap);
	va_end(ap);
	ks_strbuf_init(&text);
	if (len >= 0)
		ks_strbuf_add(&text, s, (size_t)len);
	add_say(doc, &text);
	doc->failed |= len < 0;
	if (len >= 0)
		free(s);
	ks_strbuf_deinit(&text);
}

void ks_doc_say_escaped(struct ks_doc *doc, const char *s)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_escape_tty(&text, s, strlen(s));
	add_say(doc, &text);
	ks_strbuf_deinit(&text);
}

void ks_doc_say_bytes(struct ks_doc *doc, unsigned int width, u64 bytes, const char *word)
{
	struct ks_part *part = add(doc, KS_PART_BYTES, NULL);

	if (!part)
		return;
	part->value.u64 = bytes;
	part->width = (u8)width;
	part->text = word;
}

void ks_doc_for_people(struct ks_doc *doc)
{
	size_t i;

	doc->people = true;
	for (i = 0; i < doc->tables.len; i++)
		doc->tables.items[i]->people = true;
}

const char *ks_doc_string(struct ks_doc *doc, const char *s)
{
	const char *text = ks_arena_strndup(&doc->arena, s, strlen(s));

	doc->failed |= !text;
	return text ? text : "";
}

struct ks_table *ks_doc_loose_table(struct ks_doc *doc, const char *name,
				    const struct ks_column *columns, size_t nr_columns)
{
	struct ks_table *table = ks_table_new(name, columns, nr_columns);
	struct ks_table **slot = table ? ks_vec_push(&doc->tables) : NULL;

	if (!slot) {
		ks_table_free(table);
		doc->failed = true;
		return NULL;
	}
	*slot = table;
	return table;
}

struct ks_table *ks_doc_table(struct ks_doc *doc, const char *name, const struct ks_column *columns,
			      size_t nr_columns)
{
	struct ks_table *table = ks_doc_loose_table(doc, name, columns, nr_columns);

	ks_doc_place(doc, table, KS_IN_BOTH);
	return table;
}

void ks_doc_place(struct ks_doc *doc, struct ks_table *table, unsigned int where)
{
	struct ks_part *part = table ? add(doc, KS_PART_TABLE, table->name) : NULL;

	if (!part)
		return;
	part->value.table = table;
	part->where &= (u8)where;
	if (!doc->main)
		doc->main = table;
}

void ks_doc_total(struct ks_doc *doc, struct ks_table *table)
{
	struct ks_part *part = table ? add(doc, KS_PART_TOTAL, NULL) : NULL;

	if (part)
		part->value.table = table;
}

bool ks_doc_failed(const struct ks_doc *doc)
{
	size_t i;

	for (i = 0; i < doc->tables.len; i++)
		if (doc->tables.items[i]->failed)
			return true;
	return doc->failed;
}
