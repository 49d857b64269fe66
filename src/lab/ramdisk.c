// SPDX-License-Identifier: LGPL-2.1-only
/* The RAM disk that a guest starts from: a cpio archive, as the kernel documents the "newc" format. */
#include "lab/ramdisk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/protocol.h"

/* === Internals ============================================================================ */

static void pad(struct ks_strbuf *archive)
{
	ks_strbuf_add(archive, "\0\0\0", -archive->len & 3);
}

static void add_entry(struct ks_strbuf *archive, const char *name, unsigned int mode,
		      const void *data, size_t len)
{
	/* magic, inode, mode, uid, gid, links, time, size, 4 device numbers, length of name, sum */
	ks_strbuf_printf(archive, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", 0u,
			 mode, 0u, 0u, 1u, 0u, (unsigned int)len, 0u, 0u, 0u, 0u,
			 (unsigned int)strlen(name) + 1, 0u);
	ks_strbuf_add(archive, name, strlen(name) + 1);
	pad(archive);
	ks_strbuf_add(archive, data, len);
	pad(archive);
}

static int read_whole(const char *path, struct ks_strbuf *ret_data, struct ks_diag *diag)
{
	char buf[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		ks_strbuf_add(ret_data, buf, (size_t)n);
	if (n < 0)
		err = ks_diag_set(diag, -errno, "%s: cannot read: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

static int into_memory(const struct ks_strbuf *archive, int *ret_fd, struct ks_diag *diag)
{
	int fd = memfd_create("ramdisk", 0);
	size_t done = 0;
	ssize_t n = 0;

	while (fd >= 0 && n >= 0 && done < archive->len) {
		n = write(fd, archive->s + done, archive->len - done);
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0 && n >= 0) {
		*ret_fd = fd;
		return 0;
	}
	n = -errno;
	if (fd >= 0)
		close(fd);
	return ks_diag_set(diag, (int)n, "cannot make a RAM disk: %s", strerror((int)-n));
}

/* === Public =============================================================================== */

int ks_lab_ramdisk(const char *init, const struct ks_strbuf *orders, const char *root, int *ret_fd,
		   struct ks_diag *diag)
{
	struct ks_strbuf archive, program;
	int err;

	ks_strbuf_init(&archive);
	ks_strbuf_init(&program);
	err = read_whole(init, &program, diag);
	/* An archive may stand behind another. */
	if (!err && root)
		err = read_whole(root, &archive, diag);
	if (!err) {
		pad(&archive);
		add_entry(&archive, "init", S_IFREG | 0755, program.s, program.len);
		add_entry(&archive, &LAB_ORDERS[1], S_IFREG | 0600, orders->s, orders->len);
		add_entry(&archive, "TRAILER!!!", 0, NULL, 0);
		if (program.failed || orders->failed || archive.failed)
			err = ks_diag_nomem(diag, "making a RAM disk");
	}
	if (!err)
		err = into_memory(&archive, ret_fd, diag);
	ks_strbuf_deinit(&program);
	ks_strbuf_deinit(&archive);
	return err;
}
