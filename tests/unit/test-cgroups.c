// SPDX-License-Identifier: GPL-2.0-only
/* Which cgroup tasks are in: what the kernel says of it, the table, and its form in a file. */
#include "ks-test.h"

#include <string.h>

#include "capture/cgroups.h"
#include "trace/slab-census.h"

static const char *where(const struct ks_task_cgroups *tasks, u32 tid)
{
	u32 cgroup = ks_task_cgroup_of(tasks, tid);

	return cgroup == KS_NONE ? "?" : ks_intern_get(&tasks->paths, cgroup).s;
}

static void put(struct ks_task_cgroups *tasks, u32 tid, const char *path)
{
	assert_int_equal(ks_task_cgroups_put(tasks, tid, path, strlen(path)), 0);
}

static void check_path(const char *text, const char *path, u32 hierarchy)
{
	u32 got_hierarchy = 99;
	size_t len = 0;
	const char *got = ks_cgroup_path(text, &len, &got_hierarchy);

	assert_int_equal(len, strlen(path));
	assert_non_null(got);
	assert_memory_equal(got, path, len);
	assert_int_equal(got_hierarchy, hierarchy);
}

static void test_path(void **state)
{
	u32 hierarchy;
	size_t len;

	(void)state;
	check_path("0::/a:b/c\n", "/a:b/c", 0);
	check_path("12:pids:/x\n4:memory:/m\n0::/u\n", "/m", 4);
	check_path("0::/u\n4:memory:/m", "/m", 4);
	assert_null(ks_cgroup_path("3:pids:/x\nnonsense\n", &len, &hierarchy));
	assert_null(ks_cgroup_path("", &len, &hierarchy));
}

static void line(struct ks_task_cgroups *tasks, const char *text)
{
	assert_int_equal(ks_cgroup_watch_line(tasks, 4, text), 0);
}

#define FORK "  sh-7  [001] .....  1.5: sched_process_fork: "
#define MOVE "  sh-7  [001] .....  1.5: cgroup_attach_task: "

static void test_lines(void **state)
{
	struct ks_task_cgroups *tasks = ks_task_cgroups_new();

	(void)state;
	assert_non_null(tasks);
	put(tasks, 7, "/a");
	line(tasks, FORK "comm=sh pid=7 child_comm=sh child_pid=8");
	assert_string_equal(where(tasks, 8), "/a");
	/* Of one that is in no list nothing follows. */
	line(tasks, FORK "comm=sh pid=70 child_comm=sh child_pid=80");
	assert_string_equal(where(tasks, 80), "?");
	/* Names with words of the line in them. */
	line(tasks, FORK "comm=x pid=3 child_comm=y pid=7 child_comm=z child_pid=4 child_pid=9");
	assert_string_equal(where(tasks, 9), "/a");
	line(tasks,
	     MOVE "dst_root=4 dst_id=2 dst_level=2 dst_path=/b/c d pid=8 comm=sh pid=9 comm=");
	assert_string_equal(where(tasks, 8), "/b/c d");
	assert_string_equal(where(tasks, 9), "/a");
	line(tasks, MOVE "dst_root=3 dst_id=2 dst_level=2 dst_path=/other pid=8 comm=sh");
	assert_string_equal(where(tasks, 8), "/b/c d");
	line(tasks, FORK "comm=sh pid=8 child_comm=sh child_pid=10");
	assert_string_equal(where(tasks, 10), "/b/c d");
	line(tasks, "CPU:1 [LOST 5 EVENTS]");
	line(tasks, FORK "comm=sh");
	line(tasks, MOVE "dst_root=4");
	line(tasks, "");
	ks_task_cgroups_free(tasks);
}

static void test_is_in(void **state)
{
	struct ks_task_cgroups *tasks = ks_task_cgroups_new();
	u32 at;

	(void)state;
	assert_non_null(tasks);
	put(tasks, 1, "/system.slice/sshd.service/x");
	at = ks_task_cgroup_of(tasks, 1);
	assert_true(ks_task_cgroup_is_in(tasks, at, "/"));
	assert_true(ks_task_cgroup_is_in(tasks, at, "/system.slice"));
	assert_true(ks_task_cgroup_is_in(tasks, at, "/system.slice/"));
	assert_true(ks_task_cgroup_is_in(tasks, at, "sshd.service"));
	assert_true(ks_task_cgroup_is_in(tasks, at, "sshd.service/x"));
	assert_true(ks_task_cgroup_is_in(tasks, at, "x"));
	assert_false(ks_task_cgroup_is_in(tasks, at, "/sshd.service"));
	assert_false(ks_task_cgroup_is_in(tasks, at, "/system"));
	assert_false(ks_task_cgroup_is_in(tasks, at, "sshd"));
	assert_false(ks_task_cgroup_is_in(tasks, at, ""));
	assert_false(ks_task_cgroup_is_in(tasks, KS_NONE, "/"));
	assert_int_equal(ks_task_cgroup_of(NULL, 1), KS_NONE);
	ks_task_cgroups_free(tasks);
}

/* As a part of a census. A file that was cut off, or has numbers of no path, is refused. */
static void test_packed(void **state)
{
	struct ks_slab_census *census = ks_slab_census_new(), *got = NULL;
	enum ks_census_when when;
	struct ks_strbuf sb;
	size_t len;

	(void)state;
	assert_non_null(census);
	census->how = KS_CENSUS_BY_SLABINFO;
	census->allocs_end = 5;
	census->tasks = ks_task_cgroups_new();
	assert_non_null(census->tasks);
	put(census->tasks, 1, "/a");
	put(census->tasks, 4000000000u, "/b");
	put(census->tasks, 3, "/a");
	ks_strbuf_init(&sb);
	ks_slab_census_pack(census, KS_CENSUS_END, &sb);
	assert_int_equal(ks_slab_census_unpack(sb.s, sb.len, &got, &when, NULL), 0);
	assert_int_equal(got->allocs_end, 5);
	assert_string_equal(where(got->tasks, 1), "/a");
	assert_string_equal(where(got->tasks, 3), "/a");
	assert_string_equal(where(got->tasks, 4000000000u), "/b");
	assert_string_equal(where(got->tasks, 2), "?");
	ks_slab_census_free(got);
	for (len = 0; len < sb.len; len++)
		assert_int_equal(ks_slab_census_unpack(sb.s, len, &got, &when, NULL), KS_EBADINPUT);
	sb.s[sb.len - 1] = 2; /* there are paths 0 and 1 */
	assert_int_equal(ks_slab_census_unpack(sb.s, sb.len, &got, &when, NULL), KS_EBADINPUT);
	ks_strbuf_deinit(&sb);
	ks_slab_census_free(census);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_path),
	cmocka_unit_test(test_lines),
	cmocka_unit_test(test_is_in),
	cmocka_unit_test(test_packed),
};

KS_RUN(tests)
