// SPDX-License-Identifier: GPL-2.0-only
/* Messages in a directory: their order, the bound, what is dropped and set aside, and what the next process finds. */
#include "ks-test.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>

#include "net/queue.h"

/* === Helpers ============================================================================== */

struct bench {
	char *dir;
	struct ks_queue *queue;
};

static int forget(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void open_queue(struct bench *b, u64 max_bytes, bool drop_oldest)
{
	const struct ks_queue_opts opts = { b->dir, max_bytes, drop_oldest };
	struct ks_diag diag;

	ks_queue_close(b->queue);
	b->queue = NULL;
	assert_int_equal(ks_queue_open(&opts, &b->queue, &diag), 0);
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->dir = scratch_path("queue");
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	ks_queue_close(b->queue);
	assert_int_equal(nftw(b->dir, forget, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(b->dir);
	free(b);
	return 0;
}

static int put(struct bench *b, const char *text)
{
	struct ks_diag diag;

	return ks_queue_put(b->queue, text, strlen(text), &diag);
}

/* The messages that wait, with blanks between them, in their order. */
static void check(struct bench *b, const char *expected)
{
	struct ks_queue_state now;
	struct ks_strbuf out;
	u64 number = 0, last = 0, bytes, sum = 0, count = 0;
	struct ks_diag diag;

	ks_strbuf_init(&out);
	while (ks_queue_next(b->queue, last, &number, &bytes)) {
		size_t len;

		assert_true(number > last);
		last = number;
		ks_strbuf_puts(&out, count++ ? " " : "");
		len = out.len;
		assert_int_equal(ks_queue_read(b->queue, number, &out, &diag), 0);
		assert_int_equal(out.len - len, bytes);
		sum += bytes;
	}
	assert_string_equal(ks_strbuf_str(&out), expected);
	ks_queue_state(b->queue, &now);
	assert_int_equal(now.messages, count);
	assert_int_equal(now.bytes, sum);
	ks_strbuf_deinit(&out);
}

static u64 dropped(struct bench *b)
{
	struct ks_queue_state now;

	ks_queue_state(b->queue, &now);
	return now.dropped;
}

static u64 nth(struct bench *b, int n)
{
	u64 number = 0, bytes;

	while (n--)
		assert_true(ks_queue_next(b->queue, number, &number, &bytes));
	return number;
}

/* Whether a file of the directory is there. */
static bool is_there(const struct bench *b, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	return !access(path, F_OK);
}

static void write_file(const struct bench *b, const char *name, const char *text)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* === Tests ================================================================================ */

static void test_order(void **state)
{
	struct bench *b = *state;
	struct ks_strbuf out;
	struct ks_diag diag;
	struct stat st;

	open_queue(b, 1000, false);
	assert_int_equal(stat(b->dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	check(b, "");
	assert_int_equal(put(b, "one"), 0);
	assert_int_equal(put(b, "two"), 0);
	assert_int_equal(put(b, "three"), 0);
	assert_int_equal(put(b, "four"), 0);
	check(b, "one two three four");
	assert_true(is_there(b, "00000000000000000001.msg"));
	assert_int_equal(ks_queue_done(b->queue, 2, &diag), 0);
	check(b, "one three four");
	assert_int_equal(ks_queue_done(b->queue, 2, &diag), 0); /* it has gone: nothing happens */
	assert_int_equal(ks_queue_done(b->queue, 99, &diag), 0);
	check(b, "one three four");
	ks_strbuf_init(&out);
	assert_int_equal(ks_queue_read(b->queue, 2, &out, &diag), -ENOENT);
	ks_strbuf_deinit(&out);
	open_queue(b, 1000, false);
	check(b, "one three four");
	assert_int_equal(ks_queue_done(b->queue, nth(b, 3), &diag), 0);
	assert_int_equal(ks_queue_done(b->queue, nth(b, 1), &diag), 0);
	check(b, "three");
	/* Numbers go on as long as any is there. */
	assert_int_equal(put(b, "five"), 0);
	assert_int_equal(nth(b, 2), 5);
	check(b, "three five");
}

/* Up to the last byte. */
static void test_refusing(void **state)
{
	struct bench *b = *state;
	struct ks_diag diag;

	open_queue(b, 10, false);
	assert_int_equal(put(b, "01234567890"), -EFBIG);
	assert_int_equal(put(b, "0123456789"), 0);
	assert_int_equal(put(b, "x"), -ENOSPC);
	check(b, "0123456789");
	assert_int_equal(ks_queue_done(b->queue, 1, &diag), 0);
	assert_int_equal(put(b, "abcdef"), 0);
	assert_int_equal(put(b, "ghijk"), -ENOSPC);
	assert_int_equal(put(b, "ghij"), 0);
	check(b, "abcdef ghij");
	assert_int_equal(dropped(b), 0);
}

static void test_dropping(void **state)
{
	struct bench *b = *state;

	open_queue(b, 10, true);
	assert_int_equal(put(b, "aaaa"), 0);
	assert_int_equal(put(b, "bbbb"), 0);
	assert_int_equal(put(b, "cc"), 0);
	check(b, "aaaa bbbb cc");
	assert_int_equal(dropped(b), 0);
	assert_int_equal(put(b, "d"), 0);
	check(b, "bbbb cc d");
	assert_int_equal(dropped(b), 1);
	assert_int_equal(put(b, "eeeeeeee"), 0);
	check(b, "d eeeeeeee");
	assert_int_equal(dropped(b), 3);
	assert_false(is_there(b, "00000000000000000003.msg"));
	open_queue(b, 10, true);
	check(b, "d eeeeeeee");
	assert_int_equal(dropped(b), 3);
	assert_int_equal(put(b, "ffffffffff"), 0);
	assert_int_equal(dropped(b), 5);
	check(b, "ffffffffff");
}

/* A process died after it had noted a drop and before it removed the message: it is not counted again. */
static void test_half_dropped(void **state)
{
	struct bench *b = *state;

	open_queue(b, 100, true);
	put(b, "a");
	put(b, "b");
	put(b, "c");
	ks_queue_close(b->queue);
	b->queue = NULL;
	write_file(b, "dropped", "7 2\n");
	write_file(b, "new", "half a mess");
	open_queue(b, 100, true);
	check(b, "c");
	assert_int_equal(dropped(b), 7);
	assert_false(is_there(b, "new"));
	assert_false(is_there(b, "00000000000000000002.msg"));
	/* All of it may have been dropped: numbers are not used again. */
	ks_queue_close(b->queue);
	b->queue = NULL;
	write_file(b, "dropped", "8 3\n");
	open_queue(b, 100, true);
	check(b, "");
	put(b, "d");
	assert_int_equal(nth(b, 1), 4);
	/* What is no number is none. */
	ks_queue_close(b->queue);
	b->queue = NULL;
	write_file(b, "dropped", "9 x\n");
	open_queue(b, 100, true);
	check(b, "d");
	assert_int_equal(dropped(b), 0);
}

static void test_set_aside(void **state)
{
	struct bench *b = *state;
	struct ks_queue_state now;
	struct ks_diag diag;

	open_queue(b, 100, true);
	put(b, "a");
	put(b, "b");
	assert_int_equal(ks_queue_set_aside(b->queue, 2, &diag), 0);
	assert_int_equal(ks_queue_set_aside(b->queue, 3, &diag), 0); /* is not there */
	check(b, "a");
	ks_queue_state(b->queue, &now);
	assert_int_equal(now.set_aside, 1);
	assert_true(is_there(b, "00000000000000000002.refused"));
	/* Its number is not used again, and it is none that waits; nor is what others put there. */
	write_file(b, "notes.msg", "x");
	write_file(b, "5.txt", "x");
	open_queue(b, 100, true);
	check(b, "a");
	put(b, "c");
	assert_int_equal(nth(b, 2), 6);
	check(b, "a c");
}

static void test_lock(void **state)
{
	struct bench *b = *state;
	const struct ks_queue_opts opts = { b->dir, 100, false };
	struct ks_queue *second;
	struct ks_diag diag;

	open_queue(b, 100, false);
	assert_int_equal(ks_queue_open(&opts, &second, &diag), -EBUSY);
	assert_non_null(strstr(diag.text, "another process"));
	assert_int_equal(ks_queue_open(&(struct ks_queue_opts){ "/nonexistent/spool", 100, false },
				       &second, &diag),
			 -ENOENT);
}

/* Larger than what is read at once. */
static void test_large(void **state)
{
	struct bench *b = *state;
	char *text = malloc(50001);

	assert_non_null(text);
	memset(text, 'x', 50000);
	text[16384] = text[49999] = 'y';
	text[50000] = '\0';
	open_queue(b, 100000, false);
	assert_int_equal(put(b, text), 0);
	check(b, text);
	free(text);
}

#define QUEUE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	QUEUE(test_order),     QUEUE(test_refusing), QUEUE(test_dropping), QUEUE(test_half_dropped),
	QUEUE(test_set_aside), QUEUE(test_lock),     QUEUE(test_large),
};

KS_RUN(tests)
