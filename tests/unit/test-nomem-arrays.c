// SPDX-License-Identifier: GPL-2.0-only
/* Growing arrays that fail, one after the other: nothing crashes, and nothing is left out in silence. */
#include "ks-test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "analysis/check.h"
#include "source/open.h"
#include "sym/tree.h"

/* === Data ================================================================================= */

static unsigned long calls, fail_at; /* fail_at: the number of the call that fails; 0 = none */

/* The next call that fails; false once a run got by without reaching it. */
static bool next_failure(void)
{
	bool reached = !fail_at || calls >= fail_at;

	calls = 0;
	fail_at = reached ? fail_at + 1 : 0;
	return reached;
}

/* All arrays of the library grow through this function. */
void *reallocarray(void *p, size_t n, size_t size)
{
	if (++calls == fail_at) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, n * size);
}

/* === Captures ============================================================================= */

static void corpus_path(char *path, size_t size, const char *name)
{
	const char *corpus = getenv("CORPUS");

	assert_non_null(corpus);
	snprintf(path, size, "%s/%s", corpus, name);
}

/* No CPU gets the node of another, and none is left out. */
static void test_nodes_of(const char *name)
{
	char path[512];
	struct ks_diag diag = { 0 };
	struct ks_source *trace;
	size_t nodes;
	int err;

	fail_at = 0;
	corpus_path(path, sizeof(path), name);
	assert_int_equal(ks_source_open(path, NULL, &trace, &diag), 0);
	nodes = trace->info.cpu_nodes.len;
	assert_true(nodes > 0);
	ks_source_close(trace);
	while (next_failure()) {
		err = ks_source_open(path, NULL, &trace, &diag);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			continue;
		}
		assert_int_equal(trace->info.cpu_nodes.len, nodes);
		ks_source_close(trace);
	}
}

/* The recorders of these files wrote the node of each of their CPUs. */
static void test_nodes(void **state)
{
	test_nodes_of("tracedat/v7-recorder");
	test_nodes_of("perfdata/nodes");
}

static int check_file(const char *path, struct ks_check *ret_check, struct ks_diag *diag)
{
	struct ks_source *source;
	int err = ks_source_open(path, NULL, &source, diag);

	if (err)
		return err;
	err = ks_check_source(source, ret_check, diag);
	ks_source_close(source);
	return err;
}

/* A verdict is on all events, or there is none. */
static void test_check(void **state)
{
	struct ks_diag diag = { 0 };
	struct ks_check check;
	char path[512];
	u64 events;
	size_t cpus;
	int err;

	fail_at = 0;
	corpus_path(path, sizeof(path), "tracedat/v7-recorder");
	assert_int_equal(check_file(path, &check, &diag), 0);
	events = check.events;
	cpus = check.cpus.len;
	assert_true(events > 0 && cpus > 1);
	ks_check_deinit(&check);
	while (next_failure()) {
		err = check_file(path, &check, &diag);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			continue;
		}
		assert_int_equal(check.events, events);
		assert_int_equal(check.cpus.len, cpus);
		ks_check_deinit(&check);
	}
}

/* === Trees ================================================================================ */

static void make_file(const char *dir, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void remove_tree(const char *dir)
{
	char *command;

	assert_true(asprintf(&command, "rm -r '%s'", dir) > 0);
	assert_int_equal(system(command), 0);
	free(command);
}

static void test_tree(void **state)
{
	char *dir = scratch_path("tree"), *sub;
	struct ks_tree tree = { .build = dir, .source = dir };
	struct ks_object_files objects;
	struct ks_diag diag = { 0 };

	fail_at = 0;
	assert_int_equal(mkdir(dir, 0700), 0);
	make_file(dir, "a.o");
	make_file(dir, "b.ko");
	make_file(dir, "b.mod");
	assert_true(asprintf(&sub, "%s/fs", dir) > 0);
	assert_int_equal(mkdir(sub, 0700), 0);
	make_file(sub, "c.o");
	while (next_failure()) {
		int err = ks_object_files_init(&objects, &tree, &diag);

		if (err) {
			assert_int_equal(err, -ENOMEM);
			continue;
		}
		assert_int_equal(objects.items.len, 2);
		assert_int_equal(objects.kos.len, 1);
		ks_object_files_deinit(&objects);
	}
	remove_tree(dir);
	free(sub);
	free(dir);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_nodes),
	cmocka_unit_test(test_check),
	cmocka_unit_test(test_tree),
};

KS_RUN(tests)
