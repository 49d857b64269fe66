// SPDX-License-Identifier: GPL-2.0-only
/* Filters of the kernel's events from names, misses of probes, and the time of day of a capture. */
#include "ks-test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/when.h"
#include "capture/hooks.h"
#include "capture/kernel-filter.h"
#include "trace/tracedat-about.h"

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000000 T first\n"
			       "ffffffff81000040 t twice\n"
			       "ffffffff81000040 T alias_of_twice\n"
			       "ffffffff81000100 d data_that_is_no_end\n"
			       "ffffffff81000200 T between\n"
			       "ffffffff81000400 t twice\n"
			       "ffffffff81000500 T last\n"
			       "ffffffffc0000000 t alloc_it\t[driver]\n";

/* A folder with caches of which one was merged into another. */
static char dir[] = "/tmp/kmemscope-filter-XXXXXX";
static char slabinfo[64];

static int setup(void **state)
{
	char path[96];
	FILE *file;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(slabinfo, sizeof(slabinfo), "%s/slabinfo", dir);
	file = fopen(slabinfo, "w");
	if (!file)
		return -1;
	fputs("slabinfo - version: 2.1\n# name <active_objs> <num_objs> <objsize>\n"
	      "filp 10 20 192 21 1 : tunables 0 0 0\n"
	      "dentry 10 20 192 21 1 : tunables 0 0 0\n"
	      "kmalloc-192 10 20 192 21 1 : tunables 0 0 0\n"
	      "vma 10 20 176 21 1 : tunables 0 0 0\n",
	      file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/filp", dir);
	if (symlink(":0000192", path))
		return -1;
	snprintf(path, sizeof(path), "%s/cred", dir);
	return symlink(":0000192", path);
}

static int teardown(void **state)
{
	char path[96];

	(void)state;
	unlink(slabinfo);
	snprintf(path, sizeof(path), "%s/filp", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/cred", dir);
	unlink(path);
	return rmdir(dir);
}

/* The expression of an event; NULL: none can pass. Valid until the next call. */
static const char *text_of(const struct ks_record_filter *asked, bool events_name,
			   enum ks_filter_event event)
{
	static char text[512];
	struct ks_kernel_filter filter;
	struct ks_strbuf sb;
	bool passes;

	assert_int_equal(
		ks_kernel_filter_init(&filter, asked, kallsyms, events_name, dir, slabinfo, NULL),
		0);
	ks_strbuf_init(&sb);
	passes = ks_kernel_filter_print(&filter, event, 4096, &sb);
	snprintf(text, sizeof(text), "%s", ks_strbuf_str(&sb));
	ks_strbuf_deinit(&sb);
	ks_kernel_filter_deinit(&filter);
	return passes ? text : NULL;
}

static void test_cache(void **state)
{
	const struct ks_record_filter filp = { .cache = "filp" }, cred = { .cache = "cred" };
	const struct ks_record_filter kmalloc = { .cache = "kmalloc-cg-2k" };
	const struct ks_record_filter none = { .cache = "nothing" };
	struct ks_kernel_filter filter;

	(void)state;
	assert_string_equal(text_of(&filp, true, KS_FILTER_CACHE), "name == \"filp\"");
	assert_string_equal(text_of(&filp, true, KS_FILTER_BULK), "name == \"filp\"");
	assert_null(text_of(&filp, true, KS_FILTER_KMALLOC));
	assert_null(text_of(&filp, true, KS_FILTER_PAGE));
	/* Merged: events have the name of the one that was there first. */
	assert_string_equal(text_of(&cred, true, KS_FILTER_CACHE), "name == \"filp\"");
	/* Without names in events, by size. */
	assert_string_equal(text_of(&filp, false, KS_FILTER_CACHE), "bytes_alloc == 192");
	assert_string_equal(text_of(&kmalloc, true, KS_FILTER_KMALLOC), "bytes_alloc == 2048");
	assert_null(text_of(&kmalloc, true, KS_FILTER_CACHE));
	assert_int_equal(ks_kernel_filter_init(&filter, &none, kallsyms, true, dir, slabinfo, NULL),
			 -EINVAL);
	ks_kernel_filter_deinit(&filter);
	assert_int_equal(
		ks_kernel_filter_init(&filter, &filp, kallsyms, false, dir, slabinfo, NULL), 0);
	assert_non_null(strstr(ks_strbuf_str(&filter.note), "dentry"));
	assert_null(strstr(ks_strbuf_str(&filter.note), "vma"));
	ks_kernel_filter_deinit(&filter);
}

static void test_site(void **state)
{
	const struct ks_record_filter twice = { .site = "twice" };
	const struct ks_record_filter offset = { .site = "between+0x1c" };
	const struct ks_record_filter address = { .site = "0xffffffff81000444" };
	const struct ks_record_filter module = { .site = "alloc_it" };
	const char *const bad[] = { "nothing", "twice+", "twice+0xq", "0x", "0x12 || 1" };
	struct ks_kernel_filter filter;
	size_t i;

	(void)state;
	assert_string_equal(
		text_of(&twice, true, KS_FILTER_KMALLOC),
		"((call_site >= 0xffffffff81000040 && call_site < 0xffffffff81000200) || "
		"(call_site >= 0xffffffff81000400 && call_site < 0xffffffff81000500))");
	assert_string_equal(text_of(&offset, true, KS_FILTER_CACHE),
			    "(call_site == 0xffffffff8100021c)");
	assert_string_equal(text_of(&address, true, KS_FILTER_CACHE),
			    "(call_site == 0xffffffff81000444)");
	assert_string_equal(
		text_of(&module, true, KS_FILTER_CACHE),
		"((call_site >= 0xffffffffc0000000 && call_site < 0xffffffffffffffff))");
	assert_null(text_of(&twice, true, KS_FILTER_BULK));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct ks_record_filter asked = { .site = bad[i] };

		assert_int_equal(
			ks_kernel_filter_init(&filter, &asked, kallsyms, true, dir, slabinfo, NULL),
			-EINVAL);
		ks_kernel_filter_deinit(&filter);
	}
}

static void test_sizes(void **state)
{
	const struct ks_record_filter large = { .by_size = true,
						.size_min = 4096,
						.size_max = UINT64_MAX };
	const struct ks_record_filter range = {
		.comm = "a b", .by_size = true, .size_min = 64, .size_max = 16384
	};
	const struct ks_record_filter small = { .by_size = true, .size_min = 0, .size_max = 64 };
	const struct ks_record_filter quote = { .comm = "a\" || 1 || \"" };
	struct ks_kernel_filter filter;

	(void)state;
	assert_string_equal(text_of(&large, true, KS_FILTER_KMALLOC), "bytes_alloc >= 4096");
	assert_string_equal(text_of(&range, true, KS_FILTER_CACHE),
			    "bytes_alloc >= 64 && bytes_alloc <= 16384 && comm == \"a b\"");
	assert_string_equal(text_of(&range, true, KS_FILTER_PAGE),
			    "order >= 0 && order <= 2 && comm == \"a b\"");
	assert_null(text_of(&small, true, KS_FILTER_PAGE));
	assert_int_equal(
		ks_kernel_filter_init(&filter, &quote, kallsyms, true, dir, slabinfo, NULL),
		-EINVAL);
	ks_kernel_filter_deinit(&filter);
}

/* Two recorders have probes of the same name: the kernel's second list does not say whose they are. */
static void test_missed(void **state)
{
	const struct ks_hooks hooks = { .group = "kmemscope_7_8" };
	static const char events[] = "p:kmemscope_1_2/kfree_rcu kvfree_call_rcu head=$arg1:x64\n"
				     "p:kmemscope_7_8/kfree_rcu kvfree_call_rcu head=$arg1:x64\n"
				     "r64:kmemscope_7_8/kmem_cache_alloc_bulk x\n";
	static const char profile[] = "  kfree_rcu        500      7\n"
				      "  kfree_rcu        400      3\n"
				      "  kmem_cache_alloc_bulk  300   20\n";
	static const char other[] = "  another        500      7\n"
				    "  kfree_rcu        400      3\n";

	(void)state;
	assert_int_equal(ks_hooks_missed(&hooks, events, profile), 23);
	assert_int_equal(ks_hooks_missed(&hooks, events, other), 3);
	assert_int_equal(ks_hooks_missed(&hooks, "", profile), 0);
}

#define SECOND 1000000000ull

static void test_wall(void **state)
{
	struct ks_wall wall = { 0 };
	struct ks_when when = { true, KS_WHEN_WALL, 1000 * SECOND };

	(void)state;
	assert_int_equal(ks_wall_of(&wall, 5), 0);
	assert_int_equal(ks_when_resolve(&when, &wall, NULL), -EINVAL);
	ks_wall_add(&wall, 100 * SECOND, 1000 * SECOND);
	assert_int_equal(ks_wall_of(&wall, 90 * SECOND), 990 * SECOND);
	assert_int_equal(ks_wall_to_ts(&wall, 10), 0); /* before its clock began */
	/* The wall clock went 2 seconds further than the other within 100. */
	ks_wall_add(&wall, 150 * SECOND, 1051 * SECOND);
	ks_wall_add(&wall, 200 * SECOND, 1102 * SECOND);
	assert_int_equal(wall.len, 2);
	assert_int_equal(ks_wall_of(&wall, 150 * SECOND), 1051 * SECOND);
	assert_int_equal(ks_wall_to_ts(&wall, 1051 * SECOND), 150 * SECOND);
	assert_int_equal(ks_wall_of(&wall, 300 * SECOND), 1202 * SECOND);
	assert_int_equal(ks_wall_of(&wall, 50 * SECOND), 950 * SECOND);
	assert_int_equal(ks_when_resolve(&when, &wall, NULL), 0);
	assert_int_equal(when.kind, KS_WHEN_TRACE);
	assert_int_equal(when.ns, 100 * SECOND);
}

/* 00:30, and 23:59 the day before, in a recording that ended at half past midnight: 1 January 2026, UTC. */
static void test_of_day(void **state)
{
	const u64 midnight = 1767225600 * SECOND;
	struct ks_wall wall = { 0 };
	struct ks_when after = { true, KS_WHEN_OF_DAY, 600 * SECOND };
	struct ks_when before = { true, KS_WHEN_OF_DAY, (23 * 3600 + 59 * 60) * SECOND + 5 };

	(void)state;
	setenv("TZ", "UTC", 1);
	ks_wall_add(&wall, 5000 * SECOND, midnight - 1800 * SECOND);
	ks_wall_add(&wall, 8600 * SECOND, midnight + 1800 * SECOND);
	assert_int_equal(ks_when_resolve(&after, &wall, NULL), 0);
	assert_int_equal(after.ns, 7400 * SECOND);
	assert_int_equal(ks_when_resolve(&before, &wall, NULL), 0);
	assert_int_equal(before.ns, 6740 * SECOND + 5);
}

static void test_about(void **state)
{
	struct ks_td_about about = { .probes_missed = 12, .only = "--comm a b%\xc3\xa4" },
			   read = { 0 };
	struct ks_strbuf sb;

	(void)state;
	ks_wall_add(&about.wall, 5, 7);
	ks_wall_add(&about.wall, 6, 8);
	ks_strbuf_init(&sb);
	ks_strbuf_puts(&sb, "kmemscope 1 self=1");
	ks_td_about_print(&about, &sb);
	assert_string_equal(ks_strbuf_str(&sb), "kmemscope 1 self=1 wall=5:7,6:8 missed=12 "
						"only=--comm%20a%20b%25%c3%a4");
	ks_td_about_parse(&read, ks_strbuf_str(&sb));
	assert_memory_equal(&read.wall, &about.wall, sizeof(read.wall));
	assert_int_equal(read.probes_missed, 12);
	assert_string_equal(read.only, about.only);
	ks_strbuf_deinit(&sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache), cmocka_unit_test(test_site),
		cmocka_unit_test(test_sizes), cmocka_unit_test(test_missed),
		cmocka_unit_test(test_wall),  cmocka_unit_test(test_of_day),
		cmocka_unit_test(test_about),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
