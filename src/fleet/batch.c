// SPDX-License-Identifier: LGPL-2.1-only
/* Batches: packed by columns of varints, compressed, and read back by a reader that trusts nothing. */
#include "fleet/batch.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/escape.h"
#include "base/pack.h"

/* === Data ================================================================================= */

static const char magic[4] = "KSFB";

enum {
	VERSION = 1,
	HEAD = 12, /* magic, length of what follows, its length when unpacked */
	LEVEL = 3,
	ROW_BYTES_LEAST = 10, /* the fewest bytes that a row takes */
};

static const char *const kinds[KS_FLEET_KINDS] = {
	[KS_FLEET_HOST] = "host",   [KS_FLEET_BOOT] = "boot",	  [KS_FLEET_BUILD] = "build",
	[KS_FLEET_CACHE] = "cache", [KS_FLEET_TYPE] = "type",	  [KS_FLEET_SITE] = "site",
	[KS_FLEET_STACK] = "stack", [KS_FLEET_CGROUP] = "cgroup",
};

/* === Internals ============================================================================ */

static int compare_rows(const void *left, const void *right)
{
	const struct ks_fleet_row *a = left, *b = right;
	const u64 x[] = { a->cache, a->type, a->site, a->stack, a->cgroup };
	const u64 y[] = { b->cache, b->type, b->site, b->stack, b->cgroup };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(x); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static void pack_rows(const struct ks_fleet_batch *batch, struct ks_strbuf *sb)
{
	struct ks_fleet_row before = { 0 };
	size_t i;
	u32 bits;

	ks_pack_varint(sb, batch->rows.len);
	for (i = 0; i < batch->rows.len; i++) {
		const struct ks_fleet_row *row = &batch->rows.items[i];
		const u64 ids[] = { row->cache, row->type, row->site, row->stack, row->cgroup };
		const u64 last[] = { before.cache, before.type, before.site, before.stack,
				     before.cgroup };
		unsigned int same = 0, j;

		for (j = 0; j < ARRAY_SIZE(ids); j++)
			if (ids[j] == last[j])
				same |= 1u << j;
		ks_pack_varint(sb, same);
		for (j = 0; j < ARRAY_SIZE(ids); j++)
			if (!(same & 1u << j))
				ks_pack_uint(sb, ids[j], 8);
		ks_pack_varint(sb, ks_zigzag(row->live_bytes));
		ks_pack_varint(sb, ks_zigzag(row->live_objects));
		ks_pack_varint(sb, row->allocs);
		ks_pack_varint(sb, row->frees);
		memcpy(&bits, &row->std_error, sizeof(bits));
		ks_pack_uint(sb, bits, 4);
		ks_pack_uint(sb, row->quality, 1);
		before = *row;
	}
}

static void pack_body(const struct ks_fleet_batch *batch, struct ks_strbuf *sb)
{
	size_t i;

	ks_pack_uint(sb, VERSION, 2);
	ks_pack_uint(sb, batch->host, 8);
	ks_pack_uint(sb, batch->boot, 8);
	ks_pack_uint(sb, batch->build, 8);
	ks_pack_uint(sb, batch->version, 8);
	ks_pack_uint(sb, batch->at, 4);
	ks_pack_uint(sb, batch->span, 4);
	ks_pack_uint(sb, batch->uptime, 4);
	ks_pack_uint(sb, batch->quality, 1);
	ks_pack_varint(sb, batch->lost);
	ks_pack_varint(sb, batch->skipped);
	ks_pack_varint(sb, batch->torn);
	ks_pack_varint(sb, batch->names.len);
	for (i = 0; i < batch->names.len; i++) {
		ks_pack_uint(sb, batch->names.items[i].kind, 1);
		ks_pack_string(sb, batch->names.items[i].name, batch->names.items[i].len);
	}
	ks_pack_varint(sb, batch->labels.len);
	for (i = 0; i < batch->labels.len; i++) {
		const struct ks_fleet_label *label = &batch->labels.items[i];

		ks_pack_string(sb, label->name, strlen(label->name));
		ks_pack_string(sb, label->value, strlen(label->value));
	}
	pack_rows(batch, sb);
}

/* A count of things that take at least @least bytes each. */
static int take_count(struct ks_bytes *b, u64 max, u64 least, size_t *ret_count)
{
	u64 count = ks_bytes_varint(b);

	if (b->overrun || count > max || count > ks_bytes_left(b) / least)
		return KS_EBADINPUT;
	*ret_count = (size_t)count;
	return 0;
}

static bool is_text(const char *s, size_t len)
{
	size_t at, step;
	u32 code;

	for (at = 0; at < len; at += step) {
		step = ks_utf8_char(s + at, len - at, &code);
		if (!step || !code)
			return false;
	}
	return true;
}

/*
 * Names of cgroups and labels may have any bytes: those that are no UTF-8 are written as \xNN, for all who read the
 * database with other programs. Text itself stays where it is. NULL: no memory.
 */
static const char *as_text(struct ks_fleet_batch *batch, const char *s, size_t *len)
{
	struct ks_strbuf text;
	const char *copy;

	*len = strnlen(s, KS_FLEET_NAME_MAX);
	if (is_text(s, *len))
		return s;
	ks_strbuf_init(&text);
	ks_escape_tty(&text, s, ks_min(*len, (size_t)KS_FLEET_NAME_MAX / 4));
	*len = text.len;
	copy = text.failed ? NULL : ks_arena_strndup(&batch->arena, text.s, text.len);
	ks_strbuf_deinit(&text);
	return copy;
}

/* A string of UTF-8 with no zero byte in it, copied. */
static int take_string(struct ks_fleet_batch *batch, struct ks_bytes *b, const char **ret_s,
		       u32 *ret_len)
{
	size_t len;
	const char *s = ks_bytes_string(b, &len);
	char *copy;

	if (!s || len > KS_FLEET_NAME_MAX || !is_text(s, len))
		return KS_EBADINPUT;
	copy = ks_arena_strndup(&batch->arena, s, len);
	if (!copy)
		return -ENOMEM;
	*ret_s = copy;
	*ret_len = (u32)len;
	return 0;
}

static int take_names(struct ks_fleet_batch *batch, struct ks_bytes *b)
{
	size_t count, i;
	u32 len;
	int err = take_count(b, KS_FLEET_NAMES_MAX, 2, &count);

	for (i = 0; !err && i < count; i++) {
		struct ks_fleet_name *name = ks_vec_push(&batch->names);

		if (!name)
			return -ENOMEM;
		name->kind = ks_bytes_u8(b);
		err = take_string(batch, b, &name->name, &name->len);
		if (!err && (name->kind >= KS_FLEET_KINDS || !name->len))
			err = KS_EBADINPUT;
		/* The id is not sent: nobody can give a name to the id of another. */
		if (!err)
			name->id = ks_fleet_id(name->kind, name->name, name->len);
	}
	if (!err)
		err = take_count(b, KS_FLEET_LABELS_MAX, 2, &count);
	for (i = 0; !err && i < count; i++) {
		struct ks_fleet_label *label = ks_vec_push(&batch->labels);

		if (!label)
			return -ENOMEM;
		err = take_string(batch, b, &label->name, &len);
		if (!err)
			err = take_string(batch, b, &label->value, &len);
	}
	return err;
}

static int take_rows(struct ks_fleet_batch *batch, struct ks_bytes *b)
{
	size_t count, i;
	int err = take_count(b, KS_FLEET_ROWS_MAX, ROW_BYTES_LEAST, &count);
	u64 ids[5] = { 0 };
	u32 bits;

	if (err)
		return err;
	if (ks_vec_reserve(&batch->rows, count))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		struct ks_fleet_row *row = ks_vec_push(&batch->rows);
		u64 same = ks_bytes_varint(b);
		unsigned int j;

		for (j = 0; j < ARRAY_SIZE(ids); j++)
			if (!(same & 1u << j))
				ids[j] = ks_bytes_u64(b);
		row->cache = ids[0];
		row->type = ids[1];
		row->site = ids[2];
		row->stack = ids[3];
		row->cgroup = ids[4];
		row->live_bytes = ks_unzigzag(ks_bytes_varint(b));
		row->live_objects = ks_unzigzag(ks_bytes_varint(b));
		row->allocs = ks_bytes_varint(b);
		row->frees = ks_bytes_varint(b);
		bits = ks_bytes_u32(b);
		memcpy(&row->std_error, &bits, sizeof(bits));
		row->quality = ks_bytes_u8(b);
		/* Not a number, or infinite: it would spoil every sum that it gets into. */
		if (b->overrun || same >> 5 || (bits >> 23 & 0xff) == 0xff)
			return KS_EBADINPUT;
		if (i && compare_rows(row - 1, row) >= 0)
			return KS_EBADINPUT;
	}
	return 0;
}

static int unpack_body(struct ks_fleet_batch *batch, const void *data, size_t len)
{
	struct ks_bytes b;
	int err;

	ks_bytes_init(&b, data, len);
	if (ks_bytes_u16(&b) != VERSION)
		return KS_EBADINPUT;
	batch->host = ks_bytes_u64(&b);
	batch->boot = ks_bytes_u64(&b);
	batch->build = ks_bytes_u64(&b);
	batch->version = ks_bytes_u64(&b);
	batch->at = ks_bytes_u32(&b);
	batch->span = ks_bytes_u32(&b);
	batch->uptime = ks_bytes_u32(&b);
	batch->quality = ks_bytes_u8(&b);
	batch->lost = ks_bytes_varint(&b);
	batch->skipped = ks_bytes_varint(&b);
	batch->torn = (u32)ks_bytes_varint(&b);
	if (b.overrun || !batch->host || !batch->span || batch->span > 86400)
		return KS_EBADINPUT;
	err = take_names(batch, &b);
	if (!err)
		err = take_rows(batch, &b);
	return err ? err : b.overrun || ks_bytes_left(&b) ? KS_EBADINPUT : 0;
}

/* Stops at the ends: a batch may come from anybody. */
static s64 add(s64 a, s64 b)
{
	s64 sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* === Public =============================================================================== */

const char *ks_fleet_kind_name(unsigned int kind)
{
	return kinds[kind];
}

/* FNV-1a over the kind and the name, then mixed so that every bit of the result depends on all of it. */
u64 ks_fleet_id(enum ks_fleet_kind kind, const char *name, size_t len)
{
	u64 h = 0xcbf29ce484222325ull;
	size_t i;

	if (!len)
		return 0;
	h = (h ^ (u64)kind) * 0x100000001b3ull;
	for (i = 0; i < len; i++)
		h = (h ^ (u8)name[i]) * 0x100000001b3ull;
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15ull;
	h ^= h >> 29;
	h *= 0xd6e8feb86659fd93ull;
	h ^= h >> 32;
	return h ? h : 1;
}

void ks_fleet_batch_init(struct ks_fleet_batch *batch)
{
	memset(batch, 0, sizeof(*batch));
	ks_arena_init(&batch->arena);
}

void ks_fleet_batch_deinit(struct ks_fleet_batch *batch)
{
	ks_vec_free(&batch->rows);
	ks_vec_free(&batch->names);
	ks_vec_free(&batch->labels);
	ks_arena_deinit(&batch->arena);
}

int ks_fleet_batch_name(struct ks_fleet_batch *batch, struct ks_map64 *known,
			enum ks_fleet_kind kind, const char *name, u64 *ret_id)
{
	size_t len;
	const char *text = as_text(batch, name, &len), *copy;
	u64 id = text ? ks_fleet_id(kind, text, len) : 0;
	struct ks_fleet_name *item;

	if (!text)
		return -ENOMEM;
	if (id && (!known || ks_map64_find(known, id) == KS_NONE)) {
		copy = ks_arena_strndup(&batch->arena, text, len);
		item = copy ? ks_vec_push(&batch->names) : NULL;
		if (!item)
			return -ENOMEM;
		*item = (struct ks_fleet_name){ id, copy, (u32)len, (u8)kind };
		if (known && ks_map64_add(known, id) == KS_NONE)
			return -ENOMEM;
	}
	*ret_id = id;
	return 0;
}

int ks_fleet_batch_label(struct ks_fleet_batch *batch, const char *name, const char *value)
{
	size_t name_len, value_len;
	const char *n = as_text(batch, name, &name_len), *v = as_text(batch, value, &value_len);
	struct ks_fleet_label *label;

	n = n ? ks_arena_strndup(&batch->arena, n, name_len) : NULL;
	v = v ? ks_arena_strndup(&batch->arena, v, value_len) : NULL;
	label = n && v ? ks_vec_push(&batch->labels) : NULL;

	if (!label)
		return -ENOMEM;
	*label = (struct ks_fleet_label){ n, v };
	return 0;
}

void ks_fleet_batch_sort(struct ks_fleet_batch *batch)
{
	struct ks_fleet_row *rows = batch->rows.items;
	size_t i, to = 0;

	if (!batch->rows.len)
		return;
	qsort(rows, batch->rows.len, sizeof(*rows), compare_rows);
	for (i = 1; i < batch->rows.len; i++) {
		if (compare_rows(&rows[to], &rows[i])) {
			rows[++to] = rows[i];
			continue;
		}
		rows[to].live_bytes = add(rows[to].live_bytes, rows[i].live_bytes);
		rows[to].live_objects = add(rows[to].live_objects, rows[i].live_objects);
		rows[to].allocs += rows[i].allocs;
		rows[to].frees += rows[i].frees;
		rows[to].std_error += rows[i].std_error; /* at most that much */
		rows[to].quality |= rows[i].quality;
	}
	batch->rows.len = to + 1;
}

int ks_fleet_batch_pack(const struct ks_fleet_batch *batch, struct ks_strbuf *out)
{
	struct ks_strbuf body;
	size_t room, size;
	void *packed;
	int err = -ENOMEM;

	ks_strbuf_init(&body);
	pack_body(batch, &body);
	room = ZSTD_compressBound(body.len);
	packed = body.failed ? NULL : malloc(room);
	if (packed) {
		size = ZSTD_compress(packed, room, body.s, body.len, LEVEL);
		if (!ZSTD_isError(size)) {
			ks_strbuf_add(out, magic, sizeof(magic));
			ks_pack_uint(out, size, 4);
			ks_pack_uint(out, body.len, 4);
			ks_strbuf_add(out, packed, size);
			err = out->failed ? -ENOMEM : 0;
		}
	}
	free(packed);
	ks_strbuf_deinit(&body);
	return err;
}

int ks_fleet_batch_unpack(struct ks_fleet_batch *batch, const void *message, size_t len,
			  size_t *pos, struct ks_diag *diag)
{
	const char *what = "is cut off";
	const void *head, *packed;
	u32 size, room;
	size_t got;
	struct ks_bytes b;
	void *body;
	int err;

	if (*pos == len)
		return 0;
	ks_bytes_init(&b, (const char *)message + *pos, len - *pos);
	head = ks_bytes_take(&b, sizeof(magic));
	size = ks_bytes_u32(&b);
	room = ks_bytes_u32(&b);
	packed = ks_bytes_take(&b, size);
	if (head && memcmp(head, magic, sizeof(magic)))
		what = "does not begin with KSFB";
	if (!packed || memcmp(head, magic, sizeof(magic)))
		return ks_diag_set(diag, KS_EBADINPUT, "batch at byte %zu %s", *pos, what);
	if (room > KS_FLEET_BATCH_MAX)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "batch at byte %zu has %u bytes, more than %u", *pos, room,
				   (unsigned int)KS_FLEET_BATCH_MAX);
	body = malloc(room + 1u);
	if (!body)
		return ks_diag_nomem(diag, "unpacking a batch");
	got = ZSTD_decompress(body, room, packed, size);
	err = ZSTD_isError(got) || got != room ? KS_EBADINPUT : unpack_body(batch, body, room);
	free(body);
	if (err == -ENOMEM)
		return ks_diag_nomem(diag, "unpacking a batch");
	if (err)
		return ks_diag_set(diag, err, "batch at byte %zu is damaged", *pos);
	*pos += HEAD + size;
	return 1;
}
