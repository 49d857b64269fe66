// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The form that makedumpfile and QEMU write where they can't go back in the output: a page that begins with
 * "makedumpfile", then pieces. A piece is its offset, its length (both 64 bits, big-endian) and its bytes. The last
 * has the offset and the length -1.
 */
#include "heap/flattened.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

/* === Data ================================================================================= */

enum { HEAD = 4096, CHUNK = 1 << 20 };

#define PLACE_MAX (1ull << 50) /* no dump is larger; a wild offset would make a file that is */

static const char magic[16] = "makedumpfile";

/* === Internals ============================================================================ */

static int bad(const char *path, u64 at, const char *what, struct ks_diag *diag)
{
	return ks_diag_set(diag, KS_EBADINPUT, "%s: flattened dump, at byte %llu: %s", path,
			   (unsigned long long)at, what);
}

static int copy(int from, u64 at, u64 len, int to, u64 place, char *buf)
{
	ssize_t got;
	int err;

	while (len) {
		got = ks_pread_full(from, buf, (size_t)ks_min(len, (u64)CHUNK), at);
		if (got <= 0)
			return got ? (int)got : KS_EBADINPUT;
		err = ks_pwrite_all(to, buf, (size_t)got, place);
		if (err)
			return err;
		at += (u64)got;
		place += (u64)got;
		len -= (u64)got;
	}
	return 0;
}

static int copy_pieces(int from, const char *path, int to, char *buf, struct ks_diag *diag)
{
	u64 head[2], at = HEAD;
	int err;

	for (;;) {
		if (ks_pread_full(from, head, sizeof(head), at) != sizeof(head))
			return bad(path, at, "it ends before its last piece", diag);
		head[0] = be64toh(head[0]);
		head[1] = be64toh(head[1]);
		if (head[0] == UINT64_MAX && head[1] == UINT64_MAX)
			return 0;
		if (head[0] > PLACE_MAX || head[1] > PLACE_MAX)
			return bad(path, at, "a piece of no plausible place", diag);
		at += sizeof(head);
		err = copy(from, at, head[1], to, head[0], buf);
		if (err == KS_EBADINPUT)
			return bad(path, at, "it ends inside of a piece", diag);
		if (err)
			return ks_diag_set(diag, err, "%s: unpacking it into %s: %s", path,
					   getenv("TMPDIR") ?: "/tmp", strerror(-err));
		at += head[1];
	}
}

/* === Public =============================================================================== */

bool ks_is_flattened(int fd)
{
	char head[sizeof(magic)];

	return ks_pread_full(fd, head, sizeof(head), 0) == sizeof(head) &&
	       !memcmp(head, magic, sizeof(head));
}

int ks_unflatten(int fd, const char *path, int *ret_fd, struct ks_diag *diag)
{
	const char *dir = getenv("TMPDIR") ?: "/tmp";
	char *buf = malloc(CHUNK);
	int to, err;

	if (!buf)
		return ks_diag_nomem(diag, "unpacking a dump");
	to = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (to < 0)
		err = ks_diag_set(diag, -errno, "%s: a dump must be unpacked there: %s", dir,
				  strerror(errno));
	else
		err = copy_pieces(fd, path, to, buf, diag);
	free(buf);
	if (err) {
		if (to >= 0)
			close(to);
		return err;
	}
	*ret_fd = to;
	return 0;
}
