// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as the content of a heap's snapshot: facts, roots and columns are taken from the input and packed with
 * correct checksums, so that the fuzzer gets past these.
 *
 * Input: flags (1 = with the graph, 2 = the rest is the file as it is), the numbers of objects, references and
 * references of roots, a u16 each; for each of the fifteen parts a u16 length, then the parts. Missing bytes make parts
 * short. Empty facts are replaced by good ones, so that the blocks are reached.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/pack.h"
#include "heap/census-doc.h"
#include "heap/compare-doc.h"
#include "heap/made.h"
#include "heap/page-doc.h"
#include "heap/snapshot-file.h"
#include "heap/snapshot-format.h"
#include "target.h"

enum {
	FLAG_GRAPH = 1,
	FLAG_PLAIN = 2,
	PART_FACTS = 0,
	PART_ROOTS,
	PART_COLUMNS,
	PART_ROOT_COLUMNS = PART_COLUMNS + KS_HS_COLUMNS,
	PARTS = PART_ROOT_COLUMNS + KS_HS_ROOT_COLUMNS,
};

struct part {
	const void *data;
	size_t len;
};

static const char good[] = "cache a 64 64\ncache b 96 96\ncache big 8192 8192 large\n"
			   "type x 64\nfield x 8 next\ntype y 96\ncgroup /one\n";

static u64 add_frame(struct ks_strbuf *file, const void *data, size_t len)
{
	size_t bound = ZSTD_compressBound(len), got;
	char *packed = malloc(bound);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	FUZZ_ASSERT(packed && zstd);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	got = ZSTD_compress2(zstd, packed, bound, data, len);
	FUZZ_ASSERT(!ZSTD_isError(got));
	ks_strbuf_add(file, packed, got);
	ZSTD_freeCCtx(zstd);
	free(packed);
	return got;
}

/* The frames of one block, and its line of the index. */
static void add_block(struct ks_strbuf *file, struct ks_strbuf *index, const u64 *refs,
		      const struct part *parts, int count)
{
	u64 offset = file->len;
	int i;

	ks_pack_varint(index, offset);
	if (refs)
		ks_pack_varint(index, *refs);
	for (i = 0; i < count; i++) {
		ks_pack_varint(index, add_frame(file, parts[i].data, parts[i].len));
		ks_pack_varint(index, parts[i].len);
	}
}

static void add_section(struct ks_strbuf *file, struct ks_strbuf *tail, const void *data,
			size_t len)
{
	ks_pack_uint(tail, file->len, 8);
	ks_pack_uint(tail, add_frame(file, data, len), 8);
	ks_pack_uint(tail, len, 8);
}

static void add_good_facts(struct ks_strbuf *facts)
{
	struct ks_snapshot *s;
	size_t line;

	s = made_snapshot(good, &line);
	FUZZ_ASSERT(s);
	ks_hs_pack_facts(s, facts);
	ks_snapshot_free(s);
}

static void build(struct ks_strbuf *file, bool graph, const u64 *numbers, const struct part *parts)
{
	struct ks_strbuf index = { 0 }, tail = { 0 }, head = { 0 }, facts = { 0 };
	int i;

	for (i = 0; i < KS_HS_HEADER_SIZE; i++)
		ks_strbuf_add(file, "", 1);
	for (i = 0; i < (graph ? 3 : 1); i++)
		ks_pack_varint(&index, numbers[i]);
	if (numbers[0])
		add_block(file, &index, graph ? &numbers[1] : NULL, &parts[PART_COLUMNS],
			  graph ? KS_HS_COLUMNS : KS_HS_REFS);
	if (graph && numbers[2])
		add_block(file, &index, NULL, &parts[PART_ROOT_COLUMNS], KS_HS_ROOT_COLUMNS);
	add_good_facts(&facts);
	if (parts[PART_FACTS].len)
		add_section(file, &tail, parts[PART_FACTS].data, parts[PART_FACTS].len);
	else
		add_section(file, &tail, facts.s, facts.len);
	add_section(file, &tail, index.s, index.len);
	if (graph)
		add_section(file, &tail, parts[PART_ROOTS].data, parts[PART_ROOTS].len);
	ks_pack_uint(&tail, crc32(0, (const Bytef *)tail.s, (uInt)tail.len), 4);
	ks_strbuf_add(&head, KS_HS_MAGIC, KS_HS_MAGIC_LEN);
	ks_pack_uint(&head, KS_HS_VERSION, 4);
	ks_pack_uint(&head, KS_HS_HEADER_SIZE, 4);
	ks_pack_uint(&head, graph ? KS_HS_GRAPH : 0, 8);
	ks_pack_uint(&head, file->len, 8);
	ks_pack_uint(&head, tail.len, 4);
	ks_pack_uint(&head, crc32(0, (const Bytef *)head.s, (uInt)head.len), 4);
	ks_strbuf_add(file, tail.s, tail.len);
	memcpy(file->s, head.s, head.len);
	ks_strbuf_deinit(&index);
	ks_strbuf_deinit(&tail);
	ks_strbuf_deinit(&head);
	ks_strbuf_deinit(&facts);
}

/* What the snapshot's users take for granted. */
static void check(const struct ks_snapshot *s)
{
	u32 i;

	for (i = 0; i < s->count; i++) {
		FUZZ_ASSERT(!i || s->addr[i] > s->addr[i - 1]);
		FUZZ_ASSERT(s->cache[i] < s->caches.len && s->type[i] < s->types.len);
		FUZZ_ASSERT(s->cgroup[i] < s->cgroups.len || s->cgroup[i] == UINT16_MAX);
		FUZZ_ASSERT(s->known_by[i] < KS_KNOWN_WAYS);
		FUZZ_ASSERT(ks_snapshot_find(s, s->addr[i]) == i);
	}
	if (!s->ref_first)
		return;
	for (i = 0; i < s->count; i++)
		FUZZ_ASSERT(s->ref_first[i] <= s->ref_first[i + 1]);
	FUZZ_ASSERT(s->ref_first[s->count] == s->refs.len);
	for (i = 0; i < s->refs.len; i++)
		FUZZ_ASSERT(s->refs.items[i].to < s->count);
	for (i = 0; i < s->roots.len; i++)
		FUZZ_ASSERT(s->root_first[i] <= s->root_first[i + 1]);
	FUZZ_ASSERT(s->root_first[s->roots.len] == s->root_refs.len);
	for (i = 0; i < s->root_refs.len; i++)
		FUZZ_ASSERT(s->root_refs.items[i].to < s->count);
}

/* All that is asked of a snapshot takes it as it is. */
static void ask(const struct ks_snapshot *s)
{
	struct ks_heap_charges charges = { 0 };
	struct ks_heap_compare *compare;
	struct ks_diag diag = { 0 };
	struct ks_doc *doc;
	unsigned int by;

	FUZZ_ASSERT(!ks_heap_charges_of(s, &charges));
	for (by = 0; by < KS_HEAP_BYS; by++)
		ks_doc_free(ks_doc_of_census(
			&(struct ks_heap_report){ .heap = s, .charges = &charges, .by = by }));
	ks_vec_free(&charges.rows);
	FUZZ_ASSERT(!ks_heap_compare_make(s, s, &compare, &diag));
	FUZZ_ASSERT(!compare->total.fresh && compare->total.before == s->count);
	ks_doc_free(ks_doc_of_compare(compare, "a", "b", 0));
	FUZZ_ASSERT(!ks_doc_of_heap_page(s, compare, &doc, &diag));
	ks_doc_free(doc);
	ks_heap_compare_free(compare);
}

static void load(const void *data, size_t len)
{
	int fd = memfd_create("fuzz", 0);
	struct ks_diag diag = { 0 };
	struct ks_snapshot *s;
	char path[64];
	int err;

	FUZZ_ASSERT(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = ks_snapshot_load(path, &s, &diag);
	if (err) {
		FUZZ_ASSERT(diag.err == err && strstr(diag.text, path));
	} else {
		check(s);
		ask(s);
		ks_snapshot_free(s);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_strbuf file = { 0 };
	struct part parts[PARTS];
	size_t len[PARTS];
	struct ks_bytes b;
	u64 numbers[3];
	u8 flags;
	int i;

	ks_bytes_init(&b, data, size);
	flags = ks_bytes_u8(&b);
	if (flags & FLAG_PLAIN) {
		load(data + 1, size - 1);
		return 0;
	}
	for (i = 0; i < 3; i++)
		numbers[i] = ks_bytes_u16(&b);
	for (i = 0; i < PARTS; i++)
		len[i] = ks_bytes_u16(&b);
	if (b.overrun)
		return 0;
	for (i = 0; i < PARTS; i++) {
		parts[i].len = ks_min(len[i], ks_bytes_left(&b));
		parts[i].data = ks_bytes_take(&b, parts[i].len);
	}
	build(&file, flags & FLAG_GRAPH, numbers, parts);
	load(file.s, file.len);
	ks_strbuf_deinit(&file);
	return 0;
}
