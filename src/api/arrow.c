// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Tables as a stream of the Arrow C data interface. Rows of a table lie side by side and Arrow
 * wants columns, so each batch is copied once, here; whoever takes it copies nothing. All that a
 * child array or schema points to is its own, since consumers may move it out of its parent.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kmemscope/arrow.h>

#include "api/api.h"
#include "base/escape.h"

/* === Data ================================================================================= */

enum { BATCH = 65536, BUFFERS = 3 };

struct stream {
	struct ks_document *document;
	const struct ks_table *table;
	size_t row; /* the first of the next batch */
	size_t nr_columns;
	size_t *columns; /* as the caller of ks_table_*() numbers them */
	char error[64];
};

/* What belongs to an array, behind which are its children and the pointers to them. */
struct array_parts {
	const void *buffers[BUFFERS];
	struct ArrowArray **pointers;
	struct ArrowArray children[];
};

struct schema_parts {
	struct ArrowSchema **pointers;
	char *name, *metadata;
	struct ArrowSchema children[];
};

/* === Internals: schemas =================================================================== */

static void release_schema(struct ArrowSchema *schema)
{
	struct schema_parts *parts = schema->private_data;
	int64_t i;

	for (i = 0; i < schema->n_children; i++)
		if (schema->children[i]->release)
			schema->children[i]->release(schema->children[i]);
	free(parts->pointers);
	free(parts->name);
	free(parts->metadata);
	free(parts);
	schema->release = NULL;
}

/*
 * Metadata as the interface has it: a number of pairs, and for each the length and the bytes of
 * both.
 */
static char *unit_metadata(const char *unit)
{
	static const char key[] = "unit";
	int32_t pairs = 1, key_len = sizeof(key) - 1, len = (int32_t)strlen(unit);
	char *metadata = malloc(3 * sizeof(int32_t) + (size_t)key_len + (size_t)len),
	     *to = metadata;

	if (!metadata)
		return NULL;
	memcpy(to, &pairs, sizeof(pairs));
	to += sizeof(pairs);
	memcpy(to, &key_len, sizeof(key_len));
	to += sizeof(key_len);
	memcpy(to, key, (size_t)key_len);
	to += key_len;
	memcpy(to, &len, sizeof(len));
	memcpy(to + sizeof(len), unit, (size_t)len);
	return metadata;
}

static int new_schema(struct ArrowSchema *schema, const char *format, const char *name,
		      const char *unit, size_t children)
{
	struct schema_parts *parts =
		calloc(1, sizeof(*parts) + children * sizeof(parts->children[0]));
	size_t i;

	if (!parts)
		return ENOMEM;
	*schema = (struct ArrowSchema){
		.format = format,
		.flags = ARROW_FLAG_NULLABLE,
		.release = release_schema,
		.private_data = parts,
	};
	parts->pointers = calloc(children + 1, sizeof(struct ArrowSchema *));
	parts->name = strdup(name);
	parts->metadata = unit ? unit_metadata(unit) : NULL;
	if (!parts->pointers || !parts->name || (unit && !parts->metadata)) {
		release_schema(schema);
		return ENOMEM;
	}
	for (i = 0; i < children; i++)
		parts->pointers[i] = &parts->children[i];
	schema->children = parts->pointers;
	schema->n_children = (int64_t)children;
	schema->name = parts->name;
	schema->metadata = parts->metadata;
	return 0;
}

static int column_schema(const struct ks_table *table, size_t column, struct ArrowSchema *schema)
{
	static const char *const formats[] = {
		[KS_TYPE_TEXT] = "u",	[KS_TYPE_U64] = "L",  [KS_TYPE_S64] = "l",
		[KS_TYPE_DOUBLE] = "g", [KS_TYPE_BOOL] = "b", [KS_TYPE_TEXTS] = "+l",
		[KS_TYPE_U64S] = "+l",
	};
	int type = ks_table_column_type(table, column);
	bool list = type == KS_TYPE_TEXTS || type == KS_TYPE_U64S;
	int err = new_schema(schema, formats[type], ks_table_column_name(table, column),
			     ks_table_column_unit(table, column), list);

	if (err || !list)
		return err;
	err = new_schema(schema->children[0], type == KS_TYPE_TEXTS ? "u" : "L", "item", NULL, 0);
	if (err)
		release_schema(schema);
	return err;
}

/* === Internals: arrays ==================================================================== */

static void release_array(struct ArrowArray *array)
{
	struct array_parts *parts = array->private_data;
	int64_t i;

	for (i = 0; i < array->n_children; i++)
		if (array->children[i]->release)
			array->children[i]->release(array->children[i]);
	for (i = 0; i < BUFFERS; i++)
		free((void *)parts->buffers[i]);
	free(parts->pointers);
	free(parts);
	array->release = NULL;
}

static int new_array(struct ArrowArray *array, size_t length, int buffers, size_t children)
{
	struct array_parts *parts =
		calloc(1, sizeof(*parts) + children * sizeof(parts->children[0]));
	size_t i;

	if (!parts)
		return ENOMEM;
	*array = (struct ArrowArray){
		.length = (int64_t)length,
		.n_buffers = buffers,
		.buffers = parts->buffers,
		.release = release_array,
		.private_data = parts,
	};
	parts->pointers = calloc(children + 1, sizeof(struct ArrowArray *));
	if (!parts->pointers) {
		release_array(array);
		return ENOMEM;
	}
	for (i = 0; i < children; i++)
		parts->pointers[i] = &parts->children[i];
	array->children = parts->pointers;
	array->n_children = (int64_t)children;
	return 0;
}

/* A buffer of the array, zeroed, with some room even where nothing goes in. */
static void *new_buffer(struct ArrowArray *array, int number, size_t bytes)
{
	struct array_parts *parts = array->private_data;
	void *buffer = calloc(bytes / 8 + 1, 8);

	parts->buffers[number] = buffer;
	return buffer;
}

static void set_bit(u8 *bits, size_t i)
{
	bits[i / 8] |= (u8)(1u << i % 8);
}

/* Which cells are set. Where all are, there is no such buffer. */
static int put_validity(const struct ks_table *table, size_t column, size_t first,
			struct ArrowArray *array)
{
	size_t i, nulls = 0;
	u8 *bits;

	for (i = 0; i < (size_t)array->length; i++)
		nulls += !ks_table_is_set(table, first + i, column);
	array->null_count = (int64_t)nulls;
	if (!nulls)
		return 0;
	bits = new_buffer(array, 0, (size_t)array->length / 8 + 1);
	for (i = 0; bits && i < (size_t)array->length; i++)
		if (ks_table_is_set(table, first + i, column))
			set_bit(bits, i);
	return bits ? 0 : ENOMEM;
}

/* Text that Arrow calls UTF-8 has to be; other bytes become U+FFFD, as in JSON. */
static void put_utf8(struct ks_strbuf *out, const char *s)
{
	size_t left = strlen(s), len;
	u32 code;

	for (; left; s += len, left -= len) {
		len = ks_utf8_char(s, left, &code);
		if (len) {
			ks_strbuf_add(out, s, len);
		} else {
			ks_strbuf_add(out, "\xef\xbf\xbd", 3);
			len = 1;
		}
	}
}

/* Adds a text to the bytes so far, and where it ends to the offsets. */
static int put_text(struct ks_strbuf *bytes, const char *text, int32_t *ret_end)
{
	if (text)
		put_utf8(bytes, text);
	if (bytes->failed)
		return ENOMEM;
	if (bytes->len > INT32_MAX)
		return EOVERFLOW;
	*ret_end = (int32_t)bytes->len;
	return 0;
}

/* The strbuf's memory becomes the buffer. */
static int give_bytes(struct ArrowArray *array, struct ks_strbuf *bytes)
{
	struct array_parts *parts = array->private_data;

	if (!bytes->s)
		return new_buffer(array, 2, 0) ? 0 : ENOMEM;
	parts->buffers[2] = bytes->s;
	ks_strbuf_init(bytes);
	return 0;
}

static int put_texts(const struct ks_table *table, size_t column, size_t first,
		     struct ArrowArray *array)
{
	size_t i, len = (size_t)array->length;
	int32_t *ends = new_buffer(array, 1, (len + 1) * sizeof(*ends));
	struct ks_strbuf bytes;
	int err = ends ? 0 : ENOMEM;

	ks_strbuf_init(&bytes);
	for (i = 0; i < len && !err; i++)
		err = put_text(&bytes, ks_table_text(table, first + i, column), &ends[i + 1]);
	if (!err)
		err = give_bytes(array, &bytes);
	ks_strbuf_deinit(&bytes);
	return err;
}

static int put_numbers(const struct ks_table *table, size_t column, size_t first,
		       struct ArrowArray *array)
{
	size_t i, len = (size_t)array->length;
	int type = ks_table_column_type(table, column);
	void *buffer = new_buffer(array, 1, len * sizeof(u64));

	if (!buffer)
		return ENOMEM;
	for (i = 0; i < len; i++) {
		if (type == KS_TYPE_U64)
			((u64 *)buffer)[i] = ks_table_u64(table, first + i, column);
		else if (type == KS_TYPE_S64)
			((s64 *)buffer)[i] = ks_table_s64(table, first + i, column);
		else if (type == KS_TYPE_DOUBLE)
			((double *)buffer)[i] = ks_table_double(table, first + i, column);
		else if (ks_table_bool(table, first + i, column))
			set_bit(buffer, i);
	}
	return 0;
}

/* The items of all lists of the batch, one after the other. */
static int put_items(const struct ks_table *table, size_t column, size_t first,
		     const struct ArrowArray *lists, struct ArrowArray *items)
{
	bool text = ks_table_column_type(table, column) == KS_TYPE_TEXTS;
	size_t i, j, n = 0, len = (size_t)items->length;
	int32_t *ends = text ? new_buffer(items, 1, (len + 1) * sizeof(*ends)) : NULL;
	u64 *numbers = text ? NULL : new_buffer(items, 1, len * sizeof(*numbers));
	struct ks_strbuf bytes;
	int err = ends || numbers ? 0 : ENOMEM;

	ks_strbuf_init(&bytes);
	for (i = 0; i < (size_t)lists->length && !err; i++)
		for (j = 0; j < ks_table_list_len(table, first + i, column) && !err; j++, n++)
			if (text)
				err = put_text(&bytes,
					       ks_table_list_text(table, first + i, column, j),
					       &ends[n + 1]);
			else
				numbers[n] = ks_table_list_u64(table, first + i, column, j);
	if (!err && text)
		err = give_bytes(items, &bytes);
	ks_strbuf_deinit(&bytes);
	return err;
}

static int put_lists(const struct ks_table *table, size_t column, size_t first,
		     struct ArrowArray *array)
{
	bool text = ks_table_column_type(table, column) == KS_TYPE_TEXTS;
	size_t i, len = (size_t)array->length, items = 0;
	int32_t *ends = new_buffer(array, 1, (len + 1) * sizeof(*ends));
	int err;

	if (!ends)
		return ENOMEM;
	for (i = 0; i < len; i++) {
		items += ks_table_list_len(table, first + i, column);
		if (items > INT32_MAX)
			return EOVERFLOW;
		ends[i + 1] = (int32_t)items;
	}
	err = new_array(array->children[0], items, text ? 3 : 2, 0);
	return err ? err : put_items(table, column, first, array, array->children[0]);
}

static int column_array(const struct ks_table *table, size_t column, size_t first, size_t len,
			struct ArrowArray *array)
{
	int type = ks_table_column_type(table, column);
	bool list = type == KS_TYPE_TEXTS || type == KS_TYPE_U64S;
	int err = new_array(array, len, type == KS_TYPE_TEXT ? 3 : 2, list);

	if (err)
		return err;
	err = put_validity(table, column, first, array);
	if (!err && list)
		err = put_lists(table, column, first, array);
	else if (!err && type == KS_TYPE_TEXT)
		err = put_texts(table, column, first, array);
	else if (!err)
		err = put_numbers(table, column, first, array);
	if (err)
		release_array(array);
	return err;
}

/* === Internals: the stream ================================================================ */

static int fail(struct stream *x, int err)
{
	snprintf(x->error, sizeof(x->error), "%s",
		 err == EOVERFLOW ? "more than 2 GiB of text in one batch" : "out of memory");
	return err;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	struct stream *x = stream->private_data;
	struct ArrowSchema schema;
	int err = new_schema(&schema, "+s", "", NULL, x->nr_columns);
	size_t i;

	if (err)
		return fail(x, err);
	for (i = 0; i < x->nr_columns && !err; i++)
		err = column_schema(x->table, x->columns[i], schema.children[i]);
	if (err) {
		release_schema(&schema);
		return fail(x, err);
	}
	schema.flags = 0;
	*out = schema;
	return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct stream *x = stream->private_data;
	size_t i, len = ks_min(ks_table_rows(x->table) - x->row, (size_t)BATCH);
	struct ArrowArray batch;
	int err;

	if (!len) {
		memset(out, 0, sizeof(*out));
		return 0;
	}
	err = new_array(&batch, len, 1, x->nr_columns);
	if (err)
		return fail(x, err);
	for (i = 0; i < x->nr_columns && !err; i++)
		err = column_array(x->table, x->columns[i], x->row, len, batch.children[i]);
	if (err) {
		release_array(&batch);
		return fail(x, err);
	}
	x->row += len;
	*out = batch;
	return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
	struct stream *x = stream->private_data;

	return x->error[0] ? x->error : NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
	struct stream *x = stream->private_data;

	ks_document_free(x->document);
	free(x->columns);
	free(x);
	stream->release = NULL;
}

/* === Public =============================================================================== */

int ks_document_arrow(const struct ks_document *document, const struct ks_table *table,
		      struct ArrowArrayStream *ret_stream, struct ks_diag *diag)
{
	struct stream *x;
	size_t i;

	if (!table || !ks_api_document_has(document, table))
		return ks_diag_set(diag, -EINVAL, "the table is not of this document");
	x = calloc(1, sizeof(*x));
	if (x)
		x->columns = calloc(ks_table_columns(table) + 1, sizeof(*x->columns));
	if (!x || !x->columns) {
		free(x);
		return ks_diag_nomem(diag, "making an Arrow stream");
	}
	for (i = 0; i < ks_table_columns(table); i++)
		if (ks_table_column_type(table, i) != KS_TYPE_TABLE)
			x->columns[x->nr_columns++] = i;
	x->table = table;
	x->document = (struct ks_document *)document;
	ks_api_document_keep(document);
	*ret_stream = (struct ArrowArrayStream){
		.get_schema = get_schema,
		.get_next = get_next,
		.get_last_error = get_last_error,
		.release = release_stream,
		.private_data = x,
	};
	return 0;
}
