// SPDX-License-Identifier: GPL-2.0-only
/* What is known of a map's stream without reading its objects: their number, and the kernel's losses. */
#include "ks-test.h"

#include "base/strbuf.h"
#include "kmap/framing.h"
#include "kmap/kernel-stats.h"
#include "uapi/memorizer.h"

/* === Counting objects ===================================================================== */

/* Feeds the stream in pieces of @step bytes. */
static struct ks_kmap_counter count(const void *data, size_t len, bool text, size_t step)
{
	struct ks_kmap_counter counter = { .text = text };
	const char *p = data;
	size_t at;

	for (at = 0; at < len; at += step)
		ks_kmap_counter_add(&counter, p + at, ks_min(step, len - at));
	return counter;
}

/*
 * The kernel's place, an object with two accesses, an object of unknown site, and one whose line has no
 * end yet. The line of the kernel's place is none of these three.
 */
static const char lines[] =
	"0000000000000000,0,ffffffff81234560,0,0,0,0000000000000000,memorizer_anchor\n"
	"ffffffff81000010,42,ffff888000000000,64,100,150,ffffffff81000900,ls\n"
	"  ffffffff81000100,42,3,1\n"
	"  ffffffff81000200,7,0,2\n"
	"0000000000000000,0,ffff888000000040,4096,120,0,0000000000000000,swapper/0\n"
	"ffffffff81000020,-1,ffff8880000";

static void test_count_lines(void **state)
{
	size_t len = sizeof(lines) - 1, last = (size_t)(strstr(lines, "ffffffff81000020") - lines);
	size_t step;

	for (step = 1; step <= len; step++) {
		struct ks_kmap_counter counter = count(lines, len, true, step);

		assert_int_equal(counter.objects, 3);
		assert_int_equal(counter.bytes, len);
		assert_int_equal(counter.last_begin, last);
	}
}

static void put_header(struct ks_strbuf *sb, u16 extra)
{
	struct memorizer_header header = {
		.magic = MEMORIZER_MAGIC,
		.version = MEMORIZER_ABI_VERSION,
		.header_size = (u16)(sizeof(header) + extra),
		.record_size = sizeof(struct memorizer_record),
		.access_size = sizeof(struct memorizer_access),
	};

	ks_strbuf_add(sb, &header, sizeof(header));
	while (extra--)
		ks_strbuf_add(sb, "", 1);
}

static void put_object(struct ks_strbuf *sb, u32 accesses)
{
	struct memorizer_record record = { .addr = 0x1000, .accesses = accesses };
	struct memorizer_access access = { .ip = 0x2000 };

	ks_strbuf_add(sb, &record, sizeof(record));
	while (accesses--)
		ks_strbuf_add(sb, &access, sizeof(access));
}

/* Two streams, one behind the other: 2 and 1 objects; the header of the second is of a later version. */
static void test_count_records(void **state)
{
	struct ks_strbuf sb;
	size_t step, last;

	ks_strbuf_init(&sb);
	put_header(&sb, 0);
	put_object(&sb, 3);
	put_object(&sb, 0);
	put_header(&sb, 8);
	last = sb.len;
	put_object(&sb, 1);
	assert_false(sb.failed);
	for (step = 1; step <= sb.len; step++) {
		struct ks_kmap_counter counter = count(sb.s, sb.len, false, step);

		assert_int_equal(counter.objects, 3);
		assert_int_equal(counter.bytes, sb.len);
		assert_int_equal(counter.last_begin, last);
		assert_false(counter.unknown);
	}
	ks_strbuf_deinit(&sb);
}

static void test_count_refuses(void **state)
{
	struct memorizer_header header = { .magic = MEMORIZER_MAGIC,
					   .header_size = sizeof(header),
					   .record_size = 1,
					   .access_size = sizeof(struct memorizer_access) };
	struct ks_kmap_counter counter = { 0 };
	char zeros[1000] = "";

	ks_kmap_counter_add(&counter, &header, sizeof(header));
	ks_kmap_counter_add(&counter, zeros, sizeof(zeros));
	assert_true(counter.unknown);
	assert_int_equal(counter.objects, 0);
}

/* === The kernel's statistics ============================================================== */

static const char objects_only[] = "state: ok\n"
				   "mode: 1\n"
				   "dropped_full: 3\n"
				   "dropped_recursion: 99\n"
				   "dropped_nmi: 4\n"
				   "marks_lost: 5\n"
				   "sites: 7 of 100\n";

static const char with_accesses[] = "state: failed: no memory\n"
				    "dropped_full: 1\n"
				    "dropped_nmi: 2\n"
				    "marks_lost: 4\n"
				    "accesses_dropped_nested: 1000\n"
				    "accesses_dropped_nmi: 8\n"
				    "accesses_dropped_full: 16\n"
				    "accesses_dropped_far: 32\n"
				    "vmalloc_areas_lost: 64\n"
				    "accesses_dropped_cpu: 128\n"
				    "page_objects_lost: 256\n";

static void test_kernel_stats(void **state)
{
	struct ks_kmap_kernel_stats before, stats;
	struct ks_diag diag = { 0 };

	assert_int_equal(ks_kmap_kernel_stats_parse(objects_only, "f", &stats, &diag), 0);
	assert_false(stats.failed);
	assert_int_equal(ks_kmap_lost_objects(&stats), 7);
	assert_int_equal(ks_kmap_lost_total(&stats), 12);

	assert_int_equal(ks_kmap_kernel_stats_parse(with_accesses, "f", &stats, &diag), 0);
	assert_true(stats.failed);
	assert_string_equal(stats.state, "failed: no memory");
	assert_int_equal(ks_kmap_lost_objects(&stats), 3);
	assert_int_equal(ks_kmap_lost_total(&stats), 511);

	before = stats;
	stats.lost[KS_KMAP_LOST_ACCESSES_FULL] += 6;
	ks_kmap_kernel_stats_since(&stats, &before);
	assert_int_equal(ks_kmap_lost_objects(&stats), 0);
	assert_int_equal(ks_kmap_lost_total(&stats), 6);
}

static void test_kernel_stats_refuse(void **state)
{
	static const char *const bad[] = { "", "state: ok\ndropped_full: 1\ndropped_nmi: 2\n",
					   "dropped_full: x\ndropped_nmi: 2\nmarks_lost: 4\n",
					   "xdropped_full: 1\ndropped_nmi: 2\nmarks_lost: 4\n" };
	struct ks_kmap_kernel_stats stats = { .state = "as it was" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ks_diag diag = { 0 };

		assert_int_equal(ks_kmap_kernel_stats_parse(bad[i], "f", &stats, &diag),
				 KS_EBADINPUT);
		assert_int_equal(diag.err, KS_EBADINPUT);
		assert_string_equal(stats.state, "as it was");
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_count_lines),	    cmocka_unit_test(test_count_records),
	cmocka_unit_test(test_count_refuses),	    cmocka_unit_test(test_kernel_stats),
	cmocka_unit_test(test_kernel_stats_refuse),
};

KS_RUN(tests)
