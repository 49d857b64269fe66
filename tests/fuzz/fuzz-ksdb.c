// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as the content of a DB: names, summary and columns are taken from the input and packed
 * with correct checksums, so that the fuzzer gets past the checksums.
 *
 * Input: for each of the twelve parts a u16 length, then the parts. Missing bytes make parts short.
 * An empty summary is replaced by a good one of the newest version, so that the blocks are reached;
 * other summaries are of version 1. An empty host, empty
 * stacks and empty nodes are left out.
 */
#include "fuzz.h"

#include <zlib.h>
#include <zstd.h>

#include "analysis/facts.h"
#include "base/bytes.h"
#include "base/pack.h"
#include "db/ksdb-format.h"

enum {
	PART_NAMES,
	PART_SUMMARY,
	PART_COUNT,
	PART_COLUMNS,
	PART_HOST = PART_COLUMNS + KS_DB_COLUMNS,
	PART_STACKS,
	PART_NODES,
	PARTS
};

struct part {
	const void *data;
	size_t len;
};

static size_t add_frame(struct ks_strbuf *file, const void *data, size_t len)
{
	static ZSTD_CCtx *zstd; /* to make one takes longer than to use it */
	size_t bound = ZSTD_compressBound(len), got;
	char *packed = malloc(bound);

	if (!zstd)
		zstd = ZSTD_createCCtx();
	FUZZ_ASSERT(packed && zstd);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	got = ZSTD_compress2(zstd, packed, bound, data, len);
	FUZZ_ASSERT(!ZSTD_isError(got));
	ks_strbuf_add(file, packed, got);
	free(packed);
	return got;
}

/* An index with one block whose lengths are right, and whose counts the input chose. */
static void pack_index(struct ks_strbuf *index, const struct part *parts, const size_t *stored,
		       struct ks_bytes *choice)
{
	u64 count = ks_bytes_u16(choice), slots = ks_bytes_u16(choice);
	u8 flags = ks_bytes_u8(choice);
	int i;

	ks_pack_varint(index, count);
	ks_pack_varint(index, ks_min(slots, count));
	ks_pack_varint(index, ks_min(slots / 2, count));
	ks_pack_varint(index, 1);
	ks_pack_varint(index, KS_DB_HEADER_SIZE);
	ks_pack_varint(index, count);
	ks_pack_varint(index, flags);
	ks_pack_varint(index, 1000);
	ks_pack_varint(index, 0);
	ks_pack_varint(index, UINT64_MAX);
	for (i = 0; i < KS_DB_COLUMNS; i++) {
		ks_pack_varint(index, stored[i]);
		ks_pack_varint(index, parts[PART_COLUMNS + i].len);
	}
}

static void build(struct ks_strbuf *file, const struct part *parts)
{
	struct ks_strbuf tail, index, head;
	size_t stored[KS_DB_COLUMNS], start;
	struct ks_bytes choice;
	const struct part *sections[KS_DB_SECTIONS];
	struct part index_part, good_part;
	struct ks_strbuf good;
	u64 features = (parts[PART_HOST].len ? KS_DB_HAS_HOST : 0) |
		       (parts[PART_STACKS].len ? KS_DB_HAS_STACKS : 0) |
		       (parts[PART_NODES].len ? KS_DB_HAS_NODES : 0);
	int i;

	ks_strbuf_init(&tail);
	ks_strbuf_init(&index);
	ks_strbuf_init(&head);
	ks_strbuf_init(&good);
	ks_pack_varint(&good, KS_PAGE_SHIFT);
	ks_facts_pack(&(struct ks_facts){ .format = "fuzz", .clock = KS_CLOCK_SECONDS }, &good);
	ks_pack_varint(&good, sizeof(struct ks_stat) / sizeof(u64));
	for (i = 0; i < KS_LEVELS * (int)(sizeof(struct ks_stat) / sizeof(u64) + 1); i++)
		ks_pack_varint(&good, 0); /* sums of nothing, of no sites */
	good_part = (struct part){ good.s, good.len };
	for (i = 0; i < KS_DB_HEADER_SIZE; i++)
		ks_strbuf_add(file, "", 1);
	for (i = 0; i < KS_DB_COLUMNS; i++)
		stored[i] =
			add_frame(file, parts[PART_COLUMNS + i].data, parts[PART_COLUMNS + i].len);
	ks_bytes_init(&choice, parts[PART_COUNT].data, parts[PART_COUNT].len);
	pack_index(&index, parts, stored, &choice);
	index_part = (struct part){ index.s, index.len };
	sections[KS_SEC_NAMES] = &parts[PART_NAMES];
	sections[KS_SEC_SUMMARY] = parts[PART_SUMMARY].len ? &parts[PART_SUMMARY] : &good_part;
	sections[KS_SEC_INDEX] = &index_part;
	sections[KS_SEC_HOST] = &parts[PART_HOST];
	sections[KS_SEC_STACKS] = &parts[PART_STACKS];
	sections[KS_SEC_NODES] = &parts[PART_NODES];
	for (i = 0; i < KS_DB_SECTIONS; i++) {
		if (!ks_db_has_section(features, (enum ks_db_section)i))
			continue;
		start = file->len;
		ks_pack_uint(&tail, start, 8);
		ks_pack_uint(&tail, add_frame(file, sections[i]->data, sections[i]->len), 8);
		ks_pack_uint(&tail, sections[i]->len, 8);
	}
	ks_pack_uint(&tail, crc32(0, (const Bytef *)tail.s, (uInt)tail.len), 4);
	ks_strbuf_add(&head, KS_DB_MAGIC, KS_DB_MAGIC_LEN);
	ks_pack_uint(&head, parts[PART_SUMMARY].len ? 1 : KS_DB_VERSION, 4);
	ks_pack_uint(&head, KS_DB_HEADER_SIZE, 4);
	ks_pack_uint(&head, features, 8);
	ks_pack_uint(&head, file->len, 8);
	ks_pack_uint(&head, tail.len, 4);
	ks_pack_uint(&head, crc32(0, (const Bytef *)head.s, (uInt)head.len), 4);
	ks_strbuf_add(file, tail.s, tail.len);
	memcpy(file->s, head.s, head.len);
	ks_strbuf_deinit(&tail);
	ks_strbuf_deinit(&index);
	ks_strbuf_deinit(&head);
	ks_strbuf_deinit(&good);
}

static void ask(const char *path, const struct ks_analysis_opts *opts, enum ks_by by,
		bool from_blocks)
{
	struct ks_view *view = NULL;
	struct ks_diag diag = { 0 };
	struct ks_model *model;
	int err;

	if (by == KS_BY_CACHE)
		view = ks_timeline_view_new();
	else if (by == KS_BY_SIZE)
		view = ks_leaks_view_new(0, true);
	else if (by == KS_BY_PID)
		view = ks_frag_view_new();
	err = analyze_file(path, opts, by, view, &model, &diag);

	if (err) {
		FUZZ_ASSERT(diag.err == err && diag.text[0]);
		return;
	}
	if (from_blocks) /* a ready summary may hold any numbers */
		fuzz_check_model(model);
	ks_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct part parts[PARTS];
	struct ks_strbuf file;
	struct ks_bytes b;
	size_t len[PARTS];
	char path[64];
	static struct ks_helpers helpers;
	static bool ready;
	unsigned int turn;
	int i, fd;

	ks_bytes_init(&b, data, size);
	for (i = 0; i < PARTS; i++)
		len[i] = ks_bytes_u16(&b);
	if (b.overrun)
		return 0;
	for (i = 0; i < PARTS; i++) {
		parts[i].len = ks_min(len[i], ks_bytes_left(&b));
		parts[i].data = ks_bytes_take(&b, parts[i].len);
	}
	if (!ready)
		FUZZ_ASSERT(!ks_helpers_init(&helpers));
	ready = true;
	ks_strbuf_init(&file);
	build(&file, parts);
	fd = fuzz_file(file.s, file.len, path);
	/* Two of all questions a run: which ones, the input decides. */
	for (turn = 0; turn < 2; turn++) {
		unsigned int by = ((unsigned int)size + turn * 7) % (KS_BY_OWNER + 1);
		struct ks_analysis_opts opts = { .level = by & 1,
						 .filter = { .malloc_only = by % 3 == 0 },
						 .helpers = &helpers,
						 .skip_helpers = by & 2 };

		ask(path, &opts, (enum ks_by)by, true);
	}
	ask(path, &(struct ks_analysis_opts){ 0 }, KS_BY_SITE, false);
	close(fd);
	ks_strbuf_deinit(&file);
	return 0;
}
