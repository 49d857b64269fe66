// SPDX-License-Identifier: GPL-2.0-only
/* The lab's session with guests that misbehave, and its RAM disk as read by cpio. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lab/protocol.h"
#include "lab/ramdisk.h"
#include "lab/session.h"

/* === What a guest says ==================================================================== */

static void say(struct ks_strbuf *words, enum lab_frame_type type, const void *data, size_t len)
{
	struct lab_frame frame = { .type = type, .len = (u32)len };

	ks_strbuf_add(words, &frame, sizeof(frame));
	ks_strbuf_add(words, data, len);
}

static void say_hello(struct ks_strbuf *words)
{
	u32 version = LAB_PROTOCOL;

	say(words, LAB_HELLO, &version, sizeof(version));
}

/* A session with a guest that sends @words and exits. */
static int listen_to(struct ks_strbuf *words, struct ks_lab_session *session, struct ks_diag *diag)
{
	struct ks_lab_guest guest = { .console = -1 };
	int ends[2], err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[1], words->s, words->len), words->len);
	shutdown(ends[1], SHUT_WR);
	guest.channel = ends[0];
	session->guest = &guest;
	session->in = session->out = session->err = session->signals = -1;
	err = ks_lab_session_run(session, diag);
	close(ends[0]);
	close(ends[1]);
	ks_strbuf_deinit(words);
	return err;
}

/* === Tests ================================================================================ */

static void test_good_guest(void **state)
{
	struct ks_lab_session session = { .text = true };
	struct ks_strbuf words = { 0 };
	struct ks_diag diag = { 0 };
	s32 status = 42;

	(void)state;
	say_hello(&words);
	say(&words, LAB_STARTED, NULL, 0);
	say(&words, LAB_KMAP, "one\n a\n b\nt", 11);
	say(&words, LAB_KMAP, "wo\n c\n", 6);
	say(&words, LAB_STATS, "state: ok\n", 10);
	say(&words, LAB_EXIT, &status, sizeof(status));
	assert_int_equal(listen_to(&words, &session, &diag), 0);
	assert_int_equal(session.status, 42);
	assert_int_equal(session.stage, KS_LAB_END);
	assert_int_equal(session.counter.objects, 2);
	assert_int_equal(session.counter.bytes, 17);
	assert_int_equal(session.counter.last_begin, 10); /* where "two" begins */
	assert_string_equal(ks_strbuf_str(&session.stats), "state: ok\n");
	ks_lab_session_deinit(&session);
}

static void expect_failure(struct ks_strbuf *words, int err, const char *text)
{
	struct ks_lab_session session = { .text = true };
	struct ks_diag diag = { 0 };

	assert_int_equal(listen_to(words, &session, &diag), err);
	if (!strstr(diag.text, text))
		fail_msg("'%s' does not say '%s'", diag.text, text);
	ks_lab_session_deinit(&session);
}

static void test_bad_guests(void **state)
{
	struct lab_frame huge = { .type = LAB_STDOUT, .len = LAB_FRAME_MAX + 1 };
	struct ks_strbuf words = { 0 };
	u32 version = LAB_PROTOCOL + 1;

	(void)state;
	expect_failure(&words, -EIO, "stage boot: the guest ended");
	say_hello(&words);
	say(&words, LAB_STARTED, NULL, 0);
	expect_failure(&words, -EIO, "stage command: the guest ended");
	say_hello(&words);
	say(&words, LAB_FAILED, "mount: no such thing", 20);
	expect_failure(&words, -EIO, "stage mount: no such thing");
	say(&words, LAB_HELLO, &version, sizeof(version));
	expect_failure(&words, -EPROTO, "another version");
	say(&words, (enum lab_frame_type)99, NULL, 0);
	expect_failure(&words, -EPROTO, "unknown (99)");
	ks_strbuf_add(&words, &huge, sizeof(huge));
	expect_failure(&words, -EPROTO, "damaged");
	say(&words, LAB_EXIT, "x", 1);
	expect_failure(&words, -EPROTO, "damaged");
}

static void test_silent_guest(void **state)
{
	struct ks_lab_guest guest = { .console = -1 };
	struct ks_lab_session session = { .guest = &guest, .boot_ms = 1, .in = -1, .signals = -1 };
	struct ks_diag diag = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	guest.channel = ends[0];
	assert_int_equal(ks_lab_session_run(&session, &diag), -ETIMEDOUT);
	assert_non_null(strstr(diag.text, "stage boot: the guest did not come up"));
	ks_lab_session_deinit(&session);
	close(ends[0]);
	close(ends[1]);
}

static void test_ramdisk(void **state)
{
	struct ks_strbuf orders = { 0 };
	struct ks_diag diag = { 0 };
	char command[256], listed[256] = "";
	FILE *pipe;
	int fd;

	(void)state;
	ks_strbuf_add(&orders, "one\0two", 8);
	assert_int_equal(ks_lab_ramdisk("/no/such/program", &orders, NULL, &fd, &diag), -ENOENT);
	assert_int_equal(ks_lab_ramdisk("/bin/true", &orders, NULL, &fd, &diag), 0);
	snprintf(command, sizeof(command),
		 "exec </proc/%d/fd/%d; d=$(mktemp -d) && cd $d && cpio -i --quiet && ls && "
		 "cmp init /bin/true && tr '\\0' ' ' <orders; rm -r $d",
		 getpid(), fd);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	listed[fread(listed, 1, sizeof(listed) - 1, pipe)] = '\0';
	assert_int_equal(pclose(pipe), 0);
	assert_string_equal(listed, "init\norders\none two ");
	close(fd);
	ks_strbuf_deinit(&orders);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_guest),
		cmocka_unit_test(test_bad_guests),
		cmocka_unit_test(test_silent_guest),
		cmocka_unit_test(test_ramdisk),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
