// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Reading a DB file. Nothing in it is trusted: checksums guard against damage, and every number is
 * checked against its range, so that a block that was read can be used without further checks.
 */
#include "db/ksdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/io.h"
#include "db/ksdb-format.h"

/* === Data ================================================================================= */

/* Sizes beyond these are damage: they bound what a hostile file can make us allocate. */
enum { MAX_SECTION = 1 << 30, MAX_TABLE = 1 << 24 };

/* === Internals ============================================================================ */

static int read_at(const struct ks_db *db, u64 offset, void *buf, size_t len, struct ks_diag *diag)
{
	ssize_t n = ks_pread_full(db->fd, buf, len, offset);

	if (n < 0)
		return ks_diag_set(diag, (int)n, "%s: cannot read at byte %llu: %s", db->path,
				   (unsigned long long)offset, strerror((int)-n));
	if ((size_t)n < len)
		return ks_db_damaged(db, offset + (u64)n, "the file ends too early", diag);
	return 0;
}

static int read_section(struct ks_db *db, struct ks_bytes *tail, ZSTD_DCtx *zstd, const char *what,
			u8 **ret_data, size_t *ret_len, struct ks_diag *diag)
{
	u64 offset = ks_bytes_u64(tail);
	struct ks_db_frame col;
	u8 *stored = NULL, *raw;
	size_t cap = 0;
	int err;

	col.stored = ks_bytes_u64(tail);
	col.raw = ks_bytes_u64(tail);
	if (tail->overrun || col.raw > MAX_SECTION)
		return ks_db_damaged(db, offset, what, diag);
	raw = malloc((size_t)col.raw + 1);
	if (!raw)
		return ks_diag_nomem(diag, "reading a DB");
	err = ks_db_read_frame(db, zstd, offset, &col, &stored, &cap, raw, what, diag);
	free(stored);
	if (err) {
		free(raw);
		return err;
	}
	*ret_data = raw;
	*ret_len = (size_t)col.raw;
	return 0;
}

/* Names must come out with the numbers they went in with: each is new. */
static int parse_names(struct ks_db *db, struct ks_bytes *b)
{
	struct ks_intern *tables[] = { NULL, &db->names->caches, &db->names->comms,
				       &db->names->gfps };
	size_t table;

	for (table = 0; table < ARRAY_SIZE(tables); table++) {
		u64 count = ks_bytes_varint(b), i;

		if (count > ks_bytes_left(b))
			return KS_EBADINPUT;
		for (i = 0; i < count; i++) {
			size_t len;
			const char *s = ks_bytes_string(b, &len);
			u32 id;

			if (!s)
				return KS_EBADINPUT;
			id = table ? ks_intern_add(tables[table], s, len)
				   : ks_sites_add(&db->names->sites, s, len);
			if (id == KS_NONE)
				return -ENOMEM;
			if (id != i)
				return KS_EBADINPUT;
		}
	}
	return b->overrun || ks_bytes_left(b) ? KS_EBADINPUT : 0;
}

static int parse_host(struct ks_db *db, struct ks_bytes *b)
{
	struct {
		char *to;
		size_t cap;
	} texts[] = { { db->host.kernel, sizeof(db->host.kernel) },
		      { db->host.arch, sizeof(db->host.arch) } };
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *s = ks_bytes_string(b, &len);

		if (!s || len >= texts[i].cap)
			return KS_EBADINPUT;
		memcpy(texts[i].to, s, len);
	}
	db->host.cpus = (u32)ks_min(ks_bytes_varint(b), (u64)UINT32_MAX);
	return b->overrun || ks_bytes_left(b) ? KS_EBADINPUT : 0;
}

/* Frames and stacks must come out with the numbers they went in with, too. */
static int parse_stacks(struct ks_db *db, struct ks_bytes *b)
{
	u64 count = ks_bytes_varint(b), i, k;

	for (i = 0; i < count; i++) {
		size_t len;
		const char *s = ks_bytes_string(b, &len);
		u32 id = s ? ks_sites_add(&db->names->frames, s, len) : 0;

		if (id == KS_NONE)
			return -ENOMEM;
		if (!s || id != i)
			return KS_EBADINPUT;
	}
	count = ks_bytes_varint(b);
	for (i = 0; i < count; i++) {
		u32 frames[KS_STACK_MAX], id;
		u64 len = ks_bytes_varint(b);

		if (!len || len > KS_STACK_MAX)
			return KS_EBADINPUT;
		for (k = 0; k < len; k++) {
			u64 frame = ks_bytes_varint(b);

			if (b->overrun || frame >= db->names->frames.sites.len)
				return KS_EBADINPUT;
			frames[k] = (u32)frame;
		}
		id = ks_names_add_stack(db->names, frames, (size_t)len);
		if (id == KS_NONE)
			return -ENOMEM;
		if (id != i)
			return KS_EBADINPUT;
	}
	return b->overrun || ks_bytes_left(b) ? KS_EBADINPUT : 0;
}

static int parse_nodes(struct ks_db *db, struct ks_bytes *b)
{
	u64 count = ks_bytes_varint(b), i;

	if (count > KS_CPU_UNKNOWN)
		return KS_EBADINPUT;
	for (i = 0; i < count; i++) {
		u64 node = ks_bytes_varint(b);
		u16 *slot = ks_vec_push(&db->nodes);

		if (!slot)
			return -ENOMEM;
		if (b->overrun || node > UINT16_MAX)
			return KS_EBADINPUT;
		*slot = (u16)node;
	}
	return b->overrun || ks_bytes_left(b) ? KS_EBADINPUT : 0;
}

static int parse_census(struct ks_db *db, struct ks_bytes *b)
{
	while (ks_bytes_left(b) && !b->overrun) {
		struct ks_slab_census *census;
		enum ks_census_when when;
		size_t len;
		const char *data = ks_bytes_string(b, &len);
		int err = data ? ks_slab_census_unpack(data, len, &census, &when, NULL)
			       : KS_EBADINPUT;

		if (err)
			return err;
		ks_slab_census_free(db->census[when]);
		db->census[when] = census;
	}
	return b->overrun ? KS_EBADINPUT : 0;
}

static bool block_fits(const struct ks_db *db, const struct ks_db_entry *e)
{
	const struct ks_db_frame *c = e->columns;
	u64 at = e->info.offset;
	int i;

	for (i = 0; i < KS_DB_COLUMNS; i++) {
		if (at > db->size || c[i].stored > db->size - at)
			return false;
		at += c[i].stored;
	}
	return e->info.count && e->info.count <= KS_DB_BLOCK_EVENTS &&
	       c[KS_COL_SHAPES].raw <= MAX_TABLE &&
	       c[KS_COL_SHAPE_OF].raw == e->info.count * 2ull &&
	       c[KS_COL_TASK_OF].raw == e->info.count * 2ull &&
	       c[KS_COL_TS].raw == e->info.count * (e->wide_ts ? 8ull : 4ull) &&
	       c[KS_COL_SLOT].raw % 4 == 0 && c[KS_COL_SLOT].raw <= e->info.count * 4ull &&
	       c[KS_COL_PTR].raw % 8 == 0 && c[KS_COL_PTR].raw <= e->info.count * 8ull;
}

static int parse_index(struct ks_db *db, struct ks_bytes *b)
{
	u64 count, events = 0, i;
	int col, level;

	db->events = ks_bytes_varint(b);
	for (level = 0; level < KS_DB_LEVELS; level++)
		db->slots[level] = ks_bytes_varint(b);
	count = ks_bytes_varint(b);
	if (count > ks_bytes_left(b))
		return KS_EBADINPUT;
	for (i = 0; i < count; i++) {
		struct ks_db_entry *e = ks_vec_push(&db->blocks);

		if (!e)
			return -ENOMEM;
		e->info.offset = ks_bytes_varint(b);
		e->info.count = (u32)ks_min(ks_bytes_varint(b), (u64)UINT32_MAX);
		e->wide_ts = ks_bytes_varint(b) & KS_DB_BLOCK_WIDE_TS;
		e->first_ts = ks_bytes_varint(b);
		e->info.min_ts = ks_bytes_varint(b);
		e->info.max_ts = ks_bytes_varint(b);
		for (col = 0; col < KS_DB_COLUMNS; col++) {
			e->columns[col].stored = ks_bytes_varint(b);
			e->columns[col].raw = ks_bytes_varint(b);
		}
		if (b->overrun || !block_fits(db, e))
			return KS_EBADINPUT;
		events += e->info.count;
	}
	for (level = 0; level < KS_DB_LEVELS; level++)
		if (db->slots[level] > events || db->slots[level] >= KS_NONE)
			return KS_EBADINPUT;
	return b->overrun || ks_bytes_left(b) || events != db->events ? KS_EBADINPUT : 0;
}

static int parse_section(struct ks_db *db, enum ks_db_section section, struct ks_bytes *b)
{
	switch (section) {
	case KS_SEC_NAMES:
		return parse_names(db, b);
	case KS_SEC_INDEX:
		return parse_index(db, b);
	case KS_SEC_HOST:
		return parse_host(db, b);
	case KS_SEC_STACKS:
		return parse_stacks(db, b);
	case KS_SEC_NODES:
		return parse_nodes(db, b);
	case KS_SEC_CENSUS:
		return parse_census(db, b);
	case KS_SEC_SUMMARY: /* is kept as it is */
	case KS_DB_SECTIONS:
		break;
	}
	return 0;
}

static int read_sections(struct ks_db *db, u64 features, struct ks_bytes *tail, u64 tail_offset,
			 struct ks_diag *diag)
{
	static const char *const what[] = { "the names",  "the summary", "the index", "the host",
					    "the stacks", "the nodes",	 "the census" };
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	int i, err = zstd ? 0 : ks_diag_nomem(diag, "reading a DB");

	for (i = 0; i < KS_DB_SECTIONS && !err; i++) {
		struct ks_bytes b;
		size_t len = 0;
		u8 *data = NULL;

		if (!ks_db_has_section(features, (enum ks_db_section)i))
			continue;
		err = read_section(db, tail, zstd, what[i], &data, &len, diag);
		if (err)
			break;
		ks_bytes_init(&b, data, len);
		err = parse_section(db, (enum ks_db_section)i, &b);
		if (i == KS_SEC_SUMMARY) {
			db->summary = data;
			db->summary_len = len;
		} else {
			free(data);
		}
		if (err)
			err = err == -ENOMEM
				      ? ks_diag_nomem(diag, "reading a DB")
				      : ks_db_damaged(
						db, tail_offset,
						"names, index, host, stacks, nodes or census make no sense",
						diag);
	}
	ZSTD_freeDCtx(zstd);
	return err;
}

static int read_tail(struct ks_db *db, u64 features, u64 offset, u32 len, struct ks_diag *diag)
{
	u8 bytes[KS_DB_SECTIONS * 24 + 4];
	struct ks_bytes tail;
	u32 want = 4;
	int i, err;

	for (i = 0; i < KS_DB_SECTIONS; i++)
		want += ks_db_has_section(features, (enum ks_db_section)i) ? 24 : 0;
	if (len != want || offset > db->size || len > db->size - offset)
		return ks_db_damaged(db, offset, "the tail is not where the header says", diag);
	err = read_at(db, offset, bytes, len, diag);
	if (err)
		return err;
	ks_bytes_init(&tail, bytes + len - 4, 4);
	if (crc32(0, bytes, len - 4) != ks_bytes_u32(&tail))
		return ks_db_damaged(db, offset, "the checksum of the tail is wrong", diag);
	ks_bytes_init(&tail, bytes, len - 4);
	return read_sections(db, features, &tail, offset, diag);
}

static int read_header(struct ks_db *db, struct ks_diag *diag)
{
	u8 header[KS_DB_HEADER_SIZE];
	struct ks_bytes b;
	u64 features, tail_offset;
	u32 version, size, tail_len;
	int err;

	if (db->size < sizeof(header))
		return ks_db_damaged(db, db->size, "the file is too short for a header", diag);
	err = read_at(db, 0, header, sizeof(header), diag);
	if (err)
		return err;
	ks_bytes_init(&b, header, sizeof(header));
	if (memcmp(ks_bytes_take(&b, KS_DB_MAGIC_LEN), KS_DB_MAGIC, KS_DB_MAGIC_LEN))
		return ks_diag_set(diag, KS_EBADINPUT, "%s: is not a kmemscope DB", db->path);
	version = ks_bytes_u32(&b);
	size = ks_bytes_u32(&b);
	features = ks_bytes_u64(&b);
	tail_offset = ks_bytes_u64(&b);
	tail_len = ks_bytes_u32(&b);
	db->version = version;
	if (!version || version > KS_DB_VERSION || size != KS_DB_HEADER_SIZE)
		return ks_diag_set(
			diag, KS_EBADINPUT,
			"%s: is a kmemscope DB of version %u; this program reads versions up to %u",
			db->path, version, KS_DB_VERSION);
	if (crc32(0, header, sizeof(header) - 4) != ks_bytes_u32(&b))
		return ks_db_damaged(db, 0, "the checksum of the header is wrong", diag);
	if (features & ~KS_DB_FEATURES)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: uses features 0x%llx that this program does not know",
				   db->path, (unsigned long long)(features & ~KS_DB_FEATURES));
	return read_tail(db, features, tail_offset, tail_len, diag);
}

/* === Public =============================================================================== */

int ks_db_damaged(const struct ks_db *db, u64 offset, const char *what, struct ks_diag *diag)
{
	return ks_diag_set(
		diag, KS_EBADINPUT,
		"%s: the DB is damaged: %s (at byte %llu); make it again from the capture",
		db->path, what, (unsigned long long)offset);
}

int ks_db_read_frame(const struct ks_db *db, ZSTD_DCtx *zstd, u64 offset,
		     const struct ks_db_frame *frame, u8 **stored, size_t *stored_cap, void *raw,
		     const char *what, struct ks_diag *diag)
{
	size_t got;
	int err;

	if (offset > db->size || frame->stored > db->size - offset)
		return ks_db_damaged(db, offset, what, diag);
	if (ks_reserve(*stored, *stored_cap, frame->stored))
		return ks_diag_nomem(diag, "reading a DB");
	err = read_at(db, offset, *stored, (size_t)frame->stored, diag);
	if (err)
		return err;
	got = ZSTD_decompressDCtx(zstd, raw, (size_t)frame->raw, *stored, (size_t)frame->stored);
	if (ZSTD_isError(got) || got != frame->raw)
		return ks_db_damaged(db, offset, what, diag);
	return 0;
}

int ks_db_open(int fd, u64 size, const char *path, struct ks_names *names, struct ks_db **ret_db,
	       struct ks_diag *diag)
{
	struct ks_db *db = calloc(1, sizeof(*db));
	int err;

	if (!db)
		return ks_diag_nomem(diag, "opening a DB");
	db->fd = fd;
	db->size = size;
	db->names = names;
	db->path = strdup(path);
	err = db->path ? read_header(db, diag) : ks_diag_nomem(diag, "opening a DB");
	if (err)
		ks_db_free(db);
	else
		*ret_db = db;
	return err;
}

void ks_db_free(struct ks_db *db)
{
	int i;

	if (!db)
		return;
	free(db->path);
	free(db->summary);
	ks_vec_free(&db->blocks);
	ks_vec_free(&db->nodes);
	for (i = 0; i < KS_CENSUS_WHENS; i++)
		ks_slab_census_free(db->census[i]);
	free(db);
}

const char *ks_db_path(const struct ks_db *db)
{
	return db->path;
}

u32 ks_db_version(const struct ks_db *db)
{
	return db->version;
}

struct ks_names *ks_db_names(struct ks_db *db)
{
	return db->names;
}

const struct ks_host *ks_db_host(const struct ks_db *db)
{
	return &db->host;
}

const void *ks_db_summary(const struct ks_db *db, size_t *ret_len)
{
	*ret_len = db->summary_len;
	return db->summary;
}

const struct ks_slab_census *ks_db_census(const struct ks_db *db, enum ks_census_when when)
{
	return db->census[when];
}

const u16 *ks_db_nodes(const struct ks_db *db, size_t *ret_len)
{
	*ret_len = db->nodes.len;
	return db->nodes.items;
}

u64 ks_db_events(const struct ks_db *db)
{
	return db->events;
}

u32 ks_db_slots(const struct ks_db *db)
{
	return (u32)ks_max(db->slots[0], db->slots[1]);
}

size_t ks_db_blocks(const struct ks_db *db)
{
	return db->blocks.len;
}

struct ks_db_block_info ks_db_block_info(const struct ks_db *db, size_t i)
{
	return db->blocks.items[i].info;
}
