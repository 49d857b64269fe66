// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The writer of Parquet files. Debian has no library for it that C can use; the part that flat
 * tables need is small: pages of values, and headers in Thrift's compact protocol.
 */
#include "table/parquet.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/escape.h"
#include "base/pack.h"
#include "base/vec.h"

/* === Data ================================================================================= */

enum { ROWS_PER_GROUP = 256 * 1024, ZSTD_LEVEL = 1 };

/* The format's own numbers. */
enum { TYPE_BOOLEAN, TYPE_INT32, TYPE_INT64, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_32 = 13, CONVERTED_UINT_64 = 14, CONVERTED_NONE = -1 };
enum { REQUIRED = 0, OPTIONAL = 1 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };

static const struct {
	int type, converted;
	unsigned int size; /* of a value, before booleans are packed; 0 = by dictionary */
} types[KS_PARQUET_TYPES] = {
	[KS_PARQUET_U64] = { TYPE_INT64, CONVERTED_UINT_64, 8 },
	[KS_PARQUET_U32] = { TYPE_INT32, CONVERTED_UINT_32, 4 },
	[KS_PARQUET_S64] = { TYPE_INT64, CONVERTED_NONE, 8 },
	[KS_PARQUET_DOUBLE] = { TYPE_DOUBLE, CONVERTED_NONE, 8 },
	[KS_PARQUET_BOOL] = { TYPE_BOOLEAN, CONVERTED_NONE, 1 },
	[KS_PARQUET_STRING] = { TYPE_BYTE_ARRAY, CONVERTED_UTF8, 0 },
};

/* Types of Thrift's compact protocol. */
enum { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

struct column {
	unsigned int size;	 /* of a number */
	struct ks_strbuf values; /* plain numbers of the group */
	KS_VEC(u32) indices;	 /* strings of the group, in the dictionary */
	u32 *present;		 /* of an optional column: 0 or 1 a row of the group */
	KS_VEC(u32) entry_of;	 /* by key: number in the dictionary + 1; 0 = not there */
	u32 entries;
	struct ks_strbuf dictionary; /* plain strings of the group */
};

/* Where a column of a group went. */
struct chunk {
	u64 dictionary_at, data_at; /* dictionary_at 0 = none */
	u64 compressed, plain;
};

struct group {
	u64 rows;
};

struct ks_parquet {
	const struct ks_parquet_field *fields;
	size_t len;
	struct column *columns;
	struct ks_strbuf *out;
	struct ks_strbuf scratch, packed; /* a page, before and after compression */
	ZSTD_CCtx *zstd;
	size_t at;		     /* the field that the next value is of */
	u64 rows;		     /* of the group */
	u64 written;		     /* bytes of the file so far */
	KS_VEC(struct chunk) chunks; /* of all groups, in order */
	KS_VEC(struct group) groups;
};

/* === Internals: Thrift ==================================================================== */

/* A struct being written: a field is written by its distance from the one before. */
struct thrift {
	struct ks_strbuf *sb;
	u8 last;
};

static u64 zigzag(s64 v)
{
	return (u64)v << 1 ^ (u64)(v >> 63);
}

static void put_field(struct thrift *t, u8 id, u8 type)
{
	ks_pack_uint(t->sb, (u64)(id - t->last) << 4 | type, 1);
	t->last = id;
}

static void put_i32(struct thrift *t, u8 id, u64 value)
{
	put_field(t, id, THRIFT_I32);
	ks_pack_varint(t->sb, zigzag((s64)value));
}

static void put_i64(struct thrift *t, u8 id, u64 value)
{
	put_field(t, id, THRIFT_I64);
	ks_pack_varint(t->sb, zigzag((s64)value));
}

static void put_string(struct thrift *t, u8 id, const char *s)
{
	put_field(t, id, THRIFT_BINARY);
	ks_pack_string(t->sb, s, strlen(s));
}

static void put_list(struct thrift *t, u8 id, u8 type, size_t len)
{
	put_field(t, id, THRIFT_LIST);
	ks_pack_uint(t->sb, (len < 15 ? len : 15) << 4 | type, 1);
	if (len >= 15)
		ks_pack_varint(t->sb, len);
}

static void put_stop(struct thrift *t)
{
	ks_pack_uint(t->sb, 0, 1);
}

/* === Internals: pages ===================================================================== */

static void emit(struct ks_parquet *file, const void *data, size_t len)
{
	ks_strbuf_add(file->out, data, len);
	file->written += len;
}

/* Compresses file->scratch and writes it behind its header. */
static void write_page(struct ks_parquet *file, struct chunk *chunk, int type, u64 values,
		       int encoding)
{
	size_t bound = ZSTD_compressBound(file->scratch.len), packed;
	struct ks_strbuf header;
	struct thrift page = { &header, 0 }, inner = { &header, 0 };

	file->packed.len = 0;
	if (file->scratch.failed || ks_reserve(file->packed.s, file->packed.cap, bound + 1)) {
		file->out->failed = true;
		return;
	}
	packed = ZSTD_compress2(file->zstd, file->packed.s, bound, ks_strbuf_str(&file->scratch),
				file->scratch.len);
	if (ZSTD_isError(packed)) {
		file->out->failed = true;
		return;
	}
	ks_strbuf_init(&header);
	put_i32(&page, 1, (u64)type);
	put_i32(&page, 2, file->scratch.len);
	put_i32(&page, 3, packed);
	put_field(&page, type == DATA_PAGE ? 5 : 7, THRIFT_STRUCT);
	put_i32(&inner, 1, values);
	put_i32(&inner, 2, (u64)encoding);
	if (type == DATA_PAGE) {
		put_i32(&inner, 3, ENCODING_RLE); /* of definition levels */
		put_i32(&inner, 4, ENCODING_RLE);
	}
	put_stop(&inner);
	put_stop(&page);
	emit(file, ks_strbuf_str(&header), header.len);
	emit(file, file->packed.s, packed);
	chunk->compressed += header.len + packed;
	chunk->plain += header.len + file->scratch.len;
	file->out->failed |= header.failed;
	ks_strbuf_deinit(&header);
}

/* Room for @len bytes that count as written; NULL and failed where there is no memory. */
static u8 *reserve(struct ks_strbuf *sb, size_t len)
{
	if (sb->failed || ks_reserve(sb->s, sb->cap, sb->len + len + 1)) {
		sb->failed = true;
		return NULL;
	}
	sb->len += len;
	return (u8 *)sb->s + sb->len - len;
}

/* One run of bit-packed numbers, padded with zeroes to a multiple of eight. */
static void pack_bits(struct ks_strbuf *sb, const u32 *values, size_t len, unsigned int width)
{
	size_t groups = (len + 7) / 8, i;
	unsigned int filled = 0;
	u64 bits = 0;
	u8 *to;

	ks_pack_varint(sb, groups << 1 | 1);
	to = reserve(sb, groups * width);
	for (i = 0; i < groups * 8 && to; i++) {
		bits |= (u64)(i < len ? values[i] : 0) << filled;
		filled += width;
		for (; filled >= 8; filled -= 8, bits >>= 8)
			*to++ = (u8)bits;
	}
}

static unsigned int width_for(size_t entries)
{
	unsigned int width = 1;

	while (entries > 1ull << width)
		width++;
	return width;
}

static void put_levels(struct ks_parquet *file, const struct column *column)
{
	struct ks_strbuf levels;

	ks_strbuf_init(&levels);
	pack_bits(&levels, column->present, (size_t)file->rows, 1);
	ks_pack_uint(&file->scratch, levels.len, 4);
	ks_strbuf_add(&file->scratch, ks_strbuf_str(&levels), levels.len);
	file->out->failed |= levels.failed;
	ks_strbuf_deinit(&levels);
}

/* Eight to a byte, the first in its lowest bit. */
static void put_bools(struct ks_parquet *file, const struct column *column)
{
	size_t i, len = (column->values.len + 7) / 8;
	u8 *to = reserve(&file->scratch, len);

	if (!to)
		return;
	memset(to, 0, len);
	for (i = 0; i < column->values.len; i++)
		to[i / 8] |= (u8)((column->values.s[i] & 1) << i % 8);
}

static void write_chunk(struct ks_parquet *file, const struct ks_parquet_field *field,
			struct column *column)
{
	struct chunk *chunk = ks_vec_push(&file->chunks);
	bool is_string = field->type == KS_PARQUET_STRING;

	if (!chunk || column->values.failed || column->dictionary.failed) {
		file->out->failed = true;
		return;
	}
	if (is_string) {
		chunk->dictionary_at = file->written;
		file->scratch.len = 0;
		ks_strbuf_add(&file->scratch, ks_strbuf_str(&column->dictionary),
			      column->dictionary.len);
		write_page(file, chunk, DICTIONARY_PAGE, column->entries, ENCODING_PLAIN);
	}
	chunk->data_at = file->written;
	file->scratch.len = 0;
	if (field->optional)
		put_levels(file, column);
	if (is_string) {
		unsigned int width = width_for(column->entries);

		ks_pack_uint(&file->scratch, width, 1);
		pack_bits(&file->scratch, column->indices.items, column->indices.len, width);
	} else if (field->type == KS_PARQUET_BOOL) {
		put_bools(file, column);
	} else {
		ks_strbuf_add(&file->scratch, ks_strbuf_str(&column->values), column->values.len);
	}
	write_page(file, chunk, DATA_PAGE, file->rows,
		   is_string ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN);
	column->values.len = column->dictionary.len = 0;
	column->indices.len = 0;
	column->entries = 0;
	if (column->entry_of.len)
		memset(column->entry_of.items, 0, column->entry_of.len * sizeof(u32));
}

static void write_group(struct ks_parquet *file)
{
	struct group *group = ks_vec_push(&file->groups);
	size_t i;

	if (!group) {
		file->out->failed = true;
		return;
	}
	group->rows = file->rows;
	for (i = 0; i < file->len; i++)
		write_chunk(file, &file->fields[i], &file->columns[i]);
	file->rows = 0;
}

static inline struct column *next_column(struct ks_parquet *file, bool present)
{
	struct column *column = &file->columns[file->at];

	if (column->present)
		column->present[file->rows] = present;
	return column;
}

/* Strings are UTF-8 here; those of a trace may be anything. */
static void add_entry(struct column *column, const char *s)
{
	struct ks_strbuf clean;

	ks_strbuf_init(&clean);
	ks_escape_tty(&clean, s, strlen(s));
	ks_pack_uint(&column->dictionary, clean.len, 4);
	ks_strbuf_add(&column->dictionary, ks_strbuf_str(&clean), clean.len);
	column->dictionary.failed |= clean.failed;
	ks_strbuf_deinit(&clean);
}

static inline void value_done(struct ks_parquet *file)
{
	if (++file->at < file->len)
		return;
	file->at = 0;
	if (++file->rows == ROWS_PER_GROUP)
		write_group(file);
}

/* === Internals: the footer ================================================================ */

static void put_schema(struct ks_parquet *file, struct thrift *meta)
{
	struct thrift root = { meta->sb, 0 };
	size_t i;

	put_list(meta, 2, THRIFT_STRUCT, file->len + 1);
	put_string(&root, 4, "schema");
	put_i32(&root, 5, file->len);
	put_stop(&root);
	for (i = 0; i < file->len; i++) {
		const struct ks_parquet_field *field = &file->fields[i];
		struct thrift element = { meta->sb, 0 };

		put_i32(&element, 1, (u64)types[field->type].type);
		put_i32(&element, 3, field->optional ? OPTIONAL : REQUIRED);
		put_string(&element, 4, field->name);
		if (types[field->type].converted != CONVERTED_NONE)
			put_i32(&element, 6, (u64)types[field->type].converted);
		put_stop(&element);
	}
}

static void put_chunk(struct ks_strbuf *sb, const struct ks_parquet_field *field,
		      const struct chunk *chunk, u64 rows)
{
	struct thrift outer = { sb, 0 }, meta = { sb, 0 };
	bool is_string = field->type == KS_PARQUET_STRING;

	put_i64(&outer, 2, is_string ? chunk->dictionary_at : chunk->data_at);
	put_field(&outer, 3, THRIFT_STRUCT);
	put_i32(&meta, 1, (u64)types[field->type].type);
	put_list(&meta, 2, THRIFT_I32, is_string ? 3 : 2);
	ks_pack_varint(sb, zigzag(ENCODING_PLAIN));
	ks_pack_varint(sb, zigzag(ENCODING_RLE));
	if (is_string)
		ks_pack_varint(sb, zigzag(ENCODING_RLE_DICTIONARY));
	put_list(&meta, 3, THRIFT_BINARY, 1);
	ks_pack_string(sb, field->name, strlen(field->name));
	put_i32(&meta, 4, CODEC_ZSTD);
	put_i64(&meta, 5, rows);
	put_i64(&meta, 6, chunk->plain);
	put_i64(&meta, 7, chunk->compressed);
	put_i64(&meta, 9, chunk->data_at);
	if (is_string)
		put_i64(&meta, 11, chunk->dictionary_at);
	put_stop(&meta);
	put_stop(&outer);
}

static void put_group(struct ks_parquet *file, struct ks_strbuf *sb, size_t number)
{
	const struct chunk *chunks = &file->chunks.items[number * file->len];
	u64 rows = file->groups.items[number].rows, plain = 0;
	struct thrift group = { sb, 0 };
	size_t i;

	put_list(&group, 1, THRIFT_STRUCT, file->len);
	for (i = 0; i < file->len; i++) {
		put_chunk(sb, &file->fields[i], &chunks[i], rows);
		plain += chunks[i].plain;
	}
	put_i64(&group, 2, plain);
	put_i64(&group, 3, rows);
	put_stop(&group);
}

static void put_footer(struct ks_parquet *file, struct ks_strbuf *sb)
{
	struct thrift meta = { sb, 0 };
	u64 rows = 0;
	size_t i;

	for (i = 0; i < file->groups.len; i++)
		rows += file->groups.items[i].rows;
	put_i32(&meta, 1, 1); /* of the format */
	put_schema(file, &meta);
	put_i64(&meta, 3, rows);
	put_list(&meta, 4, THRIFT_STRUCT, file->groups.len);
	for (i = 0; i < file->groups.len; i++)
		put_group(file, sb, i);
	put_string(&meta, 6, "kmemscope " KS_VERSION);
	put_stop(&meta);
}

/* === Public =============================================================================== */

struct ks_parquet *ks_parquet_new(const struct ks_parquet_field *fields, size_t len,
				  struct ks_strbuf *out)
{
	struct ks_parquet *file = calloc(1, sizeof(*file));
	bool failed = false;
	size_t i;

	if (!file)
		return NULL;
	file->fields = fields;
	file->len = len;
	file->out = out;
	file->zstd = ZSTD_createCCtx();
	file->columns = calloc(len, sizeof(*file->columns));
	for (i = 0; file->columns && i < len && !failed; i++) {
		file->columns[i].size = types[fields[i].type].size;
		if (!fields[i].optional)
			continue;
		file->columns[i].present = malloc(ROWS_PER_GROUP * sizeof(u32));
		failed = !file->columns[i].present;
	}
	if (!file->columns || !file->zstd || failed) {
		ks_parquet_free(file);
		return NULL;
	}
	ZSTD_CCtx_setParameter(file->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(file->zstd, ZSTD_c_checksumFlag, 1); /* damage is found */
	emit(file, "PAR1", 4);
	return file;
}

void ks_parquet_free(struct ks_parquet *file)
{
	size_t i;

	if (!file)
		return;
	for (i = 0; file->columns && i < file->len; i++) {
		ks_strbuf_deinit(&file->columns[i].values);
		ks_strbuf_deinit(&file->columns[i].dictionary);
		ks_vec_free(&file->columns[i].indices);
		free(file->columns[i].present);
		ks_vec_free(&file->columns[i].entry_of);
	}
	free(file->columns);
	ks_strbuf_deinit(&file->scratch);
	ks_strbuf_deinit(&file->packed);
	ks_vec_free(&file->chunks);
	ks_vec_free(&file->groups);
	ZSTD_freeCCtx(file->zstd);
	free(file);
}

void ks_parquet_number(struct ks_parquet *file, u64 value)
{
	struct column *column = next_column(file, true);
	unsigned int size = column->size;
	u8 *to = reserve(&column->values, size);
	u64 wide = htole64(value); /* the first bytes of it are those of a narrow one */

	/* Sizes that the compiler knows take no call. */
	if (likely(to && size == 8))
		memcpy(to, &wide, 8);
	else if (to && size == 4)
		memcpy(to, &wide, 4);
	else if (to)
		memcpy(to, &wide, size);
	value_done(file);
}

void ks_parquet_null(struct ks_parquet *file)
{
	next_column(file, false);
	value_done(file);
}

bool ks_parquet_knows(const struct ks_parquet *file, size_t field, u32 key)
{
	const struct column *column = &file->columns[field];

	return key < column->entry_of.len && column->entry_of.items[key];
}

void ks_parquet_string(struct ks_parquet *file, u32 key, const char *s)
{
	struct column *column;
	bool failed;

	/* The columns are not in step any more: a key that one knows may come to another. */
	if (unlikely(file->out->failed))
		return;
	column = next_column(file, true);
	failed = ks_vec_reserve(&column->indices, column->indices.len + 1);
	while (unlikely(column->entry_of.len <= key && !failed))
		failed = !ks_vec_push(&column->entry_of);
	if (unlikely(failed)) {
		file->out->failed = true;
		return;
	}
	if (!column->entry_of.items[key]) {
		add_entry(column, s);
		column->entry_of.items[key] = ++column->entries;
	}
	column->indices.items[column->indices.len++] = column->entry_of.items[key] - 1;
	value_done(file);
}

void ks_parquet_finish(struct ks_parquet *file)
{
	struct ks_strbuf footer;

	if (file->rows)
		write_group(file);
	if (file->out->failed)
		return;
	ks_strbuf_init(&footer);
	put_footer(file, &footer);
	ks_pack_uint(&footer, footer.len, 4);
	ks_strbuf_add(&footer, "PAR1", 4);
	emit(file, ks_strbuf_str(&footer), footer.len);
	file->out->failed |= footer.failed;
	ks_strbuf_deinit(&footer);
}
