// SPDX-License-Identifier: LGPL-2.1-only
/* How a spool travels. */
#include "net/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/pack.h"

/* === Data ================================================================================= */

#define MAGIC	   0x4e4b534b /* "KSKN" */
#define VERSION	   1
#define WITH_TOKEN 2 /* the version whose greeting goes on with a token */
#define HELLO_SIZE (4 + 2 + 2 + KS_SPOOL_ID_LEN)
#define FRAME_SIZE (8 + 4)
/* In place of a count: another connection has this stream; the token is wrong. */
#define BUSY	    UINT64_MAX
#define REFUSED	    (UINT64_MAX - 1)

#define NO_DEADLINE UINT64_MAX

/* === Internals: bytes ===================================================================== */

static int send_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Waits for bytes. A peer that sends one now and then does not get more time by that. */
static int wait_until(int fd, u64 deadline)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };
	int n;

	if (deadline == NO_DEADLINE)
		return 0;
	do {
		u64 now = ks_clock_ns(CLOCK_MONOTONIC),
		    ms = now < deadline ? (deadline - now) / 1000000 + 1 : 0;

		n = ms ? poll(&wanted, 1, (int)ks_min(ms, (u64)INT32_MAX)) : 0;
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

/* -EPIPE if the peer went away first, -ETIMEDOUT if it was too slow. */
static int receive_until(int fd, void *data, size_t len, u64 deadline)
{
	char *p = data;

	while (len) {
		int err = wait_until(fd, deadline);
		ssize_t n;

		if (err)
			return err;
		n = recv(fd, p, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_count(int fd, u64 count)
{
	u8 bytes[8];
	int i;

	for (i = 0; i < 8; i++)
		bytes[i] = (u8)(count >> 8 * i);
	return send_all(fd, bytes, sizeof(bytes));
}

static int receive_count(int fd, u64 *ret_count)
{
	struct ks_bytes bytes;
	u8 raw[8];
	int err = receive_until(fd, raw, sizeof(raw), NO_DEADLINE);

	if (err)
		return err;
	ks_bytes_init(&bytes, raw, sizeof(raw));
	*ret_count = ks_bytes_u64(&bytes);
	return *ret_count == BUSY ? -EBUSY : *ret_count == REFUSED ? -EACCES : 0;
}

/* A peer that died without a word is noticed within half a minute. */
static void watch_peer(int fd)
{
	int on = 1, idle = 10, interval = 5, count = 4;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int resolve(const char *address, bool passive, struct addrinfo **ret_list,
		   struct ks_diag *diag)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = passive ? AI_PASSIVE : 0 };
	const char *colon = strrchr(address, ':');
	char host[256];
	size_t len = colon ? (size_t)(colon - address) : 0;
	int err;

	if (!len || len >= sizeof(host) || !colon[1])
		return ks_diag_set(diag, -EINVAL, "'%s': give HOST:PORT", address);
	if (address[0] == '[' && address[len - 1] == ']')
		snprintf(host, sizeof(host), "%.*s", (int)len - 2, address + 1);
	else
		snprintf(host, sizeof(host), "%.*s", (int)len, address);
	err = getaddrinfo(host, colon + 1, &hints, ret_list);
	if (err)
		return ks_diag_set(diag, -EHOSTUNREACH, "%s: %s", address, gai_strerror(err));
	return 0;
}

static bool is_loopback(const struct sockaddr_storage *bound)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)bound;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)bound;

	if (bound->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* === Internals: the receiver ============================================================== */

struct stream {
	int fd;
	u64 have; /* bytes on the disk */
};

/* The file's length is the one account of what was received; a lock keeps others away. */
static int open_stream(int dir_fd, const char *id, struct stream *ret_stream, struct ks_diag *diag)
{
	char name[KS_SPOOL_ID_LEN + 8];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s.kmap", id);
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fstat(fd, &st)) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return ks_diag_set(diag, err, "%s: cannot open: %s", name, strerror(-err));
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -EBUSY;
	}
	*ret_stream = (struct stream){ fd, (u64)st.st_size };
	return 0;
}

/* What cannot be written whole is taken back: the file never holds what was not acknowledged. */
static int store(struct stream *stream, const char *data, size_t len, struct ks_diag *diag)
{
	size_t done = 0;
	int err = 0;

	while (done < len && !err) {
		ssize_t n =
			pwrite(stream->fd, data + done, len - done, (off_t)(stream->have + done));

		if (n < 0 && errno != EINTR)
			err = -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	if (!err && fdatasync(stream->fd))
		err = -errno;
	if (!err) {
		stream->have += len;
		return 0;
	}
	if (ftruncate(stream->fd, (off_t)stream->have))
		return ks_diag_set(diag, -errno, "cannot write, nor take back what was written");
	return ks_diag_set(diag, err, "cannot write: %s", strerror(-err));
}

/* Takes the same time wherever they differ. */
static bool same_token(const char *a, const char *b)
{
	unsigned int differ = 0;
	size_t i;

	for (i = 0; i < KS_WIRE_TOKEN_LEN; i++)
		differ |= (unsigned int)(a[i] ^ b[i]);
	return !differ;
}

/* -EACCES if the receiver has a token, and the sender none or another. */
static int receive_token(int fd, u16 version, const char *token, u64 deadline, struct ks_diag *diag)
{
	char theirs[KS_WIRE_TOKEN_LEN] = "";
	int err = 0;

	if (version == WITH_TOKEN)
		err = receive_until(fd, theirs, sizeof(theirs), deadline);
	if (err || !token || same_token(theirs, token))
		return err;
	send_count(fd, REFUSED);
	return ks_diag_set(diag, -EACCES, "a sender with %s token was refused",
			   version == WITH_TOKEN ? "another" : "no");
}

static int receive_hello(int fd, const char *token, u64 deadline, char id[KS_SPOOL_ID_LEN + 1],
			 struct ks_diag *diag)
{
	struct ks_bytes bytes;
	u8 raw[HELLO_SIZE];
	u32 magic;
	u16 version, len;
	int err = receive_until(fd, raw, sizeof(raw), deadline);

	if (err)
		return err;
	ks_bytes_init(&bytes, raw, sizeof(raw));
	magic = ks_bytes_u32(&bytes);
	version = ks_bytes_u16(&bytes);
	len = ks_bytes_u16(&bytes);
	if (magic != MAGIC || version < VERSION || version > WITH_TOKEN || len != KS_SPOOL_ID_LEN)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "a connection that is not of kmemscope kmap stream, or not of "
				   "this version");
	memcpy(id, raw + HELLO_SIZE - KS_SPOOL_ID_LEN, KS_SPOOL_ID_LEN);
	id[KS_SPOOL_ID_LEN] = 0;
	/* It becomes a file's name. */
	if (strspn(id, "0123456789abcdef") != KS_SPOOL_ID_LEN)
		return ks_diag_set(diag, KS_EBADINPUT, "a stream with an impossible name");
	return receive_token(fd, version, token, deadline, diag);
}

/* A live stream may have nothing to send for hours. Once a frame has begun, its rest must come. */
static int receive_frame(int fd, struct stream *stream, char *buf, u64 patience,
			 struct ks_diag *diag)
{
	u8 head[FRAME_SIZE];
	struct ks_bytes bytes;
	u64 offset, deadline;
	u32 len;
	int err = receive_until(fd, head, 1, NO_DEADLINE);

	deadline = ks_clock_ns(CLOCK_MONOTONIC) + patience;
	if (!err)
		err = receive_until(fd, head + 1, sizeof(head) - 1, deadline);
	if (err)
		return err;
	ks_bytes_init(&bytes, head, sizeof(head));
	offset = ks_bytes_u64(&bytes);
	len = ks_bytes_u32(&bytes);
	if (offset != stream->have || !len || len > KS_WIRE_FRAME)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "a frame of %u bytes at %llu, where %llu bytes are there", len,
				   (unsigned long long)offset, (unsigned long long)stream->have);
	err = receive_until(fd, buf, len, deadline);
	if (!err)
		err = store(stream, buf, len, diag);
	return err ? err : send_count(fd, stream->have);
}

/* === Public =============================================================================== */

int ks_wire_connect(const char *address, struct ks_diag *diag)
{
	struct timeval patience = { .tv_sec = 30 };
	struct addrinfo *list, *a;
	int fd = -1, err = resolve(address, false, &list, diag);

	if (err)
		return err;
	for (a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
			err = -errno;
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	if (fd < 0)
		return ks_diag_set(diag, err ? err : -ECONNREFUSED, "%s: cannot connect: %s",
				   address, strerror(err ? -err : ECONNREFUSED));
	watch_peer(fd);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

int ks_wire_listen(const char *address, struct ks_wire_bound *ret_bound, struct ks_diag *diag)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	struct addrinfo *list;
	int fd, on = 1, err = resolve(address, true, &list, diag);

	if (err)
		return err;
	fd = socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) || listen(fd, 64) ||
	    getsockname(fd, (struct sockaddr *)&bound, &size)) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		freeaddrinfo(list);
		return ks_diag_set(diag, err, "%s: cannot listen: %s", address, strerror(-err));
	}
	freeaddrinfo(list);
	ret_bound->loopback = is_loopback(&bound);
	ret_bound->port = ntohs(bound.ss_family == AF_INET6
					? ((struct sockaddr_in6 *)&bound)->sin6_port
					: ((struct sockaddr_in *)&bound)->sin_port);
	return fd;
}

int ks_wire_hello(int fd, const char *id, const char *token, u64 *ret_have)
{
	struct ks_strbuf hello;
	int err;

	ks_strbuf_init(&hello);
	ks_pack_uint(&hello, MAGIC, 4);
	ks_pack_uint(&hello, token ? WITH_TOKEN : VERSION, 2);
	ks_pack_uint(&hello, KS_SPOOL_ID_LEN, 2);
	ks_strbuf_add(&hello, id, KS_SPOOL_ID_LEN);
	if (token)
		ks_strbuf_add(&hello, token, KS_WIRE_TOKEN_LEN);
	err = hello.failed ? -ENOMEM : send_all(fd, hello.s, hello.len);
	ks_strbuf_deinit(&hello);
	return err ? err : receive_count(fd, ret_have);
}

int ks_wire_send(int fd, u64 offset, const void *data, u32 len, u64 *ret_have)
{
	u8 head[FRAME_SIZE];
	u64 have;
	int i, err;

	for (i = 0; i < 8; i++)
		head[i] = (u8)(offset >> 8 * i);
	for (i = 0; i < 4; i++)
		head[8 + i] = (u8)(len >> 8 * i);
	err = send_all(fd, head, sizeof(head));
	if (!err)
		err = send_all(fd, data, len);
	if (!err)
		err = receive_count(fd, &have);
	if (!err && have != offset + len)
		err = -EPROTO;
	if (!err)
		*ret_have = have;
	return err;
}

int ks_wire_serve(int fd, int dir_fd, const char *token, const struct ks_wire_patience *patience,
		  struct ks_diag *diag)
{
	char id[KS_SPOOL_ID_LEN + 1], *buf = malloc(KS_WIRE_FRAME);
	struct timeval to_send = { .tv_sec = 30 };
	struct stream stream = { .fd = -1 };
	int err;

	if (!buf)
		return ks_diag_nomem(diag, "receiving");
	watch_peer(fd);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &to_send, sizeof(to_send));
	err = receive_hello(fd, token, ks_clock_ns(CLOCK_MONOTONIC) + patience->hello_ns, id, diag);
	if (!err) {
		err = open_stream(dir_fd, id, &stream, diag);
		if (err == -EBUSY)
			send_count(fd, BUSY);
	}
	if (!err) {
		err = send_count(fd, stream.have);
		while (!err)
			err = receive_frame(fd, &stream, buf, patience->frame_ns, diag);
		close(stream.fd);
	}
	if (err == -ETIMEDOUT)
		ks_diag_set(diag, err, "a connection that was too slow was dropped");
	free(buf);
	/* Senders come and go; only what the receiver itself failed at is worth a word. */
	return diag->err ? err : 0;
}
