// SPDX-License-Identifier: LGPL-2.1-only
/* The files of the kernel module memorizer. */
#include "capture/memorizer.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/num.h"
#include "base/strbuf.h"

/* === Data ================================================================================= */

enum {
	COPY_SIZE = 256 * 1024,
	COPY_ROUNDS = 64, /* at most, before the caller may look around */
};

/* === Internals: files ===================================================================== */

static int open_file(const struct ks_memorizer *memorizer, const char *name, int flags,
		     struct ks_diag *diag)
{
	int fd = openat(memorizer->dir_fd, name, flags | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return ks_diag_set(diag, -errno, "%s/%s: cannot open: %s", memorizer->dir, name,
			   strerror(errno));
}

static int read_file(const struct ks_memorizer *memorizer, const char *name,
		     struct ks_strbuf *ret_text, struct ks_diag *diag)
{
	int fd = open_file(memorizer, name, O_RDONLY, diag), err = 0;
	char buf[4096];
	ssize_t n;

	if (fd < 0)
		return fd;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		ks_strbuf_add(ret_text, buf, (size_t)n);
	if (n < 0)
		err = ks_diag_set(diag, -errno, "%s/%s: cannot read: %s", memorizer->dir, name,
				  strerror(errno));
	else if (ret_text->failed)
		err = ks_diag_nomem(diag, "reading the memorizer's files");
	close(fd);
	return err;
}

static int write_file(const struct ks_memorizer *memorizer, const char *name, const char *text,
		      struct ks_diag *diag)
{
	int fd = open_file(memorizer, name, O_WRONLY, diag), err = 0;

	if (fd < 0)
		return fd;
	if (write(fd, text, strlen(text)) < 0)
		err = ks_diag_set(diag, -errno, "%s/%s: does not take '%s': %s", memorizer->dir,
				  name, text, strerror(errno));
	close(fd);
	return err;
}

/* === Internals: what is missing =========================================================== */

static bool is_in_debugfs(const char *dir)
{
	char *copy = strdup(dir);
	struct statfs fs;
	bool is = copy && !statfs(dirname(copy), &fs) && fs.f_type == DEBUGFS_MAGIC;

	free(copy);
	return is;
}

static int explain(const char *dir, int err, struct ks_diag *diag)
{
	if (err == -EACCES || err == -EPERM)
		return ks_diag_set(
			diag, err,
			"%s: %s: the memorizer is for root only; if you are root, the kernel "
			"may be locked down",
			dir, strerror(-err));
	if (err != -ENOENT)
		return ks_diag_set(diag, err, "%s: cannot open: %s", dir, strerror(-err));
	if (!is_in_debugfs(dir))
		return ks_diag_set(diag, -ENODEV,
				   "%s is not there: mount debugfs (mount -t debugfs nodev "
				   "/sys/kernel/debug) and load the module memorizer",
				   dir);
	return ks_diag_set(diag, -ENODEV,
			   "%s is not there: load the module (modprobe memorizer, or insmod "
			   "memorizer.ko)",
			   dir);
}

/* === Internals: copying =================================================================== */

static int take(struct ks_memorizer_copy *copy, size_t len, struct ks_diag *diag)
{
	int err = ks_outfile_write(&copy->out, copy->buf, len, diag);

	if (!err)
		ks_kmap_counter_add(&copy->counter, copy->buf, len);
	return err;
}

/* The header of a binary stream comes first and by itself: a version that is not known is refused here. */
static int take_header(struct ks_memorizer_copy *copy, int fd, const char *name,
		       struct ks_diag *diag)
{
	struct ks_kmap_header header;
	ssize_t n = read(fd, copy->buf, sizeof(struct memorizer_header));

	if (n < 0 || !ks_kmap_is_header(copy->buf, (size_t)n) ||
	    !ks_kmap_header_parse(copy->buf, (size_t)n, &header) ||
	    !ks_kmap_header_is_known(&header) || !ks_kmap_header_is_sane(&header))
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s/%s: has a header of another version; try text (--text)",
				   copy->memorizer->dir, name);
	return take(copy, (size_t)n, diag);
}

/* === Public =============================================================================== */

int ks_memorizer_open(struct ks_memorizer *memorizer, const char *dir, struct ks_diag *diag)
{
	int err = 0;

	*memorizer = (struct ks_memorizer){ .dir = dir };
	memorizer->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (memorizer->dir_fd < 0)
		return explain(dir, -errno, diag);
	if (faccessat(memorizer->dir_fd, "memorizer_enabled", R_OK | W_OK, 0))
		err = explain(dir, -errno, diag);
	if (err)
		ks_memorizer_close(memorizer);
	return err;
}

void ks_memorizer_close(struct ks_memorizer *memorizer)
{
	if (memorizer->dir_fd >= 0)
		close(memorizer->dir_fd);
	memorizer->dir_fd = -1;
}

int ks_memorizer_mode(const struct ks_memorizer *memorizer, u64 *ret_mode, struct ks_diag *diag)
{
	struct ks_strbuf text;
	int err;

	ks_strbuf_init(&text);
	err = read_file(memorizer, "memorizer_enabled", &text, diag);
	if (!err) {
		/* The number, then what it means in words. */
		if (text.len)
			text.s[strcspn(text.s, " \n")] = '\0';
		if (ks_parse_u64(ks_strbuf_str(&text), ret_mode))
			err = ks_diag_set(diag, KS_EBADINPUT, "%s/memorizer_enabled: says no mode",
					  memorizer->dir);
	}
	ks_strbuf_deinit(&text);
	return err;
}

int ks_memorizer_set_mode(const struct ks_memorizer *memorizer, u64 mode, struct ks_diag *diag)
{
	char text[24];
	int err;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)mode);
	err = write_file(memorizer, "memorizer_enabled", text, diag);
	if (err == -EINVAL && mode > KS_MEMORIZER_TASKS)
		ks_diag_set(diag, err, "there is no process %s", text);
	else if (err == -EIO)
		ks_diag_set(
			diag, err,
			"the memorizer has switched itself off; the kernel log and %s/show_stats "
			"say why",
			memorizer->dir);
	return err;
}

int ks_memorizer_restore_mode(const struct ks_memorizer *memorizer, u64 mode, struct ks_diag *diag)
{
	int err = ks_memorizer_set_mode(memorizer, mode, diag);

	/* Its process has ended meanwhile; children of it may bear marks, and mode 3 heeds them. */
	if (err == -EINVAL && mode > KS_MEMORIZER_TASKS)
		err = ks_memorizer_set_mode(memorizer, KS_MEMORIZER_TASKS, diag);
	return err;
}

int ks_memorizer_clear(const struct ks_memorizer *memorizer, struct ks_diag *diag)
{
	return write_file(memorizer, "clear_dead_objects", "1", diag);
}

int ks_memorizer_stats(const struct ks_memorizer *memorizer, struct ks_kmap_kernel_stats *ret_stats,
		       struct ks_diag *diag)
{
	struct ks_strbuf text, name;
	int err;

	ks_strbuf_init(&text);
	ks_strbuf_init(&name);
	ks_strbuf_printf(&name, "%s/show_stats", memorizer->dir);
	err = read_file(memorizer, "show_stats", &text, diag);
	if (!err)
		err = ks_kmap_kernel_stats_parse(ks_strbuf_str(&text), ks_strbuf_str(&name),
						 ret_stats, diag);
	ks_strbuf_deinit(&name);
	ks_strbuf_deinit(&text);
	return err;
}

int ks_memorizer_copy_start(struct ks_memorizer_copy *copy, const struct ks_memorizer *memorizer,
			    const char *path, bool text, struct ks_diag *diag)
{
	const char *name;
	int err = 0;

	*copy = (struct ks_memorizer_copy){
		.memorizer = memorizer, .text = text, .fd = -1, .counter = { .text = text }
	};
	copy->buf = malloc(COPY_SIZE);
	if (!copy->buf)
		return ks_diag_nomem(diag, "recording");
	/* The file first: what is read from the stream is gone from the kernel. */
	err = ks_outfile_open(&copy->out, path, diag);
	if (err) {
		free(copy->buf);
		return err;
	}
	name = text ? "kmap_stream" : "kmap_stream_bin";
	copy->fd = open_file(memorizer, name, O_RDONLY | O_NONBLOCK, diag);
	if (copy->fd < 0)
		err = copy->fd;
	else if (!text)
		err = take_header(copy, copy->fd, name, diag);
	if (err)
		ks_memorizer_copy_end(copy, false, NULL);
	return err;
}

int ks_memorizer_copy_some(struct ks_memorizer_copy *copy, bool *ret_more, struct ks_diag *diag)
{
	unsigned int round;

	*ret_more = false;
	for (round = 0; round < COPY_ROUNDS; round++) {
		ssize_t n = read(copy->fd, copy->buf, COPY_SIZE);
		int err;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return ks_diag_set(diag, n ? -errno : -EIO, "%s: the stream broke off: %s",
					   copy->memorizer->dir,
					   n ? strerror(errno) : "it came to an end");
		err = take(copy, (size_t)n, diag);
		if (err)
			return err;
	}
	*ret_more = true;
	return 0;
}

int ks_memorizer_copy_live(struct ks_memorizer_copy *copy, struct ks_diag *diag)
{
	const struct ks_memorizer *memorizer = copy->memorizer;
	const char *name = copy->text ? "kmap" : "kmap_bin";
	struct ks_strbuf shown;
	int fd = -1, err, restored;
	ssize_t n = 0;

	ks_strbuf_init(&shown);
	err = read_file(memorizer, "print_live_obj", &shown, diag);
	if (!err)
		err = write_file(memorizer, "print_live_obj", "Y", diag);
	if (!err) {
		/* The contents are those of the moment of opening. */
		fd = open_file(memorizer, name, O_RDONLY, diag);
		err = fd < 0 ? fd : 0;
		restored = write_file(memorizer, "print_live_obj", ks_strbuf_str(&shown),
				      err ? NULL : diag);
		err = err ? err : restored;
	}
	ks_strbuf_deinit(&shown);
	if (!err && !copy->text)
		err = take_header(copy, fd, name, diag);
	while (!err && (n = read(fd, copy->buf, COPY_SIZE)) > 0)
		err = take(copy, (size_t)n, diag);
	if (!err && n < 0)
		err = ks_diag_set(diag, -errno, "%s/%s: cannot read: %s", memorizer->dir, name,
				  strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

int ks_memorizer_copy_end(struct ks_memorizer_copy *copy, bool keep, struct ks_diag *diag)
{
	int err = 0;

	if (copy->fd >= 0)
		close(copy->fd);
	if (keep)
		err = ks_outfile_commit(&copy->out, diag);
	else
		ks_outfile_abort(&copy->out);
	free(copy->buf);
	copy->buf = NULL;
	copy->fd = -1;
	return err;
}
