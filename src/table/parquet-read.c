// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The reader of Parquet files of our own. The footer is Thrift's compact protocol: what is not known in it is skipped, so
 * that newer writers may say more.
 */
#include "table/parquet-read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"

/* === Data ================================================================================= */

enum {
	COLUMNS_MAX = 64,
	GROUP_ROWS_MAX = 256 * 1024, /* what the writer has in a group */
	PAGE_MAX = 64 << 20,
	DEPTH_MAX = 16,
};

static const char magic[4] = "PAR1";

/* The format's own numbers. */
enum { TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { THRIFT_STOP, THRIFT_TRUE, THRIFT_FALSE, THRIFT_BYTE, THRIFT_DOUBLE = 7, THRIFT_BINARY };
enum { THRIFT_LIST = 9, THRIFT_SET, THRIFT_MAP, THRIFT_STRUCT };

struct field {
	const char *name;
	size_t len;
	u64 type;
	bool optional;
};

struct chunk {
	u64 at; /* of its first page */
	u64 rows, codec, type;
};

struct ks_parquet_file {
	const u8 *data;
	size_t len;
	char *name;
	u64 rows;
	KS_VEC(struct field) fields;
	KS_VEC(struct chunk) chunks; /* of all groups, one a field */
};

struct page {
	u64 type, plain, packed, values, encoding;
};

/* === Internals: Thrift ==================================================================== */

/* The next field of a struct; false at its end, and where bytes are missing. */
static bool next_field(struct ks_bytes *b, u64 *id, u8 *ret_type)
{
	u8 head = ks_bytes_u8(b);

	*ret_type = head & 15;
	if (!*ret_type || b->overrun)
		return false;
	*id = head >> 4 ? *id + (head >> 4) : (u64)ks_unzigzag(ks_bytes_varint(b));
	return true;
}

static u64 list_head(struct ks_bytes *b, u8 *ret_type)
{
	u8 head = ks_bytes_u8(b);

	*ret_type = head & 15;
	return head >> 4 == 15 ? ks_bytes_varint(b) : (u64)(head >> 4);
}

static void skip(struct ks_bytes *b, u8 type, unsigned int depth);

static void skip_list(struct ks_bytes *b, unsigned int depth)
{
	u8 type;
	u64 len = list_head(b, &type), i;

	for (i = 0; i < len && !b->overrun; i++)
		if (type == THRIFT_TRUE || type == THRIFT_FALSE)
			ks_bytes_u8(b);
		else
			skip(b, type, depth);
}

static void skip(struct ks_bytes *b, u8 type, unsigned int depth)
{
	size_t len;
	u64 id = 0;
	u8 inner;

	if (depth > DEPTH_MAX)
		b->overrun = true;
	else if (type == THRIFT_BYTE)
		ks_bytes_u8(b);
	else if (type > THRIFT_BYTE && type < THRIFT_DOUBLE)
		ks_bytes_varint(b);
	else if (type == THRIFT_DOUBLE)
		ks_bytes_u64(b);
	else if (type == THRIFT_BINARY)
		ks_bytes_string(b, &len);
	else if (type == THRIFT_LIST || type == THRIFT_SET)
		skip_list(b, depth + 1);
	else if (type == THRIFT_STRUCT)
		while (next_field(b, &id, &inner))
			skip(b, inner, depth + 1);
	else if (type != THRIFT_TRUE && type != THRIFT_FALSE)
		b->overrun = true; /* a map: nothing that is ours has one */
}

static u64 take_int(struct ks_bytes *b, u8 type)
{
	if (type <= THRIFT_BYTE || type >= THRIFT_DOUBLE) {
		b->overrun = true;
		return 0;
	}
	return (u64)ks_unzigzag(ks_bytes_varint(b));
}

/* === Internals: the footer ================================================================ */

static void read_element(struct ks_parquet_file *file, struct ks_bytes *b, bool root)
{
	struct field field = { 0 }, *to;
	u64 id = 0;
	u8 type;

	while (next_field(b, &id, &type)) {
		if (id == 1)
			field.type = take_int(b, type);
		else if (id == 3)
			field.optional = take_int(b, type);
		else if (id == 4 && type == THRIFT_BINARY)
			field.name = ks_bytes_string(b, &field.len);
		else
			skip(b, type, 0);
	}
	to = root || file->fields.len == COLUMNS_MAX ? NULL : ks_vec_push(&file->fields);
	if (to)
		*to = field;
	else if (!root)
		b->overrun = true;
}

static void read_column_meta(struct ks_bytes *b, struct chunk *chunk)
{
	u64 id = 0, dictionary = 0;
	u8 type;

	while (next_field(b, &id, &type)) {
		if (id == 1)
			chunk->type = take_int(b, type);
		else if (id == 4)
			chunk->codec = take_int(b, type);
		else if (id == 5)
			chunk->rows = take_int(b, type);
		else if (id == 9)
			chunk->at = take_int(b, type);
		else if (id == 11)
			dictionary = take_int(b, type);
		else
			skip(b, type, 0);
	}
	if (dictionary)
		chunk->at = dictionary;
}

static void read_chunk(struct ks_parquet_file *file, struct ks_bytes *b)
{
	struct chunk *chunk = ks_vec_push(&file->chunks);
	u64 id = 0;
	u8 type;

	if (!chunk) {
		b->overrun = true;
		return;
	}
	while (next_field(b, &id, &type)) {
		if (id == 3 && type == THRIFT_STRUCT)
			read_column_meta(b, chunk);
		else
			skip(b, type, 0);
	}
}

static void read_group(struct ks_parquet_file *file, struct ks_bytes *b)
{
	size_t before = file->chunks.len, i;
	u64 id = 0, rows = 0, len, j;
	u8 type, item;

	while (next_field(b, &id, &type)) {
		if (id == 1 && type == THRIFT_LIST) {
			len = list_head(b, &item);
			for (j = 0; j < len && !b->overrun && item == THRIFT_STRUCT; j++)
				read_chunk(file, b);
		} else if (id == 3) {
			rows = take_int(b, type);
		} else {
			skip(b, type, 0);
		}
	}
	if (file->chunks.len - before != file->fields.len || rows > GROUP_ROWS_MAX)
		b->overrun = true;
	for (i = before; i < file->chunks.len; i++)
		if (file->chunks.items[i].rows != rows)
			b->overrun = true;
	file->rows += rows;
}

static bool read_footer(struct ks_parquet_file *file, struct ks_bytes *b)
{
	u64 id = 0, len, i, rows = 0;
	u8 type, item;

	while (next_field(b, &id, &type)) {
		if ((id == 2 || id == 4) && type == THRIFT_LIST) {
			len = list_head(b, &item);
			for (i = 0; i < len && !b->overrun && item == THRIFT_STRUCT; i++)
				if (id == 2)
					read_element(file, b, !i);
				else
					read_group(file, b);
		} else if (id == 3) {
			rows = take_int(b, type);
		} else {
			skip(b, type, 0);
		}
	}
	return !b->overrun && rows == file->rows && file->fields.len;
}

/* === Internals: pages ===================================================================== */

static int bad(const struct ks_parquet_file *file, const char *what, u64 at, struct ks_diag *diag)
{
	return ks_diag_set(diag, KS_EBADINPUT,
			   "%s: byte %" PRIu64 ": %s: it is damaged, or not of kmemscope",
			   file->name, at, what);
}

static void read_page_head(struct ks_bytes *b, struct page *page)
{
	u64 id = 0, inner = 0;
	u8 type, kind;

	while (next_field(b, &id, &type)) {
		if (id == 1) {
			page->type = take_int(b, type);
		} else if (id == 2) {
			page->plain = take_int(b, type);
		} else if (id == 3) {
			page->packed = take_int(b, type);
		} else if ((id == 5 || id == 7) && type == THRIFT_STRUCT) {
			inner = 0;
			while (next_field(b, &inner, &kind)) {
				if (inner == 1)
					page->values = take_int(b, kind);
				else if (inner == 2)
					page->encoding = take_int(b, kind);
				else
					skip(b, kind, 0);
			}
		} else {
			skip(b, type, 0);
		}
	}
}

/* Unpacks the page at *@at, which goes on behind it. The bytes are to be freed. */
static int read_page(const struct ks_parquet_file *file, u64 *at, struct page *page, u8 **ret_bytes,
		     struct ks_diag *diag)
{
	struct ks_bytes b;
	const void *packed;
	u8 *bytes;
	size_t got;

	if (*at >= file->len)
		return bad(file, "there is no page", *at, diag);
	ks_bytes_init(&b, file->data + *at, file->len - (size_t)*at);
	*page = (struct page){ 0 };
	read_page_head(&b, page);
	packed = ks_bytes_take(&b, page->packed);
	if (!packed || page->plain > PAGE_MAX)
		return bad(file, "a page is cut off", *at, diag);
	bytes = malloc((size_t)page->plain + 1);
	if (!bytes)
		return ks_diag_nomem(diag, "reading a Parquet file");
	got = ZSTD_decompress(bytes, (size_t)page->plain, packed, (size_t)page->packed);
	if (ZSTD_isError(got) || got != page->plain) {
		free(bytes);
		return bad(file, "a page can't be unpacked", *at, diag);
	}
	*at += b.pos;
	*ret_bytes = bytes;
	return 0;
}

static int find_column(const struct ks_parquet_file *file, const char *column, u64 type,
		       size_t *ret_number, struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < file->fields.len; i++) {
		const struct field *field = &file->fields.items[i];

		if (field->len != strlen(column) || memcmp(field->name, column, field->len))
			continue;
		if (field->type != type || field->optional)
			break;
		*ret_number = i;
		return 0;
	}
	return ks_diag_set(diag, KS_EBADINPUT, "%s: has no column '%s' of the kind that is wanted",
			   file->name, column);
}

static int read_number_chunk(const struct ks_parquet_file *file, const struct chunk *chunk,
			     unsigned int size, struct ks_parquet_numbers *numbers,
			     struct ks_diag *diag)
{
	struct page page;
	u64 at = chunk->at, i;
	u8 *bytes;
	int err = read_page(file, &at, &page, &bytes, diag);

	if (err)
		return err;
	if (page.type != DATA_PAGE || page.encoding != ENCODING_PLAIN ||
	    page.values != chunk->rows || page.plain != chunk->rows * size) {
		free(bytes);
		return bad(file, "a page of another kind", chunk->at, diag);
	}
	if (ks_vec_reserve(&numbers->items, numbers->items.len + (size_t)page.values)) {
		free(bytes);
		return ks_diag_nomem(diag, "reading a Parquet file");
	}
	for (i = 0; i < page.values; i++) {
		u64 value = ks_load(bytes + i * size, size, false);

		numbers->items.items[numbers->items.len++] = size == 4 ? le32toh((u32)value)
								       : le64toh(value);
	}
	free(bytes);
	return 0;
}

struct dictionary {
	KS_VEC(struct ks_str) items;
};

static int read_dictionary(const struct ks_parquet_file *file, u64 *at,
			   struct dictionary *dictionary, struct ks_arena *arena,
			   struct ks_diag *diag)
{
	u64 start = *at, i;
	struct ks_bytes b;
	struct page page;
	u8 *bytes;
	int err = read_page(file, at, &page, &bytes, diag);

	if (err)
		return err;
	ks_bytes_init(&b, bytes, (size_t)page.plain);
	if (page.type != DICTIONARY_PAGE || page.encoding != ENCODING_PLAIN)
		err = bad(file, "no dictionary", start, diag);
	for (i = 0; !err && i < page.values; i++) {
		u32 len = ks_bytes_u32(&b);
		const char *s = ks_bytes_take(&b, len);
		struct ks_str *to = s ? ks_vec_push(&dictionary->items) : NULL;

		if (!s)
			err = bad(file, "a dictionary is cut off", start, diag);
		else if (!to || !(to->s = ks_arena_strndup(arena, s, len)))
			err = ks_diag_nomem(diag, "reading a Parquet file");
		else
			to->len = len;
	}
	free(bytes);
	return err;
}

/* One run of bit-packed numbers into the dictionary. */
static bool take_indices(struct ks_bytes *b, const struct dictionary *dictionary, u64 rows,
			 struct ks_parquet_strings *strings)
{
	unsigned int width = ks_bytes_u8(b), filled = 0;
	u64 head = ks_bytes_varint(b), bits = 0, i;

	if (b->overrun || !(head & 1) || head >> 1 != (rows + 7) / 8 || width > 32)
		return false;
	for (i = 0; i < rows; i++) {
		u64 index;

		for (; filled < width; filled += 8)
			bits |= (u64)ks_bytes_u8(b) << filled;
		index = bits & ((1ull << width) - 1);
		bits >>= width;
		filled -= width;
		if (b->overrun || index >= dictionary->items.len)
			return false;
		strings->items.items[strings->items.len++] = dictionary->items.items[index];
	}
	return true;
}

static int read_string_chunk(const struct ks_parquet_file *file, const struct chunk *chunk,
			     struct ks_parquet_strings *strings, struct ks_diag *diag)
{
	struct dictionary dictionary = { 0 };
	u64 at = chunk->at;
	struct page page;
	struct ks_bytes b;
	u8 *bytes = NULL;
	int err = read_dictionary(file, &at, &dictionary, &strings->arena, diag);

	if (!err)
		err = read_page(file, &at, &page, &bytes, diag);
	if (!err && ks_vec_reserve(&strings->items, strings->items.len + (size_t)chunk->rows))
		err = ks_diag_nomem(diag, "reading a Parquet file");
	if (!err) {
		ks_bytes_init(&b, bytes, (size_t)page.plain);
		if (page.type != DATA_PAGE || page.encoding != ENCODING_RLE_DICTIONARY ||
		    page.values != chunk->rows ||
		    !take_indices(&b, &dictionary, chunk->rows, strings))
			err = bad(file, "a page of another kind", chunk->at, diag);
	}
	free(bytes);
	ks_vec_free(&dictionary.items);
	return err;
}

/* === Public =============================================================================== */

int ks_parquet_open(const void *data, size_t len, const char *name,
		    struct ks_parquet_file **ret_file, struct ks_diag *diag)
{
	struct ks_parquet_file *file = calloc(1, sizeof(*file));
	const u8 *bytes = data;
	struct ks_bytes b;
	size_t footer, i;
	bool ok;

	if (!file || !(file->name = strdup(name))) {
		free(file);
		return ks_diag_nomem(diag, "reading a Parquet file");
	}
	file->data = data;
	file->len = len;
	ok = len >= 12 && !memcmp(bytes, magic, 4) && !memcmp(bytes + len - 4, magic, 4);
	if (ok) {
		ks_bytes_init(&b, bytes + len - 8, 4);
		footer = ks_bytes_u32(&b);
		ok = footer <= len - 12;
		if (ok) {
			ks_bytes_init(&b, bytes + len - 8 - footer, footer);
			ok = read_footer(file, &b);
		}
	}
	for (i = 0; ok && i < file->chunks.len; i++)
		ok = file->chunks.items[i].codec == CODEC_ZSTD;
	if (!ok) {
		int err = bad(file, "no Parquet file that can be read", len, diag);

		ks_parquet_close(file);
		return err;
	}
	*ret_file = file;
	return 0;
}

void ks_parquet_close(struct ks_parquet_file *file)
{
	if (!file)
		return;
	ks_vec_free(&file->fields);
	ks_vec_free(&file->chunks);
	free(file->name);
	free(file);
}

u64 ks_parquet_rows(const struct ks_parquet_file *file)
{
	return file->rows;
}

int ks_parquet_read_numbers(struct ks_parquet_file *file, const char *column,
			    enum ks_parquet_type type, struct ks_parquet_numbers *numbers,
			    struct ks_diag *diag)
{
	bool narrow = type == KS_PARQUET_U32;
	u64 kind = narrow ? TYPE_INT32 : type == KS_PARQUET_DOUBLE ? TYPE_DOUBLE : TYPE_INT64;
	size_t number = 0, i;
	int err = find_column(file, column, kind, &number, diag);

	for (i = number; !err && i < file->chunks.len; i += file->fields.len)
		err = read_number_chunk(file, &file->chunks.items[i], narrow ? 4 : 8, numbers,
					diag);
	return err;
}

int ks_parquet_read_strings(struct ks_parquet_file *file, const char *column,
			    struct ks_parquet_strings *strings, struct ks_diag *diag)
{
	size_t number = 0, i;
	int err = find_column(file, column, TYPE_BYTE_ARRAY, &number, diag);

	for (i = number; !err && i < file->chunks.len; i += file->fields.len)
		err = read_string_chunk(file, &file->chunks.items[i], strings, diag);
	return err;
}
