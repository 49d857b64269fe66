// SPDX-License-Identifier: GPL-2.0-only
/* Recording without a kernel: directories that look like tracefs, kmemtrace and the memorizer's debugfs. */
#include "ks-test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "capture/chunks.h"
#include "capture/machine.h"
#include "capture/memorizer.h"
#include "capture/relay-capture.h"
#include "capture/tracefs.h"
#include "uapi/memorizer.h"

/* === A directory ========================================================================== */

static char dir[64];

static char *in_dir(const char *name)
{
	static char path[4][160];
	static unsigned int next;
	char *to = path[next++ % 4];

	snprintf(to, sizeof(path[0]), "%s/%s", dir, name);
	return to;
}

static void put_bytes(const char *name, const void *data, size_t len)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

/* What a file has; its end shows. */
static const char *get(const char *name)
{
	static char text[4][256];
	static unsigned int next;
	char *to = text[next++ % 4];
	int fd = open(in_dir(name), O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return "(no file)";
	n = read(fd, to, sizeof(text[0]) - 1);
	assert_true(n >= 0);
	to[n] = '\0';
	close(fd);
	return to;
}

static int forget(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/kmemscope-capture-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return 0;
}

static int teardown(void **state)
{
	return nftw(dir, forget, 8, FTW_DEPTH | FTW_PHYS);
}

/* === kmemtrace ============================================================================ */

static void test_relay(void **state)
{
	struct ks_relay_capture *capture;
	u64 bytes = 99, overruns = 99;

	assert_false(ks_relay_available(dir));
	assert_int_equal(mkdir(in_dir("out"), 0700), 0);
	put("cpu0", "zero,");
	assert_true(ks_relay_available(dir));
	put("enabled", "");
	put("total_overruns", "17\n");
	assert_int_equal(ks_relay_capture_start(dir, in_dir("out"), &capture, NULL), 0);
	assert_string_equal(get("enabled"), "1");
	put("cpu0", "and more");
	assert_int_equal(ks_relay_capture_stop(capture, &bytes, &overruns, NULL), 0);
	assert_string_equal(get("enabled"), "0");
	assert_string_equal(get("out/cpu0.out"), "zero,and more");
	assert_int_equal(bytes, 13);
	assert_int_equal(overruns, 17);
}

static void test_relay_fails(void **state)
{
	struct ks_relay_capture *capture = NULL;
	struct ks_diag diag = { 0 };

	put("cpu0", "zero");
	assert_int_equal(ks_relay_capture_start(dir, in_dir("gone"), &capture, &diag), -ENOENT);
	assert_null(capture);
	assert_int_equal(diag.err, -ENOENT);
	unlink(in_dir("cpu0"));
	put("enabled", "");
	assert_true(ks_relay_available(dir)); /* the files of the processors come later */
}

/* === The memorizer ======================================================================== */

static struct ks_memorizer memorizer;

static void test_memorizer_files(void **state)
{
	struct ks_diag diag = { 0 };
	u64 mode = 99;

	assert_int_equal(ks_memorizer_open(&memorizer, in_dir("gone"), &diag), -ENODEV);
	assert_non_null(strstr(diag.text, "mount debugfs"));
	assert_int_equal(ks_memorizer_open(&memorizer, dir, NULL), -ENODEV);
	put("memorizer_enabled", "2 these tasks and interrupts\n");
	assert_int_equal(ks_memorizer_open(&memorizer, dir, NULL), 0);
	assert_int_equal(ks_memorizer_mode(&memorizer, &mode, NULL), 0);
	assert_int_equal(mode, KS_MEMORIZER_TASKS_AND_IRQS);
	assert_int_equal(truncate(in_dir("memorizer_enabled"), 0), 0);
	assert_int_equal(ks_memorizer_mode(&memorizer, &mode, NULL), KS_EBADINPUT);
	assert_int_equal(ks_memorizer_set_mode(&memorizer, 4711, NULL), 0);
	assert_string_equal(get("memorizer_enabled"), "4711");
	assert_int_equal(ks_memorizer_mode(&memorizer, &mode, NULL), 0);
	assert_int_equal(mode, 4711);
	assert_int_equal(ks_memorizer_clear(&memorizer, &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "clear_dead_objects"));
	put("clear_dead_objects", "");
	assert_int_equal(ks_memorizer_clear(&memorizer, NULL), 0);
	assert_string_equal(get("clear_dead_objects"), "1");
	ks_memorizer_close(&memorizer);
}

static const char line[] = "ffffffff81000010,42,ffff888000000000,64,100,150,ffffffff81000900,ls\n";

/* A stream that has something, then nothing, then comes to its end; and the live objects behind it. */
static void test_memorizer_copy(void **state)
{
	struct ks_memorizer_copy copy;
	char twice[2 * sizeof(line)];
	bool more = true;
	int writer;

	put("memorizer_enabled", "1\n");
	put("print_live_obj", "N");
	put("kmap", line);
	assert_int_equal(mkfifo(in_dir("kmap_stream"), 0600), 0);
	assert_int_equal(ks_memorizer_open(&memorizer, dir, NULL), 0);
	assert_int_equal(ks_memorizer_copy_start(&copy, &memorizer, in_dir("map"), true, NULL), 0);
	writer = open(in_dir("kmap_stream"), O_WRONLY);
	assert_int_equal(write(writer, line, sizeof(line) - 1), sizeof(line) - 1);
	assert_int_equal(ks_memorizer_copy_some(&copy, &more, NULL), 0);
	assert_false(more);
	assert_int_equal(copy.counter.objects, 1);
	close(writer);
	assert_int_equal(ks_memorizer_copy_some(&copy, &more, NULL), -EIO);
	assert_int_equal(ks_memorizer_copy_live(&copy, NULL), 0);
	assert_string_equal(get("print_live_obj"), "N");
	assert_int_equal(copy.counter.objects, 2);
	assert_string_equal(get("map"), "(no file)"); /* until it is whole */
	assert_int_equal(ks_memorizer_copy_end(&copy, true, NULL), 0);
	snprintf(twice, sizeof(twice), "%s%s", line, line);
	assert_string_equal(get("map"), twice);
	ks_memorizer_close(&memorizer);
}

static void test_memorizer_header(void **state)
{
	struct memorizer_header good = { .magic = MEMORIZER_MAGIC,
					 .version = MEMORIZER_ABI_VERSION,
					 .header_size = sizeof(good),
					 .record_size = sizeof(struct memorizer_record),
					 .access_size = sizeof(struct memorizer_access) };
	struct memorizer_record record = { .addr = 0x1000 };
	struct ks_memorizer_copy copy;
	struct ks_diag diag = { 0 };
	int i;

	put("memorizer_enabled", "1\n");
	assert_int_equal(ks_memorizer_open(&memorizer, dir, NULL), 0);
	for (i = 0; i < 4; i++) {
		struct memorizer_header header = good;

		header.magic += i == 1;
		header.version = (u16)(header.version + 2 * (i == 2));
		unlink(in_dir("kmap_stream_bin"));
		put_bytes("kmap_stream_bin", &header, i == 3 ? 4 : sizeof(header));
		put_bytes("kmap_stream_bin", &record, i == 3 ? 0 : sizeof(record));
		if (i) {
			assert_int_equal(ks_memorizer_copy_start(&copy, &memorizer, in_dir("map"),
								 false, &diag),
					 KS_EBADINPUT);
			assert_non_null(strstr(diag.text, "another version"));
			continue;
		}
		assert_int_equal(
			ks_memorizer_copy_start(&copy, &memorizer, in_dir("map"), false, NULL), 0);
		assert_int_equal(copy.counter.bytes, sizeof(header));
		assert_int_equal(copy.counter.objects, 0);
		assert_int_equal(ks_memorizer_copy_end(&copy, false, NULL), 0);
	}
	assert_string_equal(get("map"), "(no file)");
	ks_memorizer_close(&memorizer);
}

/* === tracefs ============================================================================== */

static void test_process_start(void **state)
{
	u64 mine = ks_process_start((u32)getpid());
	char text[1024] = "", *p;
	int fd = open("/proc/self/stat", O_RDONLY), field;
	pid_t child;

	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	p = strrchr(text, ')') + 2; /* field 3 */
	for (field = 3; field < 22; field++)
		p = strchr(p, ' ') + 1;
	assert_int_equal(mine, strtoull(p, NULL, 10));
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(ks_process_start((u32)child), 0);
}

/* Of those who live, who hold the lock, who are others', and of a name that says nothing, none is removed. */
static void test_stale(void **state)
{
	static const char *const names[] = { "instances/kmemscope-4194305-12",
					     "instances/kmemscope-x", "instances/other-4194305-12",
					     "instances/kmemscope-4194306-12" };
	char mine[96];
	u32 removed = 99;
	size_t i;
	int held;

	assert_int_equal(ks_tracefs_remove_stale(in_dir("gone"), &removed), -ENOENT);
	assert_int_equal(mkdir(in_dir("instances"), 0700), 0);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(mkdir(in_dir(names[i]), 0700), 0);
	snprintf(mine, sizeof(mine), "instances/kmemscope-%d-%llu", (int)getpid(),
		 (unsigned long long)ks_process_start((u32)getpid()));
	assert_int_equal(mkdir(in_dir(mine), 0700), 0);
	held = open(in_dir(names[3]), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(held, LOCK_EX), 0);
	assert_int_equal(ks_tracefs_remove_stale(dir, &removed), 0);
	assert_int_equal(removed, 1);
	assert_int_equal(access(in_dir(names[0]), F_OK), -1);
	for (i = 1; i < ARRAY_SIZE(names); i++)
		assert_int_equal(access(in_dir(names[i]), F_OK), 0);
	assert_int_equal(access(in_dir(mine), F_OK), 0);
	close(held);
	assert_int_equal(ks_tracefs_remove_stale(dir, &removed), 0);
	assert_int_equal(removed, 1);
}

/* Names of tasks: lines of a number, a blank and the name. What is none is left out; later names win. */
static void test_cmdlines(void **state)
{
	struct ks_tracefs tfs = { .root = dir, .dir_fd = -1, .free_fd = -1 };
	struct ks_cmdlines cmd;
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	assert_int_equal(ks_cmdlines_init(&cmd), 0);
	put("saved_cmdlines", "12 bash\nnothing\n blank\n7 two words\n12345678901 long\n\n");
	assert_int_equal(ks_cmdlines_collect(&cmd, &tfs), 0);
	unlink(in_dir("saved_cmdlines"));
	put("saved_cmdlines", "12 ls\n99 cut");
	assert_int_equal(ks_cmdlines_collect(&cmd, &tfs), 0);
	ks_cmdlines_print(&cmd, &text);
	assert_non_null(strstr(ks_strbuf_str(&text), "12 ls\n"));
	assert_non_null(strstr(ks_strbuf_str(&text), "7 two words\n"));
	assert_null(strstr(ks_strbuf_str(&text), "bash"));
	assert_null(strstr(ks_strbuf_str(&text), "nothing"));
	assert_null(strstr(ks_strbuf_str(&text), "blank"));
	assert_null(strstr(ks_strbuf_str(&text), "long"));
	ks_cmdlines_deinit(&cmd);
	ks_strbuf_deinit(&text);
}

static void test_cpu_stats(void **state)
{
	struct ks_tracefs tfs = { .root = dir, .instance = dir, .dir_fd = -1, .free_fd = -1 };
	struct ks_cpu_stats stats;
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	assert_int_equal(mkdir(in_dir("per_cpu"), 0700), 0);
	assert_int_equal(mkdir(in_dir("per_cpu/cpu3"), 0700), 0);
	put("per_cpu/cpu3/stats",
	    "entries: 11\noverrun: 12\ncommit overrun: 13\nbytes: 14\n"
	    "oldest event ts:  1.5\nnow ts:  2.5\ndropped events: 15\nread events: 16\n");
	assert_int_equal(ks_machine_cpu_stats(&tfs, 3, &stats, &text), 0);
	assert_int_equal(stats.entries, 11);
	assert_int_equal(stats.overrun, 12);
	assert_int_equal(stats.commit_overrun, 13);
	assert_int_equal(stats.dropped, 15);
	assert_int_equal(stats.read, 16);
	assert_non_null(strstr(ks_strbuf_str(&text), "overrun: 12"));
	assert_int_not_equal(ks_machine_cpu_stats(&tfs, 4, &stats, NULL), 0);
	ks_strbuf_deinit(&text);
}

/* === Chunks =============================================================================== */

static struct ks_chunks chunks;

static void *give_back(void *arg)
{
	ks_chunks_put(&chunks, arg);
	return NULL;
}

static void *wait_for_one(void *arg)
{
	return ks_chunks_take(&chunks);
}

static void test_chunks(void **state)
{
	struct ks_chunk *a, *b;
	pthread_t thread;
	void *got;

	assert_int_equal(ks_chunks_init(&chunks, 64, 2), 0);
	a = ks_chunks_get(&chunks);
	b = ks_chunks_get(&chunks);
	assert_true(a && b && a != b);
	memset(a->data, 1, 64);
	a->len = 64;
	/* There are two: who wants a third gets the one that comes back, as if new. */
	assert_int_equal(pthread_create(&thread, NULL, give_back, a), 0);
	assert_ptr_equal(ks_chunks_get(&chunks), a);
	pthread_join(thread, NULL);
	assert_int_equal(a->len, 0);
	/* In order; the last one out leaves a queue that can be filled again. */
	ks_chunks_queue(&chunks, b);
	ks_chunks_queue(&chunks, a);
	assert_ptr_equal(ks_chunks_take(&chunks), b);
	assert_ptr_equal(ks_chunks_take(&chunks), a);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_one, NULL), 0);
	ks_chunks_queue(&chunks, a);
	pthread_join(thread, &got);
	assert_ptr_equal(got, a);
	ks_chunks_queue(&chunks, a);
	ks_chunks_close(&chunks);
	assert_ptr_equal(ks_chunks_take(&chunks), a);
	assert_null(ks_chunks_take(&chunks));
	ks_chunks_put(&chunks, a);
	ks_chunks_queue(&chunks, b); /* what is queued at the end is freed with the rest */
	ks_chunks_deinit(&chunks);
}

#define CAPTURE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	CAPTURE(test_relay),
	CAPTURE(test_relay_fails),
	CAPTURE(test_memorizer_files),
	CAPTURE(test_memorizer_copy),
	CAPTURE(test_memorizer_header),
	cmocka_unit_test(test_process_start),
	CAPTURE(test_stale),
	CAPTURE(test_cmdlines),
	CAPTURE(test_cpu_stats),
	cmocka_unit_test(test_chunks),
};

KS_RUN(tests)
