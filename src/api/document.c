// SPDX-License-Identifier: LGPL-2.1-only
/* Documents: shared by whoever has them, asked for tables and values, rendered in any form. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

/* === Data ================================================================================= */

struct ks_document {
	struct ks_doc *doc;
	atomic_uint holders; /* who free it: those that have it, and streams over its tables */
};

enum { NAME_MAX_LEN = 256 }; /* of a value with the objects that it is in */

/* === Internals ============================================================================ */

/* The value of that name, where the names of the objects that it is in stand before it. */
static const struct ks_part *find_value(const struct ks_doc *doc, const char *name)
{
	char path[NAME_MAX_LEN] = "";
	size_t i, len = 0, start;

	for (i = 0; i < doc->parts.len; i++) {
		const struct ks_part *part = &doc->parts.items[i];

		if (part->kind == KS_PART_CLOSE) {
			while (len && path[--len] != '.')
				;
			path[len] = '\0';
			continue;
		}
		if (!part->name || part->kind == KS_PART_TABLE)
			continue;
		start = len;
		len += (size_t)snprintf(path + len, sizeof(path) - len, "%s%s", len ? "." : "",
					part->name);
		if (len >= sizeof(path))
			return NULL;
		if (part->kind == KS_PART_OPEN)
			continue;
		if (!strcmp(path, name))
			return part;
		len = start;
		path[len] = '\0';
	}
	return NULL;
}

static const struct ks_table *placed(const struct ks_doc *doc, size_t number)
{
	size_t i;

	for (i = 0; i < doc->parts.len; i++)
		if (doc->parts.items[i].kind == KS_PART_TABLE && !number--)
			return doc->parts.items[i].value.table;
	return NULL;
}

static void render_parquet(const struct ks_doc *doc, struct ks_strbuf *out)
{
	if (doc->main)
		ks_render_table_parquet(doc->main, out);
}

static const struct {
	const char *name;
	void (*render)(const struct ks_doc *doc, struct ks_strbuf *out);
} forms[] = {
	{ "text", ks_render_doc },     { "json", ks_render_doc_json },
	{ "csv", ks_render_doc_csv },  { "markdown", ks_render_doc_markdown },
	{ "parquet", render_parquet },
};

/* === Interface ============================================================================ */

int ks_api_document(struct ks_doc *doc, struct ks_document **ret_document, struct ks_diag *diag)
{
	struct ks_document *document = NULL;

	if (doc && !ks_doc_failed(doc))
		document = calloc(1, sizeof(*document));
	if (!document) {
		ks_doc_free(doc);
		return ks_diag_nomem(diag, "making a document");
	}
	document->doc = doc;
	atomic_init(&document->holders, 1);
	*ret_document = document;
	return 0;
}

void ks_api_document_keep(const struct ks_document *document)
{
	/* The number of holders is no part of what a caller knows to be constant. */
	atomic_fetch_add(&((struct ks_document *)document)->holders, 1);
}

bool ks_api_document_has(const struct ks_document *document, const struct ks_table *table)
{
	size_t i;

	for (i = 0; i < document->doc->tables.len; i++)
		if (document->doc->tables.items[i] == table)
			return true;
	return false;
}

/* === Public =============================================================================== */

void ks_document_free(struct ks_document *document)
{
	/* Who is the last sees all that the others did. */
	if (!document || atomic_fetch_sub(&document->holders, 1) != 1)
		return;
	ks_doc_free(document->doc);
	free(document);
}

const char *ks_document_schema(const struct ks_document *document)
{
	return document->doc->schema;
}

const struct ks_table *ks_document_table(const struct ks_document *document, size_t number)
{
	return placed(document->doc, number);
}

const struct ks_table *ks_document_main(const struct ks_document *document)
{
	return document->doc->main;
}

const struct ks_table *ks_document_find(const struct ks_document *document, const char *name)
{
	const struct ks_table *table;
	size_t i;

	for (i = 0; (table = placed(document->doc, i)); i++)
		if (!strcmp(ks_table_name(table), name))
			return table;
	return NULL;
}

int ks_document_number(const struct ks_document *document, const char *name, uint64_t *ret_number)
{
	const struct ks_part *part = find_value(document->doc, name);

	if (!part || (part->kind != KS_PART_U64 && part->kind != KS_PART_HEX &&
		      part->kind != KS_PART_BOOL && part->kind != KS_PART_NOTE))
		return 0;
	*ret_number = part->value.u64;
	return 1;
}

const char *ks_document_text(const struct ks_document *document, const char *name)
{
	const struct ks_part *part = find_value(document->doc, name);

	return part && part->kind == KS_PART_TEXT ? part->value.text : NULL;
}

int ks_document_render(const struct ks_document *document, const char *form, char **ret_bytes,
		       size_t *ret_len, struct ks_diag *diag)
{
	struct ks_strbuf out;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++)
		if (!strcmp(form, forms[i].name))
			break;
	if (i == ARRAY_SIZE(forms))
		return ks_diag_set(diag, -EINVAL,
				   "form '%s': choose one of text json csv markdown parquet", form);
	ks_strbuf_init(&out);
	forms[i].render(document->doc, &out);
	ks_strbuf_add(&out, "", 0);
	if (!out.failed && !out.s)
		out.s = calloc(1, 1);
	if (out.failed || !out.s) {
		ks_strbuf_deinit(&out);
		return ks_diag_nomem(diag, "rendering a document");
	}
	*ret_bytes = out.s;
	*ret_len = out.len;
	return 0;
}
