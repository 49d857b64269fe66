// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Loads a snapshot. Checksums guard against damage, and every number is checked against its range, so that a snapshot
 * that was loaded can be used without further checks.
 */
#include "heap/snapshot-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/io.h"
#include "heap/snapshot-format.h"

/* === Data ================================================================================= */

enum {
	MAX_SECTION = 1 << 28
}; /* more is damage: it bounds what a hostile file can make us allocate */

static const char *const section_names[KS_HS_SECTIONS] = { "the facts", "the index", "the roots" };

struct worker {
	struct ks_hs_scratch scratch;
	ZSTD_DCtx *zstd;
	struct ks_hs_bytes stored;
};

struct loading {
	const char *path;
	int fd;
	u64 size;
	u64 features;
	struct ks_snapshot *s;
	u8 *sections[KS_HS_SECTIONS];
	u64 offsets[KS_HS_SECTIONS], lengths[KS_HS_SECTIONS];
	KS_VEC(struct ks_hs_block) blocks;
	KS_VEC(u32) first_ref; /* of each block */
	KS_VEC(struct ks_hs_root_block) root_blocks;
	struct worker *workers;
	unsigned int nr_workers;
	struct ks_diag *diags; /* of each block, those of roots behind those of objects */
	int *errors;
};

/* === Internals: reading =================================================================== */

static int damaged(const struct loading *l, u64 offset, const char *what, struct ks_diag *diag)
{
	return ks_diag_set(diag, KS_EBADINPUT,
			   "%s: the snapshot is damaged: %s (at byte %" PRIu64 ")", l->path, what,
			   offset);
}

static int nomem(struct ks_diag *diag)
{
	return ks_diag_nomem(diag, "loading a snapshot of a heap");
}

static int read_at(const struct loading *l, u64 offset, void *buf, size_t len, struct ks_diag *diag)
{
	ssize_t n = ks_pread_full(l->fd, buf, len, offset);

	if (n < 0)
		return ks_diag_set(diag, (int)n, "%s: cannot read at byte %" PRIu64 ": %s", l->path,
				   offset, strerror((int)-n));
	if ((size_t)n < len)
		return damaged(l, offset + (u64)n, "the file ends too early", diag);
	return 0;
}

/* Into @raw, which has room for frame->raw bytes. */
static int read_frame(const struct loading *l, struct worker *w, u64 offset,
		      const struct ks_hs_frame *frame, const char *what, void *raw,
		      struct ks_diag *diag)
{
	char text[96];
	size_t got;
	int err;

	if (offset > l->size || frame->stored > l->size - offset) {
		snprintf(text, sizeof(text), "%s would lie behind the end of the file", what);
		return damaged(l, offset, text, diag);
	}
	if (ks_reserve(w->stored.data, w->stored.cap, frame->stored))
		return nomem(diag);
	err = read_at(l, offset, w->stored.data, (size_t)frame->stored, diag);
	if (err)
		return err;
	got = ZSTD_decompressDCtx(w->zstd, raw, (size_t)frame->raw, w->stored.data,
				  (size_t)frame->stored);
	if (ZSTD_isError(got) || got != frame->raw) {
		snprintf(text, sizeof(text), "%s: %s", what,
			 ZSTD_isError(got) ? ZSTD_getErrorName(got) : "the length is wrong");
		return damaged(l, offset, text, diag);
	}
	return 0;
}

static int read_section(struct loading *l, struct ks_bytes *tail, enum ks_hs_section section,
			struct ks_diag *diag)
{
	struct ks_hs_frame frame;

	l->offsets[section] = ks_bytes_u64(tail);
	frame.stored = ks_bytes_u64(tail);
	frame.raw = ks_bytes_u64(tail);
	if (frame.raw > MAX_SECTION)
		return damaged(l, l->offsets[section], "a section is too long", diag);
	l->lengths[section] = frame.raw;
	l->sections[section] = malloc((size_t)frame.raw + 1);
	if (!l->sections[section])
		return nomem(diag);
	return read_frame(l, &l->workers[0], l->offsets[section], &frame, section_names[section],
			  l->sections[section], diag);
}

static int read_tail(struct loading *l, u64 offset, u32 len, struct ks_diag *diag)
{
	u32 sections = l->features & KS_HS_GRAPH ? KS_HS_SECTIONS : KS_HS_ROOTS, i;
	u8 bytes[KS_HS_SECTIONS * 24 + 4];
	struct ks_bytes tail;
	int err;

	if (len != sections * 24 + 4)
		return damaged(l, 0, "the tail is of another length than the header says", diag);
	if (offset > l->size || len > l->size - offset)
		return damaged(l, l->size, "the file ends before its tail", diag);
	err = read_at(l, offset, bytes, len, diag);
	if (err)
		return err;
	ks_bytes_init(&tail, bytes + len - 4, 4);
	if (crc32(0, bytes, len - 4) != ks_bytes_u32(&tail))
		return damaged(l, offset, "the checksum of the tail is wrong", diag);
	ks_bytes_init(&tail, bytes, len - 4);
	for (i = 0; i < sections && !err; i++)
		err = read_section(l, &tail, (enum ks_hs_section)i, diag);
	return err;
}

static int read_header(struct loading *l, struct ks_diag *diag)
{
	u8 header[KS_HS_HEADER_SIZE];
	struct ks_bytes b;
	u32 version, size, tail_len;
	u64 tail;
	ssize_t n = ks_pread_full(l->fd, header, sizeof(header), 0);

	if (n < 0)
		return ks_diag_set(diag, (int)n, "%s: cannot read: %s", l->path, strerror((int)-n));
	if (!n)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: the file is empty", l->path);
	if (!ks_snapshot_probe(header, (size_t)n))
		return ks_diag_set(diag, KS_EBADINPUT, "%s: is not a snapshot of a heap", l->path);
	if ((size_t)n < sizeof(header))
		return damaged(l, (u64)n, "the file is too short for a header", diag);
	ks_bytes_init(&b, header + KS_HS_MAGIC_LEN, sizeof(header) - KS_HS_MAGIC_LEN);
	version = ks_bytes_u32(&b);
	size = ks_bytes_u32(&b);
	l->features = ks_bytes_u64(&b);
	tail = ks_bytes_u64(&b);
	tail_len = ks_bytes_u32(&b);
	if (version != KS_HS_VERSION || size != KS_HS_HEADER_SIZE)
		return ks_diag_set(
			diag, KS_EBADINPUT,
			"%s: is a snapshot of a heap of version %u; this program reads version %u",
			l->path, version, KS_HS_VERSION);
	if (crc32(0, header, sizeof(header) - 4) != ks_bytes_u32(&b))
		return damaged(l, 0, "the checksum of the header is wrong", diag);
	if (l->features & ~KS_HS_GRAPH)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: uses features 0x%" PRIx64
				   " that this program does not know",
				   l->path, l->features & ~KS_HS_GRAPH);
	return read_tail(l, tail, tail_len, diag);
}

/* === Internals: the index ================================================================= */

static bool read_columns(const struct loading *l, struct ks_bytes *b, u64 offset, int from, int to,
			 u32 objects, u32 refs, struct ks_hs_frame *columns)
{
	int i;

	for (i = from; i < to; i++, columns++) {
		columns->stored = ks_bytes_varint(b);
		columns->raw = ks_bytes_varint(b);
		if (offset > l->size || columns->stored > l->size - offset ||
		    columns->raw > ks_hs_column_max((enum ks_hs_column)i, objects, refs))
			return false;
		offset += columns->stored;
	}
	return true;
}

static int parse_blocks(struct loading *l, struct ks_bytes *b)
{
	size_t count = ks_hs_blocks(l->s->count, KS_HS_BLOCK), i;
	int columns = ks_hs_columns(l->features);
	u64 refs = 0;

	if (count > ks_bytes_left(b))
		return KS_EBADINPUT;
	if (ks_vec_reserve(&l->blocks, count + 1) || ks_vec_reserve(&l->first_ref, count + 1))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		struct ks_hs_block *block = ks_vec_push(&l->blocks);
		u64 here;

		block->offset = ks_bytes_varint(b);
		here = l->features & KS_HS_GRAPH ? ks_bytes_varint(b) : 0;
		if (here > l->s->refs.len - refs)
			return KS_EBADINPUT;
		block->refs = (u32)here;
		l->first_ref.items[i] = (u32)refs;
		refs += here;
		if (!read_columns(l, b, block->offset, 0, columns, ks_hs_block_len(l->s->count, i),
				  block->refs, block->columns))
			return KS_EBADINPUT;
	}
	return refs == l->s->refs.len ? 0 : KS_EBADINPUT;
}

static int parse_root_blocks(struct loading *l, struct ks_bytes *b)
{
	size_t count = ks_hs_blocks(l->s->root_refs.len, KS_HS_ROOT_BLOCK), i;

	if (count > ks_bytes_left(b))
		return KS_EBADINPUT;
	if (ks_vec_reserve(&l->root_blocks, count + 1))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		struct ks_hs_root_block *block = ks_vec_push(&l->root_blocks);

		block->offset = ks_bytes_varint(b);
		if (!read_columns(l, b, block->offset, KS_HS_AT, KS_HS_COLUMNS, 0,
				  ks_hs_root_block_len(l->s->root_refs.len, i), block->columns))
			return KS_EBADINPUT;
	}
	return 0;
}

static int parse_index(struct loading *l, struct ks_diag *diag)
{
	u64 count, refs = 0, root_refs = 0;
	struct ks_bytes b;
	int err;

	ks_bytes_init(&b, l->sections[KS_HS_INDEX], (size_t)l->lengths[KS_HS_INDEX]);
	count = ks_bytes_varint(&b);
	if (l->features & KS_HS_GRAPH) {
		refs = ks_bytes_varint(&b);
		root_refs = ks_bytes_varint(&b);
	}
	if (count >= UINT32_MAX || refs >= UINT32_MAX || root_refs >= UINT32_MAX)
		return damaged(l, l->offsets[KS_HS_INDEX], "the index has too many objects", diag);
	/* The arrays are made when the index is known to be right. */
	l->s->count = (u32)count;
	l->s->refs.len = (size_t)refs;
	l->s->root_refs.len = (size_t)root_refs;
	err = parse_blocks(l, &b);
	if (!err)
		err = parse_root_blocks(l, &b);
	if (!err && (b.overrun || ks_bytes_left(&b)))
		err = KS_EBADINPUT;
	if (err == KS_EBADINPUT)
		return damaged(l, l->offsets[KS_HS_INDEX], "the index makes no sense", diag);
	return err ? nomem(diag) : 0;
}

/* === Internals: blocks ==================================================================== */

static int load_columns(struct loading *l, struct worker *w, u64 offset, int from, int to,
			const struct ks_hs_frame *columns, struct ks_diag *diag)
{
	int i, err = 0;

	for (i = 0; i < KS_HS_COLUMNS; i++)
		w->scratch.columns[i].len = 0;
	for (i = from; i < to && !err; i++, columns++) {
		struct ks_hs_bytes *b = &w->scratch.columns[i];

		if (ks_reserve(b->data, b->cap, columns->raw + 1))
			return nomem(diag);
		b->len = (size_t)columns->raw;
		err = read_frame(l, w, offset, columns, ks_hs_column_name((enum ks_hs_column)i),
				 b->data, diag);
		offset += columns->stored;
	}
	return err;
}

static int said(const struct loading *l, int err, u64 offset, enum ks_hs_column column,
		struct ks_diag *diag)
{
	char text[96];

	if (err == -ENOMEM)
		return nomem(diag);
	if (!err)
		return 0;
	snprintf(text, sizeof(text), "%s make no sense in a block", ks_hs_column_name(column));
	return damaged(l, offset, text, diag);
}

static int load_objects(struct loading *l, struct worker *w, size_t block, struct ks_diag *diag)
{
	const struct ks_hs_block *b = &l->blocks.items[block];
	enum ks_hs_column column = 0;
	int err = load_columns(l, w, b->offset, 0, ks_hs_columns(l->features), b->columns, diag);

	if (err)
		return err;
	err = ks_hs_unpack_objects(l->s, block, l->first_ref.items[block], b->refs, &w->scratch,
				   &column);
	return said(l, err, b->offset, column, diag);
}

static int load_root_refs(struct loading *l, struct worker *w, size_t block, struct ks_diag *diag)
{
	const struct ks_hs_root_block *b = &l->root_blocks.items[block];
	enum ks_hs_column column = 0;
	int err = load_columns(l, w, b->offset, KS_HS_AT, KS_HS_COLUMNS, b->columns, diag);

	if (err)
		return err;
	return said(l, ks_hs_unpack_root_refs(l->s, block, &w->scratch, &column), b->offset, column,
		    diag);
}

static void load_block(void *arg, size_t index, unsigned int number)
{
	struct loading *l = arg;
	struct worker *w = &l->workers[number];

	l->errors[index] = index < l->blocks.len
				   ? load_objects(l, w, index, &l->diags[index])
				   : load_root_refs(l, w, index - l->blocks.len, &l->diags[index]);
}

static int make_arrays(struct ks_snapshot *s, bool graph)
{
	u64 refs = s->refs.len, root_refs = s->root_refs.len;

	s->addr = ks_array_new(s->count + 1ull, sizeof(*s->addr));
	s->cache = ks_array_new(s->count + 1ull, sizeof(*s->cache));
	s->type = ks_array_new(s->count + 1ull, sizeof(*s->type));
	s->known_by = ks_array_new(s->count + 1ull, sizeof(*s->known_by));
	s->cgroup = ks_array_new(s->count + 1ull, sizeof(*s->cgroup));
	s->checksum = ks_array_new(s->count + 1ull, sizeof(*s->checksum));
	if (!s->addr || !s->cache || !s->type || !s->known_by || !s->cgroup || !s->checksum)
		return -ENOMEM;
	if (!graph)
		return 0;
	s->ref_first = calloc(s->count + 1ull, sizeof(*s->ref_first));
	return s->ref_first && !ks_vec_reserve(&s->refs, refs + 1) &&
			       !ks_vec_reserve(&s->root_refs, root_refs + 1)
		       ? 0
		       : -ENOMEM;
}

/* Within a block this was checked when it was unpacked. */
static int check_order(const struct loading *l, struct ks_diag *diag)
{
	const struct ks_snapshot *s = l->s;
	size_t i;

	for (i = 1; i < l->blocks.len; i++)
		if (s->addr[i * KS_HS_BLOCK] <= s->addr[i * KS_HS_BLOCK - 1])
			return damaged(l, l->blocks.items[i].offset,
				       "objects are not in the order of their addresses", diag);
	return 0;
}

static int load_blocks(struct loading *l, struct ks_diag *diag)
{
	size_t count = l->blocks.len + l->root_blocks.len, i;

	if (make_arrays(l->s, l->features & KS_HS_GRAPH))
		return nomem(diag);
	l->diags = calloc(count + 1, sizeof(*l->diags));
	l->errors = calloc(count + 1, sizeof(*l->errors));
	if (!l->diags || !l->errors)
		return nomem(diag);
	ks_parallel_for(count, load_block, l);
	for (i = 0; i < count; i++)
		if (l->errors[i]) {
			*diag = l->diags[i];
			return l->errors[i];
		}
	return check_order(l, diag);
}

/* === Internals: the whole ================================================================= */

static int unpack_section(struct loading *l, enum ks_hs_section section, struct ks_diag *diag)
{
	const char *what = "";
	struct ks_bytes b;
	char text[160];
	int err;

	ks_bytes_init(&b, l->sections[section], (size_t)l->lengths[section]);
	err = section == KS_HS_FACTS ? ks_hs_unpack_facts(l->s, &b, &what)
				     : ks_hs_unpack_roots(l->s, &b, l->s->root_refs.len, &what);
	if (err != KS_EBADINPUT)
		return err ? nomem(diag) : 0;
	snprintf(text, sizeof(text), "%s make no sense: %s", section_names[section], what);
	return damaged(l, l->offsets[section], text, diag);
}

static int start_workers(struct loading *l, struct ks_diag *diag)
{
	unsigned int i, count = ks_parallel_workers(1 << 16);

	l->workers = calloc(count, sizeof(*l->workers));
	if (!l->workers)
		return nomem(diag);
	l->nr_workers = count;
	for (i = 0; i < count; i++) {
		l->workers[i].zstd = ZSTD_createDCtx();
		if (ks_hs_scratch_init(&l->workers[i].scratch) || !l->workers[i].zstd)
			return nomem(diag);
	}
	return 0;
}

static int load(struct loading *l, struct ks_diag *diag)
{
	int err = start_workers(l, diag);

	if (!err)
		err = read_header(l, diag);
	if (!err)
		err = parse_index(l, diag);
	if (!err)
		err = unpack_section(l, KS_HS_FACTS, diag);
	if (!err && l->features & KS_HS_GRAPH)
		err = unpack_section(l, KS_HS_ROOTS, diag);
	return err ? err : load_blocks(l, diag);
}

static void end_loading(struct loading *l)
{
	unsigned int i;

	for (i = 0; i < l->nr_workers; i++) {
		ks_hs_scratch_deinit(&l->workers[i].scratch);
		ZSTD_freeDCtx(l->workers[i].zstd);
		free(l->workers[i].stored.data);
	}
	free(l->workers);
	for (i = 0; i < KS_HS_SECTIONS; i++)
		free(l->sections[i]);
	ks_vec_free(&l->blocks);
	ks_vec_free(&l->first_ref);
	ks_vec_free(&l->root_blocks);
	free(l->diags);
	free(l->errors);
}

/* A pipe can't be read here and there. */
static int open_file(struct loading *l, struct ks_diag *diag)
{
	struct stat st;

	l->fd = open(l->path, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0 || fstat(l->fd, &st))
		return ks_diag_set(diag, -errno, "%s: cannot open: %s", l->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ks_diag_set(diag, -EINVAL, "%s: a snapshot must be a regular file", l->path);
	l->size = (u64)st.st_size;
	return 0;
}

/* === Public =============================================================================== */

bool ks_snapshot_probe(const void *head, size_t len)
{
	return len >= KS_HS_MAGIC_LEN && !memcmp(head, KS_HS_MAGIC, KS_HS_MAGIC_LEN);
}

int ks_snapshot_load(const char *path, struct ks_snapshot **ret_snapshot, struct ks_diag *diag)
{
	struct loading l = { .path = path, .fd = -1 };
	int err = ks_snapshot_new(&l.s, diag);

	if (!err)
		err = open_file(&l, diag);
	if (!err)
		err = load(&l, diag);
	end_loading(&l);
	if (l.fd >= 0)
		close(l.fd);
	if (err)
		ks_snapshot_free(l.s);
	else
		*ret_snapshot = l.s;
	return err;
}
