// SPDX-License-Identifier: GPL-2.0-only
/* The kernel module's tables and record formats, compiled in user space. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include "../../kernel/record.h"

#include <cmocka.h>

bool user_pages_exhausted;

/* === Layout =============================================================================== */

/* Offsets are the ABI: they must not change. Those of kmemtrace are from its ABI document. */
static void test_layouts(void **state)
{
	assert_int_equal(sizeof(struct memorizer_header), 72);
	assert_int_equal(offsetof(struct memorizer_header, access_size), 64);
	assert_int_equal(sizeof(struct memorizer_record), 128);
	assert_int_equal(offsetof(struct memorizer_record, gfp), 56);
	assert_int_equal(offsetof(struct memorizer_record, flags), 72);
	assert_int_equal(offsetof(struct memorizer_record, accesses), 76);
	assert_int_equal(offsetof(struct memorizer_record, comm), 80);
	assert_int_equal(offsetof(struct memorizer_record, cache), 96);
	assert_int_equal(sizeof(struct memorizer_access), 56);
	assert_int_equal(offsetof(struct memorizer_access, pid), 40);
	assert_int_equal(offsetof(struct memorizer_access, context), 44);
	assert_int_equal(offsetof(struct memorizer_access, flags), 45);
	assert_int_equal(offsetof(struct memorizer_access, cpu), 46);
	assert_int_equal(offsetof(struct memorizer_access, offset), 48);

	assert_int_equal(sizeof(struct kmemtrace_event), 24);
	assert_int_equal(offsetof(struct kmemtrace_event, event_size), 2);
	assert_int_equal(offsetof(struct kmemtrace_event, sequence), 4);
	assert_int_equal(offsetof(struct kmemtrace_event, call_site), 8);
	assert_int_equal(offsetof(struct kmemtrace_event, ptr), 16);
	assert_int_equal(sizeof(struct kmemtrace_alloc), 48);
	assert_int_equal(offsetof(struct kmemtrace_alloc, bytes_req), 24);
	assert_int_equal(offsetof(struct kmemtrace_alloc, bytes_alloc), 32);
	assert_int_equal(offsetof(struct kmemtrace_alloc, gfp_flags), 40);
	assert_int_equal(offsetof(struct kmemtrace_alloc, node), 44);
}

/* === Tables =============================================================================== */

static void test_table(void **state)
{
	struct mz_table table;
	u32 id, again;
	u64 key;

	assert_int_equal(mz_table_init(&table, 64, 8, 8), 0);
	key = 0;
	assert_memory_equal(mz_table_entry(&table, MZ_ID_NONE), &key, 8);
	for (key = 100; key < 148; key++) {
		assert_false(mz_table_find(&table, &key, &id));
		assert_true(mz_table_add(&table, &key, &id));
		assert_int_not_equal(id, MZ_ID_NONE);
		assert_true(mz_table_add(&table, &key, &again));
		assert_int_equal(id, again);
		assert_memory_equal(mz_table_entry(&table, id), &key, 8);
	}
	/* Three quarters are in use: the table is full. Its entries are still found. */
	assert_false(mz_table_add(&table, &key, &id));
	assert_int_equal(id, MZ_ID_NONE);
	key = 100;
	assert_true(mz_table_add(&table, &key, &id));
	assert_int_equal(table.nr, 48);
	mz_table_deinit(&table);
}

static void test_table_finds_by_key_alone(void **state)
{
	struct {
		u64 key, value;
	} entry = { .key = 1, .value = 2 }, other = { .key = 1, .value = 3 };
	struct mz_table table;
	u32 id, again;

	assert_int_equal(mz_table_init(&table, 8, 8, 16), 0);
	assert_true(mz_table_add(&table, &entry, &id));
	assert_true(mz_table_add(&table, &other, &again));
	assert_int_equal(id, again);
	assert_memory_equal(mz_table_entry(&table, id), &entry, 16);
	mz_table_deinit(&table);
}

static void *add_all(void *data)
{
	static const u64 nr = 3000;
	u64 i;
	u32 id;

	for (i = 0; i < nr; i++) {
		u64 key[2] = { i + 1, ~i };

		assert_true(mz_table_add(data, key, &id));
		assert_memory_equal(mz_table_entry(data, id), key, 16);
	}
	return NULL;
}

static void test_table_with_threads(void **state)
{
	pthread_t threads[4];
	struct mz_table table;
	unsigned int i;

	assert_int_equal(mz_table_init(&table, 8192, 16, 16), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_all, &table), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(table.nr, 3000);
	mz_table_deinit(&table);
}

/* === Formats ============================================================================== */

static const struct mz_clock hz_250 = { .base_ns = 1000000000,
					.base_jiffies = 250,
					.tick_ns = 4000000 };

static void test_jiffies(void **state)
{
	assert_int_equal(mz_clock_jiffies(&hz_250, 0), 0);
	assert_int_equal(mz_clock_jiffies(&hz_250, 1000000000), 250);
	assert_int_equal(mz_clock_jiffies(&hz_250, 1003999999), 250);
	assert_int_equal(mz_clock_jiffies(&hz_250, 1004000000), 251);
	assert_int_equal(mz_clock_jiffies(&hz_250, 999999999), 249);
	assert_int_equal(mz_clock_jiffies(&hz_250, 996000000), 249);
	assert_int_equal(mz_clock_jiffies(&hz_250, 995999999), 248);
}

static void test_record_of_an_object(void **state)
{
	struct mz_site site = {
		.ip = 0xffffffff81234567,
		.gfp = 0xcc0,
		.kind = 2,
		.bytes_alloc = 192,
		.cache = "dentry",
	};
	struct mz_site free_site = { .ip = 0xffffffff81aaaaaa };
	struct mz_comm comm = { "tar" };
	struct mz_object obj = { 0 };
	struct memorizer_record record;
	struct mz_names names;
	char line[MZ_LINE_MAX];
	int len;
	u32 id;

	assert_int_equal(mz_names_init(&names), 0);
	assert_true(mz_table_add(&names.sites, &site, &id));
	obj.alloc_site = id;
	assert_true(mz_table_add(&names.comms, &comm, &id));
	obj.comm = id;
	obj.key = mz_key(0xffff888012345000, true);
	obj.size = 186;
	obj.pid = 4194303;
	obj.tgid = 77;
	obj.cpu = 8191;
	obj.alloc_ns = 1004000000;

	mz_record_fill(&names, &obj, &record);
	assert_int_equal(record.addr, 0xffff888012345000);
	assert_int_equal(record.alloc_ip, 0xffffffff81234567);
	assert_int_equal(record.free_ip, 0);
	assert_int_equal(record.bytes_req, 186);
	assert_int_equal(record.bytes_alloc, 192);
	assert_int_equal(record.gfp, 0xcc0);
	assert_int_equal(record.tgid, 77);
	assert_int_equal(record.cpu, 8191);
	assert_int_equal(record.kind, MEMORIZER_CACHE);
	assert_int_equal(record.flags, 0);
	assert_string_equal(record.cache, "dentry");
	len = mz_record_text(&record, &hz_250, line, sizeof(line));
	assert_int_equal(len, (int)strlen(line));
	assert_string_equal(line, "ffffffff81234567,4194303,ffff888012345000,186,251,0,"
				  "0000000000000000,tar\n");

	assert_true(mz_table_add(&names.sites, &free_site, &id));
	obj.free_site = id;
	obj.free_ns = 1008000000;
	mz_record_fill(&names, &obj, &record);
	assert_int_equal(record.flags, MEMORIZER_FREED);
	mz_record_text(&record, &hz_250, line, sizeof(line));
	assert_string_equal(line, "ffffffff81234567,4194303,ffff888012345000,186,251,252,"
				  "ffffffff81aaaaaa,tar\n");

	free_site.ip = MEMORIZER_IP_IMPLIED;
	assert_true(mz_table_add(&names.sites, &free_site, &id));
	obj.free_site = id;
	obj.implied = 1;
	mz_record_fill(&names, &obj, &record);
	assert_int_equal(record.flags, MEMORIZER_FREED | MEMORIZER_IMPLIED);
	mz_record_text(&record, &hz_250, line, sizeof(line));
	assert_string_equal(line, "ffffffff81234567,4194303,ffff888012345000,186,251,252,"
				  "00000000deadbeef,tar\n");
	mz_names_deinit(&names);
}

/* Outside of a task there is no pid: -1 in records, 0 in lines, which are older. */
static void test_record_of_an_interrupt(void **state)
{
	static const u8 contexts[] = { MEMORIZER_IN_SOFTIRQ, MEMORIZER_IN_HARDIRQ };
	struct memorizer_record record;
	struct mz_names names;
	char line[MZ_LINE_MAX];
	size_t i;

	assert_int_equal(mz_names_init(&names), 0);
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		struct mz_object obj = { .context = contexts[i] };

		mz_record_fill(&names, &obj, &record);
		assert_int_equal(record.context, contexts[i]);
		assert_int_equal(record.pid, -1);
		assert_int_equal(record.tgid, -1);
		mz_record_text(&record, &hz_250, line, sizeof(line));
		assert_string_equal(line, "0000000000000000,0,0000000000000000,0,0,0,"
					  "0000000000000000,\n");
	}
	/* The idle task is a task, and has pid 0. */
	mz_record_fill(&names, &(struct mz_object){ .context = MEMORIZER_IN_TASK }, &record);
	assert_int_equal(record.pid, 0);
	assert_int_equal(record.tgid, 0);
	mz_names_deinit(&names);
}

/* A process may have any name; the line keeps its eight fields. */
static void test_hostile_comm(void **state)
{
	struct memorizer_record record = { .pid = 1 };
	char line[MZ_LINE_MAX];

	memcpy(record.comm, "a,b\nc\\d\x7f\xff e", 12);
	mz_record_text(&record, &hz_250, line, sizeof(line));
	assert_string_equal(line, "0000000000000000,1,0000000000000000,0,0,0,0000000000000000,"
				  "a\\x2cb\\x0ac\\x5cd\\x7f\\xff e\n");
}

static void test_longest_line_fits(void **state)
{
	struct memorizer_record record;
	char line[MZ_LINE_MAX];
	int len;

	memset(&record, 0xff, sizeof(record));
	record.context = MEMORIZER_IN_TASK;
	record.pid = INT32_MIN;
	len = mz_record_text(&record,
			     &(struct mz_clock){ .base_jiffies = ~0ull - 9, .tick_ns = ~0u }, line,
			     sizeof(line));
	assert_true(len < (int)sizeof(line) - 1);
	assert_int_equal(line[len - 1], '\n');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_finds_by_key_alone),
		cmocka_unit_test(test_table_with_threads),
		cmocka_unit_test(test_jiffies),
		cmocka_unit_test(test_record_of_an_object),
		cmocka_unit_test(test_record_of_an_interrupt),
		cmocka_unit_test(test_hostile_comm),
		cmocka_unit_test(test_longest_line_fits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
