// SPDX-License-Identifier: LGPL-2.1-only
/* Reads and writes that go on until all is done. */
#include "base/io.h"

#include <errno.h>
#include <unistd.h>

/* === Public =============================================================================== */

int ks_write_all(int fd, const void *data, size_t len)
{
	const u8 *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int ks_pwrite_all(int fd, const void *data, size_t len, u64 offset)
{
	const u8 *p = data;

	while (len) {
		ssize_t n = pwrite(fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
		offset += (u64)n;
	}
	return 0;
}

ssize_t ks_pread_full(int fd, void *buf, size_t len, u64 offset)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, (u8 *)buf + got, len - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}
