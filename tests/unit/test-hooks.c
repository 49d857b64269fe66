// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the recorder's probes saw becomes events: kfree_rcu() by both of its signatures, and the bulk functions. The formats
 * are those that Linux 6.12 prints for the probes.
 */
#include "ks-test.h"

#include <zstd.h>

#include "analysis/match.h"
#include "base/pack.h"
#include "source/open.h"
#include "trace/rawevent.h"
#include "trace/tracedat-writer.h"

enum {
	PAGE = 4096,
	ID_KFREE = 21,
	ID_RCU = 1554,
	ID_FREE = 1555,
	ID_ALLOC = 1556,
	ID_MADE = 1557,
	SITE = 0x5150
};

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char kfree_format[] =
	"name: kfree\nID: 21\nformat:\n" COMMON
	"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n";
static const char *const hook_formats[] = {
	"name: kfree_rcu\nID: 1554\nformat:\n" COMMON
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 head;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 arg;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 call_site;\toffset:32;\tsize:8;\tsigned:0;\n",
	"name: kmem_cache_free_bulk\nID: 1555\nformat:\n" COMMON
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 count;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 call_site;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 ptr[];\toffset:32;\tsize:512;\tsigned:0;\n",
	"name: kmem_cache_alloc_bulk\nID: 1556\nformat:\n" COMMON
	"\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 count;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 ptr[];\toffset:32;\tsize:512;\tsigned:0;\n"
	"\tfield:u32 bytes_req;\toffset:544;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 bytes_alloc;\toffset:548;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:552;\tsize:4;\tsigned:1;\n",
	/* As Linux 7.2 prints it, whose function returns a bool. */
	"name: kmem_cache_alloc_bulk\nID: 1557\nformat:\n" COMMON
	"\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 count;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 ptr[];\toffset:32;\tsize:512;\tsigned:0;\n"
	"\tfield:u32 bytes_req;\toffset:544;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 bytes_alloc;\toffset:548;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:552;\tsize:4;\tsigned:1;\n"
	"\tfield:u8 made;\toffset:556;\tsize:1;\tsigned:0;\n",
};

/* === A file of one page =================================================================== */

struct page {
	struct ks_strbuf bytes;
};

/* Files are of this machine's byte order, as ring pages are. */
static void put(struct ks_strbuf *sb, u64 value, unsigned int size)
{
	u8 bytes[8];

	memcpy(bytes, &value, 8);
	ks_strbuf_add(sb, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? bytes + 8 - size : bytes, size);
}

static void put_record(struct ks_strbuf *page, const struct ks_strbuf *record)
{
	size_t len = (record->len + 3) & ~(size_t)3;
	u32 delta = 10, head = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? delta : delta << 5;

	put(page, head, 4); /* type 0: the length follows */
	put(page, len + 4, 4);
	ks_strbuf_add(page, record->s, record->len);
	ks_strbuf_add(page, "\0\0\0", len - record->len);
}

static void put_common(struct ks_strbuf *sb, u32 id)
{
	sb->len = 0;
	put(sb, id, 2);
	put(sb, 0, 2);
	put(sb, 77, 4);
	put(sb, SITE, 8);
}

static void put_rcu(struct ks_strbuf *page, u64 head, u64 arg)
{
	struct ks_strbuf sb = { 0 };

	put_common(&sb, ID_RCU);
	put(&sb, head, 8);
	put(&sb, arg, 8);
	put(&sb, SITE, 8);
	put_record(page, &sb);
	ks_strbuf_deinit(&sb);
}

static void put_list(struct ks_strbuf *sb, u64 first)
{
	u32 i;

	for (i = 0; i < 64; i++)
		put(sb, first + i * 0x100, 8);
}

static void put_bulk_free(struct ks_strbuf *page, u64 count, u64 first)
{
	struct ks_strbuf sb = { 0 };

	put_common(&sb, ID_FREE);
	put(&sb, count, 8);
	put(&sb, SITE, 8);
	put_list(&sb, first);
	put_record(page, &sb);
	ks_strbuf_deinit(&sb);
}

/* @made: what the function has returned, or KS_NONE for a recording that does not say it. */
static void put_bulk_alloc(struct ks_strbuf *page, u64 count, u64 first, u32 made)
{
	struct ks_strbuf sb = { 0 };
	u32 name = made == KS_NONE ? 556 : 557;

	put_common(&sb, made == KS_NONE ? ID_ALLOC : ID_MADE);
	put(&sb, SITE, 8);
	put(&sb, count, 8);
	put_list(&sb, first);
	put(&sb, 240, 4);
	put(&sb, 256, 4);
	put(&sb, name | sizeof("maple_node") << 16, 4);
	if (made != KS_NONE)
		put(&sb, made, 1);
	ks_strbuf_add(&sb, "maple_node", sizeof("maple_node"));
	put_record(page, &sb);
	ks_strbuf_deinit(&sb);
}

static void write_capture(const char *path, const struct ks_strbuf *records)
{
	struct ks_td_writer *writer;
	struct ks_strbuf page = { 0 };
	struct ks_diag diag = { 0 };
	struct ks_td_meta meta;
	u8 packed[PAGE * 2];
	size_t i, len;

	ks_td_meta_init(&meta);
	ks_strbuf_puts(&meta.header_page,
		       "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		       "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n");
	ks_strbuf_puts(ks_vec_push(&meta.kmem_formats), kfree_format);
	for (i = 0; i < ARRAY_SIZE(hook_formats); i++)
		ks_strbuf_puts(ks_vec_push(&meta.hook_formats), hook_formats[i]);
	strcpy(meta.clock, "local");
	meta.page_size = meta.ring_page_size = PAGE;
	meta.cpus = 1;
	put(&page, 5000, 8);
	put(&page, records->len, 8);
	ks_strbuf_add(&page, records->s, records->len);
	assert_true(page.len <= PAGE);
	while (page.len < PAGE)
		put(&page, 0, 1);
	len = ZSTD_compress(packed, sizeof(packed), page.s, PAGE, 1);
	assert_int_equal(ks_td_writer_open(path, &meta, &writer, &diag), 0);
	assert_int_equal(ks_td_writer_block(writer, 0, 0, packed, (u32)len, PAGE, &diag), 0);
	assert_int_equal(ks_td_writer_finish(writer, &meta, &diag), 0);
	ks_td_meta_deinit(&meta);
	ks_strbuf_deinit(&page);
}

/* === Tests ================================================================================ */

static struct ks_source *open_records(const struct ks_strbuf *records, struct ks_batch *batch,
				      bool stacks)
{
	const struct ks_source_opts opts = { .stacks = stacks };
	char *path = scratch_path("hooks.dat");
	struct ks_source *source;
	struct ks_diag diag = { 0 };

	write_capture(path, records);
	if (ks_source_open(path, &opts, &source, &diag) || ks_source_next(source, batch, &diag))
		fail_msg("%s", diag.text);
	unlink(path);
	free(path);
	return source;
}

static void test_events(void **state)
{
	struct ks_strbuf records = { 0 };
	struct ks_source *source;
	struct ks_batch batch;
	unsigned int stacks;
	u32 i;

	put_rcu(&records, 0xffff888000001020, 0xffff888000001000); /* since 6.4 */
	put_rcu(&records, 0xffff888000002020, 0x20);		   /* before: how far in it is */
	put_rcu(&records, 0, 0xffff888000003000);		   /* without a head */
	put_bulk_free(&records, 3, 0xffff888000010000);
	put_bulk_alloc(&records, 1, 0xffff888000020000, KS_NONE);
	put_bulk_alloc(&records, 1, 0xffff888000020100, 1);
	put_bulk_alloc(&records, 2, 0xffff888000030000, 0);
	put_bulk_free(&records, 0, 0xffff888000010000);
	put_bulk_free(&records, UINT64_MAX, 0xffff888000010000); /* no number */
	for (stacks = 0; stacks < 2; stacks++) {
		source = open_records(&records, &batch, stacks);
		assert_int_equal(source->info.hooks, 14);
		assert_int_equal(batch.count, 3 + 3 + 2);
		for (i = 0; i < 3; i++) {
			assert_int_equal(batch.events[i].kind, KS_KFREE);
			assert_int_equal(batch.events[i].flags, KS_EV_RCU);
			assert_int_equal(batch.events[i].pid, 77);
			assert_true(batch.events[i].ptr == 0xffff888000001000 + i * 0x1000ull);
			assert_int_equal(batch.events[i].ts, 5000 + 10 * (i + 1));
		}
		for (; i < 6; i++) {
			assert_int_equal(batch.events[i].kind, KS_KFREE);
			assert_int_equal(batch.events[i].flags, KS_EV_BULK);
			assert_true(batch.events[i].ptr == 0xffff888000010000 + (i - 3) * 0x100ull);
			assert_int_equal(batch.events[i].ts, 5040);
		}
		for (; i < 8; i++) {
			assert_int_equal(batch.events[i].kind, KS_CACHE_ALLOC);
			assert_int_equal(batch.events[i].flags, KS_EV_BULK);
			assert_int_equal(batch.events[i].bytes_req, 240);
			assert_int_equal(batch.events[i].bytes_alloc, 256);
			assert_string_equal(
				ks_intern_get(&source->names.caches, batch.events[i].cache).s,
				"maple_node");
			assert_true(batch.events[i].ptr == 0xffff888000020000 + (i - 6) * 0x100ull);
		}
		assert_int_equal(ks_source_next(source, &batch, NULL), 0);
		assert_int_equal(batch.count, 0);
		assert_int_equal(source->info.binary.bad_records, 1);
		ks_source_close(source);
	}
	ks_strbuf_deinit(&records);
}

/* A record holds 64 objects; what it can't hold is counted. */
static void test_many(void **state)
{
	struct ks_strbuf records = { 0 };
	struct ks_source *source;
	struct ks_batch batch;

	put_bulk_free(&records, 70, 0xffff888000010000);
	source = open_records(&records, &batch, false);
	assert_int_equal(batch.count, 64);
	assert_true(batch.events[63].ptr == 0xffff888000010000 + 63 * 0x100);
	assert_int_equal(source->info.binary.bulk_missed, 6);
	ks_source_close(source);
	ks_strbuf_deinit(&records);
}

static struct ks_match do_step(struct ks_matcher *m, u8 kind, u64 ptr, u8 flags)
{
	struct ks_event ev = ks_event_blank(kind, m->last_ts + 1, 0);
	struct ks_match match;

	ev.ptr = ptr;
	ev.flags = flags;
	ev.bytes_req = ev.bytes_alloc = ks_kind_is_alloc(kind) ? 64 : 0;
	assert_int_equal(ks_matcher_step(m, &ev, ks_live_hash(&m->live[KS_SLAB], ptr), &match), 0);
	ks_matcher_commit(m, &ev, &match, true);
	return match;
}

/* kfree_rcu() ends an object. That its memory is freed later is no second free, whoever shows it. */
static void test_once(void **state)
{
	static const struct {
		u8 kind, flags;
	} later[] = { { KS_KFREE, 0 }, { KS_CACHE_FREE, 0 }, { KS_KFREE, KS_EV_BULK } };
	struct ks_matcher m;
	size_t i;

	assert_int_equal(ks_matcher_init(&m), 0);
	for (i = 0; i < ARRAY_SIZE(later); i++) {
		u64 ptr = 0xffff888000001000 + i * 64;

		/* Hooks do not know whether it is a cache's. */
		assert_int_equal(do_step(&m, KS_CACHE_ALLOC, ptr, 0).op, KS_OP_ALLOC);
		assert_int_equal(do_step(&m, KS_KFREE, ptr, KS_EV_RCU).op, KS_OP_FREE);
		assert_int_equal(do_step(&m, later[i].kind, ptr, later[i].flags).op, KS_OP_NOTHING);
		/* The next object at the address is another. */
		assert_false(do_step(&m, KS_KMALLOC, ptr, 0).reused);
		assert_int_equal(do_step(&m, KS_KFREE, ptr, 0).op, KS_OP_FREE);
		assert_int_equal(m.quality[KS_Q_SECOND_FREES], 0);
	}
	assert_int_equal(m.quality[KS_Q_KFREE_OF_CACHE], 0);
	assert_int_equal(m.quality[KS_Q_IMPLIED_FREES], 0);
	assert_int_equal(m.quality[KS_Q_FREES_BEFORE], 0);
	/* Two events are still a second free, and what is unknown is from before. */
	assert_int_equal(do_step(&m, KS_KFREE, 0xffff888000001000, 0).op, KS_OP_FREE_AGAIN);
	assert_int_equal(do_step(&m, KS_KFREE, 0xffff888000009000, KS_EV_RCU).op,
			 KS_OP_FREE_BEFORE);
	assert_int_equal(do_step(&m, KS_KFREE, 0xffff888000009000, 0).op, KS_OP_NOTHING);
	ks_matcher_deinit(&m);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_events),
	cmocka_unit_test(test_many),
	cmocka_unit_test(test_once),
};

KS_RUN(tests)
