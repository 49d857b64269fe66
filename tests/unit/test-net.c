// SPDX-License-Identifier: GPL-2.0-only
/* Spool and wire without a network: both sides of a connection in one process, and peers that do wrong. */
#include "ks-test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "net/spool.h"
#include "net/wire.h"

static const char id[] = "0123456789abcdef0123456789abcdef";

/* === A receiver in a thread =============================================================== */

struct receiver {
	char dir[64];
	int dir_fd, fd;
	const char *token; /* that senders need */
	struct ks_wire_patience patience;
	pthread_t thread;
	struct ks_diag diag;
	int err;
};

static void *receive(void *arg)
{
	struct receiver *r = arg;

	r->err = ks_wire_serve(r->fd, r->dir_fd, r->token, &r->patience, &r->diag);
	close(r->fd);
	return NULL;
}

/* Returns the sender's end. */
static int start(struct receiver *r)
{
	int fds[2];

	r->diag = (struct ks_diag){ 0 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	r->fd = fds[1];
	assert_int_equal(pthread_create(&r->thread, NULL, receive, r), 0);
	return fds[0];
}

static void stop(struct receiver *r, int fd)
{
	close(fd);
	assert_int_equal(pthread_join(r->thread, NULL), 0);
}

static int setup(void **state)
{
	struct receiver *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	strcpy(r->dir, "/tmp/kmemscope-net-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->dir_fd = open(r->dir, O_RDONLY | O_DIRECTORY);
	assert_true(r->dir_fd >= 0);
	r->patience = (struct ks_wire_patience){ 60000000000, 60000000000 };
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "0123456789abcdef0123456789abcdef.kmap", "spool",
					     "spool.state" };
	struct receiver *r = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(r->dir_fd, names[i], 0);
	close(r->dir_fd);
	assert_int_equal(rmdir(r->dir), 0);
	free(r);
	return 0;
}

static void assert_received(const struct receiver *r, const char *want)
{
	char name[64], got[64] = "";
	int fd;

	snprintf(name, sizeof(name), "%s.kmap", id);
	fd = openat(r->dir_fd, name, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, want);
}

/* === The wire ============================================================================= */

static void test_delivery(void **state)
{
	struct receiver *r = *state;
	u64 have = 99;
	int fd = start(r);

	assert_int_equal(ks_wire_hello(fd, id, NULL, &have), 0);
	assert_int_equal(have, 0);
	assert_int_equal(ks_wire_send(fd, 0, "first ", 6, &have), 0);
	assert_int_equal(have, 6);
	assert_int_equal(ks_wire_send(fd, 6, "second", 6, &have), 0);
	assert_int_equal(have, 12);
	stop(r, fd);
	assert_int_equal(r->err, 0);
	assert_received(r, "first second");

	/* The next connection goes on where this one ended. */
	fd = start(r);
	assert_int_equal(ks_wire_hello(fd, id, NULL, &have), 0);
	assert_int_equal(have, 12);
	stop(r, fd);
	assert_int_equal(r->err, 0);
}

static void test_wrong_offset(void **state)
{
	static const u64 offsets[] = { 1, 7, UINT64_MAX - 5 };
	struct receiver *r = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		int fd = start(r);
		u64 have = 99;

		assert_int_equal(ks_wire_hello(fd, id, NULL, &have), 0);
		assert_int_not_equal(ks_wire_send(fd, offsets[i], "lost", 4, &have), 0);
		assert_int_equal(have, 0); /* as it was */
		stop(r, fd);
		assert_int_equal(r->err, KS_EBADINPUT);
		assert_received(r, "");
	}
}

static void test_frame_sizes(void **state)
{
	struct receiver *r = *state;
	char *data = calloc(1, KS_WIRE_FRAME + 1);
	u64 have;
	int fd = start(r);

	assert_non_null(data);
	assert_int_equal(ks_wire_hello(fd, id, NULL, &have), 0);
	assert_int_equal(ks_wire_send(fd, 0, data, KS_WIRE_FRAME, &have), 0);
	assert_int_equal(have, KS_WIRE_FRAME);
	assert_int_not_equal(ks_wire_send(fd, have, data, KS_WIRE_FRAME + 1, &have), 0);
	stop(r, fd);
	assert_int_equal(r->err, KS_EBADINPUT);
	fd = start(r);
	assert_int_equal(ks_wire_hello(fd, id, NULL, &have), 0);
	assert_int_equal(have, KS_WIRE_FRAME);
	assert_int_not_equal(ks_wire_send(fd, have, data, 0, &have), 0);
	stop(r, fd);
	assert_int_equal(r->err, KS_EBADINPUT);
	free(data);
}

static void test_busy(void **state)
{
	struct receiver *r = *state, other = *r;
	int fd = start(r), second;
	u64 have;

	assert_int_equal(ks_wire_hello(fd, id, NULL, &have), 0);
	second = start(&other);
	assert_int_equal(ks_wire_hello(second, id, NULL, &have), -EBUSY);
	stop(&other, second);
	assert_int_equal(other.err, 0);
	assert_int_equal(ks_wire_send(fd, 0, "x", 1, &have), 0);
	stop(r, fd);
}

/* Who has no token, or another, is turned away for good, and leaves no file. */
static void test_token(void **state)
{
	static const char token[] = "00112233445566778899aabbccddeeff";
	static const char *const wrong[] = { NULL, "00112233445566778899aabbccddeef0",
					     "10112233445566778899aabbccddeeff" };
	struct receiver *r = *state;
	u64 have = 99;
	size_t i;
	int fd;

	r->token = token;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		fd = start(r);
		assert_int_equal(ks_wire_hello(fd, id, wrong[i], &have), -EACCES);
		stop(r, fd);
		assert_int_equal(r->err, -EACCES);
		assert_int_equal(
			faccessat(r->dir_fd, "0123456789abcdef0123456789abcdef.kmap", F_OK, 0), -1);
	}
	fd = start(r);
	assert_int_equal(ks_wire_hello(fd, id, token, &have), 0);
	assert_int_equal(ks_wire_send(fd, 0, "mine", 4, &have), 0);
	stop(r, fd);
	assert_received(r, "mine");
	/* A receiver that wants none takes one. */
	r->token = NULL;
	fd = start(r);
	assert_int_equal(ks_wire_hello(fd, id, token, &have), 0);
	assert_int_equal(have, 4);
	stop(r, fd);
}

/* Neither silence nor drops of bytes keep a connection open; an idle one that has greeted is kept. */
static void test_slow(void **state)
{
	static const char head[12] = "\0\0\0\0\0\0\0\0\4\0\0\0";
	struct receiver *r = *state;
	u64 have;
	int fd;

	r->patience.hello_ns = 50000000;
	fd = start(r);
	assert_int_equal(pthread_join(r->thread, NULL), 0);
	assert_int_equal(r->err, -ETIMEDOUT);
	close(fd);
	fd = start(r);
	assert_int_equal(send(fd, "KSKN", 4, 0), 4);
	assert_int_equal(pthread_join(r->thread, NULL), 0);
	assert_int_equal(r->err, -ETIMEDOUT);
	close(fd);
	r->patience = (struct ks_wire_patience){ 60000000000, 50000000 };
	fd = start(r);
	assert_int_equal(ks_wire_hello(fd, id, NULL, &have), 0);
	assert_int_equal(send(fd, head, sizeof(head), 0), (int)sizeof(head));
	assert_int_equal(send(fd, "ab", 2, 0), 2); /* of 4 */
	assert_int_equal(pthread_join(r->thread, NULL), 0);
	assert_int_equal(r->err, -ETIMEDOUT);
	close(fd);
	assert_received(r, "");
	fd = start(r);
	assert_int_equal(ks_wire_hello(fd, id, NULL, &have), 0);
	usleep(120000); /* longer than a frame may take: none has begun */
	assert_int_equal(ks_wire_send(fd, 0, "late", 4, &have), 0);
	stop(r, fd);
	assert_received(r, "late");
}

/* Of magic, version, length and name, each is wrong once. */
static void test_hello(void **state)
{
	static const char *const bad[] = {
		"XSKN\1\0\40\0"
		"0123456789abcdef0123456789abcdef",
		"KSKN\3\0\40\0"
		"0123456789abcdef0123456789abcdef",
		"KSKN\1\0\37\0"
		"0123456789abcdef0123456789abcdef",
		"KSKN\1\0\40\0"
		"../..//../etc/0123456789abcdef01",
		"KSKN\1\0\40\0"
		"0123456789abcdef0123456789abcdeF",
	};
	struct receiver *r = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int fd = start(r);
		char byte;

		assert_int_equal(send(fd, bad[i], 40, 0), 40);
		assert_int_equal(recv(fd, &byte, 1, 0), 0);
		stop(r, fd);
		assert_int_equal(r->err, KS_EBADINPUT);
		assert_int_equal(
			faccessat(r->dir_fd, "0123456789abcdef0123456789abcdef.kmap", F_OK, 0), -1);
	}
}

/* A receiver that acknowledges another number than was sent. */
static void *wrong_count(void *arg)
{
	u8 buf[64], count[8] = { 3 };
	int fd = *(int *)arg;

	assert_int_equal(recv(fd, buf, 16, MSG_WAITALL), 16); /* a frame of 4 bytes */
	assert_int_equal(send(fd, count, sizeof(count), 0), 8);
	return NULL;
}

static void test_wrong_count(void **state)
{
	pthread_t thread;
	u64 have = 99;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(pthread_create(&thread, NULL, wrong_count, &fds[1]), 0);
	assert_int_equal(ks_wire_send(fds[0], 0, "four", 4, &have), -EPROTO);
	assert_int_equal(have, 99);
	pthread_join(thread, NULL);
	close(fds[1]);
	assert_int_equal(ks_wire_send(fds[0], 0, "four", 4, &have), -EPIPE);
	close(fds[0]);
}

/* "HOST:PORT" in all its forms; nothing is connected to. */
static void test_addresses(void **state)
{
	static const char *const bad[] = { "", "host", ":1", "host:", "127.0.0.1" };
	struct ks_wire_bound bound;
	char address[64];
	size_t i;
	int listener, fd;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ks_diag diag = { 0 };

		assert_int_equal(ks_wire_connect(bad[i], &diag), -EINVAL);
		assert_non_null(strstr(diag.text, "HOST:PORT"));
	}
	listener = ks_wire_listen("127.0.0.1:0", &bound, NULL);
	assert_true(listener >= 0);
	assert_in_range(bound.port, 1, 65535);
	assert_true(bound.loopback);
	snprintf(address, sizeof(address), "127.0.0.1:%u", bound.port);
	fd = ks_wire_connect(address, NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(ks_wire_listen(address, &bound, NULL), -EADDRINUSE);
	close(listener);
	assert_int_equal(ks_wire_connect(address, NULL), -ECONNREFUSED);
	listener = ks_wire_listen("0.0.0.0:0", &bound, NULL);
	assert_true(listener >= 0);
	assert_false(bound.loopback);
	close(listener);
	listener = ks_wire_listen("[::1]:0", &bound, NULL);
	if (listener < 0) /* no IPv6 here */
		return;
	assert_true(bound.loopback);
	snprintf(address, sizeof(address), "[::1]:%u", bound.port);
	fd = ks_wire_connect(address, NULL);
	assert_true(fd >= 0);
	close(fd);
	close(listener);
}

/* === The spool ============================================================================ */

static struct ks_spool spool;

static int open_spool(const struct receiver *r, struct ks_spool *ret_spool)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/spool", r->dir);
	return ks_spool_open(ret_spool, path, NULL);
}

static void test_spool(void **state)
{
	struct receiver *r = *state;
	struct ks_spool second;
	char name[KS_SPOOL_ID_LEN + 1];
	bool ended = true;

	assert_int_equal(open_spool(r, &spool), 0);
	assert_int_equal(strspn(spool.id, "0123456789abcdef"), KS_SPOOL_ID_LEN);
	strcpy(name, spool.id);
	assert_int_equal(open_spool(r, &second), -EBUSY);
	assert_int_equal(ks_spool_append(&spool, "one\n", 4, NULL), 0);
	assert_int_equal(ks_spool_append(&spool, "three\n", 6, NULL), 0);
	assert_int_equal(ks_spool_wait(&spool, 0, &ended), 10);
	assert_false(ended);
	assert_int_equal(ks_spool_wait(&spool, 4, &ended), 6);
	assert_int_equal(ks_spool_ack(&spool, 4, NULL), 0);
	/* What is behind the mark was never whole. */
	assert_int_equal(pwrite(spool.fd, "torn", 4, 10), 4);
	ks_spool_close(&spool, false);

	assert_int_equal(open_spool(r, &spool), 0);
	assert_string_equal(spool.id, name);
	assert_int_equal(spool.len, 10);
	assert_int_equal(spool.acked, 4);
	assert_int_equal(lseek(spool.fd, 0, SEEK_END), 10);
	ks_spool_close(&spool, true);
	assert_int_equal(faccessat(r->dir_fd, "spool", F_OK, 0), -1);
	assert_int_equal(faccessat(r->dir_fd, "spool.state", F_OK, 0), -1);
}

/* A state file of something else: more bytes than are there, more acknowledged than counted, no name. */
static void test_spool_refuses(void **state)
{
	struct receiver *r = *state;
	struct {
		char id[KS_SPOOL_ID_LEN];
		u64 len, acked;
	} of_state;
	int i;

	for (i = 0; i < 4; i++) {
		int want = i < 3 ? KS_EBADINPUT : 0, fd;

		assert_int_equal(open_spool(r, &spool), 0);
		assert_int_equal(ks_spool_append(&spool, "0123456789", 10, NULL), 0);
		fd = dup(spool.state_fd);
		ks_spool_close(&spool, false);
		assert_int_equal(pread(fd, &of_state, sizeof(of_state), 0), sizeof(of_state));
		assert_int_equal(of_state.len, 10);
		of_state.len += i == 0;
		of_state.acked = i == 1 ? 11 : i == 3 ? 10 : 0;
		of_state.id[31] = i == 2 ? '/' : of_state.id[31];
		assert_int_equal(pwrite(fd, &of_state, sizeof(of_state), 0), sizeof(of_state));
		close(fd);
		assert_int_equal(open_spool(r, &spool), want);
		if (!want)
			ks_spool_close(&spool, false);
		unlinkat(r->dir_fd, "spool", 0);
		unlinkat(r->dir_fd, "spool.state", 0);
	}
}

/* Space is given back in pieces of 4 MiB, up to what was acknowledged and no further. */
static void test_spool_gives_back(void **state)
{
	enum { PIECE = 4 << 20 };
	struct receiver *r = *state;
	char *data = malloc(PIECE), byte;
	struct stat st;

	assert_non_null(data);
	memset(data, 'x', PIECE);
	assert_int_equal(open_spool(r, &spool), 0);
	assert_int_equal(ks_spool_append(&spool, data, PIECE, NULL), 0);
	assert_int_equal(ks_spool_append(&spool, data, PIECE, NULL), 0);
	assert_int_equal(ks_spool_ack(&spool, PIECE - 1, NULL), 0);
	assert_int_equal(pread(spool.fd, &byte, 1, 0), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(ks_spool_ack(&spool, PIECE + 1, NULL), 0);
	assert_int_equal(pread(spool.fd, &byte, 1, PIECE), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(fstat(spool.fd, &st), 0);
	assert_int_equal(st.st_size, 2 * PIECE);
	/* Where the file system can't, it all stays: tmpfs, ext4, xfs and btrfs can. */
	assert_int_equal(pread(spool.fd, &byte, 1, PIECE - 1), 1);
	assert_true(byte == 0 || st.st_blocks * 512 >= 2 * PIECE);
	ks_spool_close(&spool, true);
	free(data);
}

/* Lines are records; one that is longer than the buffer of 1 MiB goes on in pieces. */
static size_t whole_lines(void *ctx, const void *data, size_t len, bool more)
{
	const char *last = memrchr(data, '\n', len);

	return last ? (size_t)(last - (const char *)data) + 1 : 0;
}

static void pass_lines(void *ctx, const void *data, size_t len)
{
	++*(int *)ctx;
}

static void test_pump(void **state)
{
	enum { LONG = (1 << 20) + 5 };
	struct receiver *r = *state;
	int passed = 0, source;
	struct ks_framing framing = { .whole = whole_lines, .pass = pass_lines, .ctx = &passed };
	char *data = malloc(LONG), *got = malloc(LONG);
	bool ended = false;

	assert_true(data && got);
	memset(data, 'y', LONG);
	memcpy(data, "first\n", 6);
	source = memfd_create("source", 0);
	assert_true(source >= 0);
	assert_int_equal(pwrite(source, data, LONG, 0), LONG);
	assert_int_equal(open_spool(r, &spool), 0);
	assert_int_equal(ks_spool_append(&spool, "first\n", 6, NULL), 0);
	ks_spool_pump(&spool, source, &framing); /* goes on behind the first line */
	assert_int_equal(spool.err, 0);
	assert_int_equal(ks_spool_wait(&spool, 0, &ended), LONG);
	assert_true(ended);
	assert_int_equal(pread(spool.fd, got, LONG, 0), LONG);
	assert_memory_equal(got, data, LONG);
	assert_int_equal(passed, 0); /* 1 MiB - 1 byte: the end of the source makes it whole */
	ks_spool_close(&spool, false);

	/* A source that is shorter than what was read of it is another one. */
	assert_int_equal(open_spool(r, &spool), 0);
	assert_int_equal(ftruncate(source, 100), 0);
	ks_spool_pump(&spool, source, &framing);
	assert_int_equal(spool.err, -EINVAL);
	assert_non_null(strstr(spool.diag.text, "--spool"));
	ks_spool_close(&spool, true);

	/* A record of more than the buffer. */
	assert_int_equal(ftruncate(source, 0), 0);
	memset(data, 'z', LONG);
	assert_int_equal(pwrite(source, data, LONG, 0), LONG);
	assert_int_equal(lseek(source, 0, SEEK_SET), 0);
	assert_int_equal(open_spool(r, &spool), 0);
	ks_spool_pump(&spool, source, &framing);
	assert_int_equal(spool.len, LONG);
	assert_int_equal(passed, 1);
	ks_spool_close(&spool, true);

	/* One that is stopped drops nothing that is whole, and keeps nothing that is not. */
	assert_int_equal(open_spool(r, &spool), 0);
	__atomic_store_n(&spool.stop, true, __ATOMIC_RELAXED);
	ks_spool_pump(&spool, source, &framing);
	assert_int_equal(spool.len, 0);
	assert_true(spool.ended);
	ks_spool_close(&spool, true);
	close(source);
	free(data);
	free(got);
}

#define NET(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	NET(test_delivery), NET(test_wrong_offset),  NET(test_frame_sizes),
	NET(test_busy),	    NET(test_token),	     NET(test_slow),
	NET(test_hello),    NET(test_wrong_count),   NET(test_addresses),
	NET(test_spool),    NET(test_spool_refuses), NET(test_spool_gives_back),
	NET(test_pump),
};

KS_RUN(tests)
