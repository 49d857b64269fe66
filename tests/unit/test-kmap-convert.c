// SPDX-License-Identifier: GPL-2.0-only
/* Access maps on their way to another form, and cut where their records end. */
#include "kmap-maps.h"

#include "kmap/convert.h"
#include "kmap/framing.h"

/* === Conversions ========================================================================== */

static int collect(void *ctx, bool second, const void *data, size_t len, struct ks_diag *diag)
{
	struct ks_strbuf *parts = ctx;

	ks_strbuf_add(&parts[second], data, len);
	return 0;
}

/* Converts the map and reads the result back. */
static struct ks_kmap_census *round_trip(const char *text, enum ks_kmap_target target,
					 struct ks_kmap_converted *ret_converted)
{
	struct ks_strbuf parts[2];
	struct ks_kmap_sink sink = { collect, parts };
	struct ks_kmap_census *census;
	struct ks_kmap_reader *reader;

	ks_strbuf_init(&parts[0]);
	ks_strbuf_init(&parts[1]);
	assert_int_equal(ks_kmap_reader_new(input_of(text, strlen(text)), NULL, 0, &reader, NULL),
			 0);
	assert_int_equal(
		ks_kmap_convert(reader, target, NULL, &sink, NULL, NULL, ret_converted, NULL), 0);
	ks_kmap_reader_free(reader);
	census = census_of(parts[0].s, parts[0].len, parts[1].len ? parts[1].s : NULL);
	ks_strbuf_deinit(&parts[0]);
	ks_strbuf_deinit(&parts[1]);
	return census;
}

static const char full[] =
	"ffffffff81000010,42,ffff888000000000,64,10,20,ffffffff81000900,KMALLOC,l,s,kmalloc-64,\n"
	"  ffffffff81000100,3,1,42\n"
	"  ffffffff81000100,0,5,-1\n"
	"ffffffff81000010,42,ffff888000000000,64,21,30,00000000deadbeef,ALLOC_PAGES_FOLIO,ls,"
	"no-slab,KMEM_CACHE\n"
	"  ffffffff81000200,1,0,42\n"
	"ffffffff81000100 ffffffff81000200 7\n";

static void check_trip(enum ks_kmap_target target, unsigned int fields)
{
	struct ks_kmap_converted done;
	struct ks_kmap_census *census = round_trip(full, target, &done);
	struct ks_kmap_stat total = sum(census);

	assert_int_equal(census->info.fields, fields);
	assert_int_equal(census->quality.bad_lines, 0);
	assert_int_equal(census->quality.orphan_accesses, 0);
	assert_int_equal(total.objects, 2);
	assert_int_equal(total.bytes, 128);
	assert_int_equal(total.implied, 1);
	assert_int_equal(total.lifetime_sum.lo, 19);
	assert_int_equal(total.reads + total.writes, 10);
	assert_int_equal(done.dropped_accesses, 0);
	assert_int_equal(done.dropped_types, target == KS_KMAP_TO_SEED	   ? 2
					     : target == KS_KMAP_TO_BINARY ? 1
									   : 0);
	assert_int_equal(done.changed_types, target == KS_KMAP_TO_USCOPE);
	assert_int_equal(done.dropped_pids, target == KS_KMAP_TO_USCOPE ? 3 : 0);
	assert_int_equal(done.dropped_calls,
			 target != KS_KMAP_TO_USCOPE && target != KS_KMAP_TO_BINARY);
	assert_int_equal(done.changed_names, target != KS_KMAP_TO_BINARY);
	assert_int_equal(done.changed_contexts, target == KS_KMAP_TO_BINARY);
	assert_int_equal(total.irq, target != KS_KMAP_TO_USCOPE ? 5 : 0);
	ks_kmap_census_free(census);
}

static void test_conversions(void **state)
{
	check_trip(KS_KMAP_TO_SEED, 8);
	check_trip(KS_KMAP_TO_USCOPE, 10);
	check_trip(KS_KMAP_TO_ITI, 11);
	check_trip(KS_KMAP_TO_CSV, 11);
	check_trip(KS_KMAP_TO_BINARY, 0);
}

/*
 * What binary maps have and other forms do not is counted: requested sizes and details by object, kinds of interrupts (two
 * accesses are in one) and bytes by access. Of the two objects one was allocated without a known size.
 */
static void test_drops(void **state)
{
	static const struct {
		enum ks_kmap_target target;
		u64 sizes, details, contexts, bytes;
	} cases[] = {
		{ KS_KMAP_TO_SEED, 1, 2, 2, 3 }, { KS_KMAP_TO_USCOPE, 1, 2, 2, 3 },
		{ KS_KMAP_TO_ITI, 1, 2, 2, 3 },	 { KS_KMAP_TO_CSV, 1, 2, 2, 3 },
		{ KS_KMAP_TO_JSON, 0, 0, 0, 0 }, { KS_KMAP_TO_BINARY, 0, 0, 0, 0 },
	};
	const struct memorizer_header header = { .magic = MEMORIZER_MAGIC,
						 .version = 1,
						 .header_size = sizeof(header),
						 .record_size = sizeof(struct memorizer_record),
						 .tick_ns = 1000000,
						 .access_size = sizeof(struct memorizer_access) };
	struct memorizer_record record = { .addr = 0xffff888000000000,
					   .alloc_ip = 0xffffffff81000010,
					   .alloc_ns = 1000,
					   .bytes_req = 60,
					   .bytes_alloc = 64,
					   .pid = 42,
					   .tgid = 42,
					   .kind = MEMORIZER_KMALLOC,
					   .context = MEMORIZER_IN_TASK,
					   .accesses = 2,
					   .comm = "ls",
					   .cache = "kmalloc-64" };
	struct memorizer_access access = { .ip = 0xffffffff81000100,
					   .reads = 1,
					   .bytes_read = 8,
					   .pid = 42,
					   .context = MEMORIZER_IN_TASK };
	struct ks_strbuf map, parts[2];
	struct ks_kmap_sink sink = { collect, parts };
	struct ks_kmap_converted done;
	struct ks_kmap_reader *reader;
	size_t i;

	ks_strbuf_init(&map);
	ks_strbuf_add(&map, &header, sizeof(header));
	ks_strbuf_add(&map, &record, sizeof(record));
	ks_strbuf_add(&map, &access, sizeof(access));
	access.context = MEMORIZER_IN_HARDIRQ;
	access.pid = -1;
	ks_strbuf_add(&map, &access, sizeof(access));
	record.addr += 64;
	record.bytes_req = 0;
	record.accesses = 1;
	ks_strbuf_add(&map, &record, sizeof(record));
	ks_strbuf_add(&map, &access, sizeof(access));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ks_strbuf_init(&parts[0]);
		ks_strbuf_init(&parts[1]);
		assert_int_equal(
			ks_kmap_reader_new(input_of(map.s, map.len), NULL, 0, &reader, NULL), 0);
		assert_int_equal(ks_kmap_convert(reader, cases[i].target, NULL, &sink, NULL, NULL,
						 &done, NULL),
				 0);
		ks_kmap_reader_free(reader);
		assert_int_equal(done.objects, 2);
		assert_int_equal(done.accesses, 3);
		assert_int_equal(done.dropped_sizes, cases[i].sizes);
		assert_int_equal(done.dropped_details, cases[i].details);
		assert_int_equal(done.dropped_contexts, cases[i].contexts);
		assert_int_equal(done.dropped_bytes, cases[i].bytes);
		assert_int_equal(done.dropped_callers, 0);
		assert_int_equal(done.dropped_new_types, 0);
		ks_strbuf_deinit(&parts[0]);
		ks_strbuf_deinit(&parts[1]);
	}
	ks_strbuf_deinit(&map);
}

/* A pid of a binary record or access, in the byte order of this machine. */
static s32 pid_at(const struct ks_strbuf *sb, size_t at)
{
	s32 pid;

	assert_true(at + sizeof(pid) <= sb->len);
	memcpy(&pid, sb->s + at, sizeof(pid));
	return pid;
}

/* Outside of a task pid and tgid are -1 in binary maps, whatever the text has. */
static void test_pids_of_interrupts(void **state)
{
	static const char text[] =
		"ffffffff81000010,0,ffff888000000000,64,10,20,ffffffff81000900,hardirq\n"
		"  ffffffff81000100,-1,0,5\n"
		"ffffffff81000010,0,ffff888000000100,64,11,20,ffffffff81000900,softirq\n"
		"ffffffff81000010,-1,ffff888000000200,64,12,20,ffffffff81000900,other\n"
		"ffffffff81000010,0,ffff888000000300,64,13,20,ffffffff81000900,swapper/0\n"
		"ffffffff81000010,7,ffff888000000400,64,14,20,ffffffff81000900,hardirq\n";
	static const struct {
		s32 pid;
		u8 context;
	} expected[] = {
		{ -1, MEMORIZER_IN_HARDIRQ }, { -1, MEMORIZER_IN_SOFTIRQ },
		{ -1, MEMORIZER_IN_SOFTIRQ }, { 0, MEMORIZER_IN_TASK },
		{ 7, MEMORIZER_IN_TASK },
	};
	size_t i, at = sizeof(struct memorizer_header);
	struct ks_kmap_converted done;
	struct ks_kmap_reader *reader;
	struct ks_strbuf parts[2];
	struct ks_kmap_sink sink = { collect, parts };

	ks_strbuf_init(&parts[0]);
	ks_strbuf_init(&parts[1]);
	assert_int_equal(ks_kmap_reader_new(input_of(text, strlen(text)), NULL, 0, &reader, NULL),
			 0);
	assert_int_equal(
		ks_kmap_convert(reader, KS_KMAP_TO_BINARY, NULL, &sink, NULL, NULL, &done, NULL),
		0);
	ks_kmap_reader_free(reader);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(pid_at(&parts[0], at + offsetof(struct memorizer_record, pid)),
				 expected[i].pid);
		assert_int_equal(pid_at(&parts[0], at + offsetof(struct memorizer_record, tgid)),
				 expected[i].pid);
		assert_int_equal(parts[0].s[at + offsetof(struct memorizer_record, context)],
				 expected[i].context);
		at += sizeof(struct memorizer_record);
		if (i == 0) {
			at += sizeof(struct memorizer_access);
			assert_int_equal(
				pid_at(&parts[0], at - sizeof(struct memorizer_access) +
							  offsetof(struct memorizer_access, pid)),
				-1);
		}
	}
	assert_int_equal(at, parts[0].len);
	ks_strbuf_deinit(&parts[0]);
	ks_strbuf_deinit(&parts[1]);
}

/* Files from before have 0 as the pid of an interrupt, and are read as those that have -1. */
static void test_older_pids(void **state)
{
	static const s32 pids[] = { 0, -1 };
	struct ks_kmap_object object;
	struct ks_kmap_call call;
	struct ks_kmap_census *census;
	struct ks_kmap_reader *reader;
	enum ks_kmap_item item;
	struct ks_strbuf sb;
	size_t i, at;

	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		ks_strbuf_init(&sb);
		put_header(&sb, false);
		at = sb.len;
		put_record(&sb, false, 64, 3000, MEMORIZER_FREED, 1);
		memcpy(sb.s + at + offsetof(struct memorizer_record, pid), &pids[i], 4);
		memcpy(sb.s + at + offsetof(struct memorizer_record, tgid), &pids[i], 4);
		sb.s[at + offsetof(struct memorizer_record, context)] = MEMORIZER_IN_HARDIRQ;
		put_access(&sb, false, 0xffffffff81000200, 9, 0, pids[i], MEMORIZER_IN_SOFTIRQ);
		assert_int_equal(ks_kmap_reader_new(input_of(sb.s, sb.len), NULL, 0, &reader, NULL),
				 0);
		assert_int_equal(ks_kmap_next(reader, &item, &object, &call, NULL), 0);
		assert_int_equal(item, KS_KMAP_OBJECT);
		assert_int_equal(object.pid, -1);
		assert_int_equal(object.tgid, -1);
		assert_int_equal(object.nr_accesses, 1);
		assert_int_equal(object.accesses[0].pid, -1);
		ks_kmap_reader_free(reader);
		census = census_of(sb.s, sb.len, NULL);
		assert_int_equal(sum(census).irq, 9);
		assert_int_equal(sum(census).foreign, 0);
		ks_kmap_census_free(census);
		ks_strbuf_deinit(&sb);
	}
}

/* === Cutting ============================================================================== */

/*
 * An object that 400,000 instructions have read, each in two threads. Were each line compared with all
 * others, this would take minutes, and the test would run out of time.
 */
static void test_merge_many(void **state)
{
	enum { MANY = 400000 };
	struct ks_kmap_converted done;
	struct ks_kmap_census *census;
	struct ks_strbuf sb;
	int i;

	ks_strbuf_init(&sb);
	ks_strbuf_puts(&sb, "ffffffff81000010,42,ffff888000000000,64,1,5,ffffffff81000900,a\n");
	for (i = 0; i < 2 * MANY; i++)
		ks_strbuf_printf(&sb, "  %016llx,%d,1,2\n", 0xffffffff82000000ull + (u64)(i % MANY),
				 i / MANY);
	census = round_trip(sb.s, KS_KMAP_TO_USCOPE, &done);
	assert_int_equal(done.dropped_pids, 2 * MANY);
	assert_int_equal(census->nr_accesses, MANY);
	assert_int_equal(sum(census).writes, 2 * MANY);
	assert_int_equal(sum(census).reads, 4 * MANY);
	ks_kmap_census_free(census);
	ks_strbuf_deinit(&sb);
}

static void test_framing(void **state)
{
	struct ks_kmap_framing framing = { 0 };
	struct ks_strbuf sb;
	size_t len, first = 136 + 2 * 56;

	assert_int_equal(ks_kmap_framing_whole(&framing, "a,b\nc,", 6, false), 4);
	assert_int_equal(ks_kmap_framing_whole(&framing, "no end", 6, false), 0);
	assert_int_equal(ks_kmap_framing_whole(&framing, "a\nb\n  1\n  2\n", 12, false), 12);
	/* If more may follow, the last object may be incomplete. */
	assert_int_equal(ks_kmap_framing_whole(&framing, "a\nb\n  1\n  2\n", 12, true), 2);
	assert_int_equal(ks_kmap_framing_whole(&framing, "b\n  1\n  2\n", 10, true), 0);
	ks_strbuf_init(&sb);
	put_header(&sb, true);
	put_record(&sb, true, 64, 0, 0, 2);
	put_access(&sb, true, 1, 1, 0, 42, MEMORIZER_IN_TASK);
	put_access(&sb, true, '\n', 1, 0, 42, MEMORIZER_IN_TASK);
	put_header(&sb, true);
	put_record(&sb, true, 64, 0, 0, 0);
	assert_int_equal(sb.len, 80 + first + 80 + 136);
	for (len = 0; len < 80; len++)
		assert_int_equal(ks_kmap_framing_whole(&framing, sb.s, len, false), 0);
	for (; len < 80 + first; len++)
		assert_int_equal(ks_kmap_framing_whole(&framing, sb.s, len, false), 80);
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s, sb.len - 1, true), 80 + first + 80);
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s, sb.len, false), sb.len);
	/* Behind the header, records alone. */
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s + 80, first + 4, false), first);
	/*
	 * What is too large for any buffer goes in pieces, and the next object is found behind it.
	 */
	ks_kmap_framing_pass(&framing, sb.s + 80, 140);
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s + 220, 50, true), 50);
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s + 270, first - 190 + 79, true),
			 first - 190);
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s + 80 + first, 80 + 136, false),
			 80 + 136);
	ks_strbuf_deinit(&sb);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_conversions),	   cmocka_unit_test(test_drops),
	cmocka_unit_test(test_pids_of_interrupts), cmocka_unit_test(test_older_pids),
	cmocka_unit_test(test_merge_many),	   cmocka_unit_test(test_framing),
};

KS_RUN(tests)
