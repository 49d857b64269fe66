// SPDX-License-Identifier: LGPL-2.1-only
/* Byte streams: plain, gzip, zstd, xz. */
#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/io.h"

/* === Data ================================================================================= */

enum { RAW_SIZE = 256 * 1024, PEEK_SIZE = 4096 };

enum codec { CODEC_PLAIN, CODEC_GZIP, CODEC_ZSTD, CODEC_XZ };

struct ks_input {
	char *name;
	int fd;
	bool eof;	 /* the file itself is at its end */
	bool frame_open; /* in the middle of a compressed stream */
	enum codec codec;
	u64 total;
	_Atomic u64 done;

	u8 *raw; /* bytes of the file that were read and not yet used */
	size_t raw_pos, raw_len;

	u8 peek[PEEK_SIZE]; /* content that was looked at and not yet read */
	size_t peek_pos, peek_len;

	z_stream gz;
	ZSTD_DStream *zstd;
	lzma_stream xz;
};

/* === Internals ============================================================================ */

static int read_fd(struct ks_input *in, void *buf, size_t len, size_t *ret_got,
		   struct ks_diag *diag)
{
	ssize_t n;

	do
		n = read(in->fd, buf, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return ks_diag_set(diag, -errno, "%s: cannot read at byte %llu: %s", in->name,
				   (unsigned long long)in->done, strerror(errno));
	in->eof = !n;
	atomic_fetch_add_explicit(&in->done, (u64)n, memory_order_relaxed);
	*ret_got = (size_t)n;
	return 0;
}

static int fill_raw(struct ks_input *in, struct ks_diag *diag)
{
	if (in->raw_pos < in->raw_len || in->eof)
		return 0;
	in->raw_pos = 0;
	in->raw_len = 0;
	return read_fd(in, in->raw, RAW_SIZE, &in->raw_len, diag);
}

static int corrupt(struct ks_input *in, const char *what, struct ks_diag *diag)
{
	u64 at = in->done - (in->raw_len - in->raw_pos);

	return ks_diag_set(diag, KS_EBADINPUT, "%s: damaged %s data near byte %llu of the file",
			   in->name, what, (unsigned long long)at);
}

static int truncated(struct ks_input *in, const char *what, struct ks_diag *diag)
{
	return ks_diag_set(
		diag, KS_EBADINPUT,
		"%s: the %s data ends in the middle, after %llu bytes; copy the file again",
		in->name, what, (unsigned long long)in->done);
}

/* Each decoder makes at least one step from the raw bytes into @out and says how much it wrote. */

static int decode_plain(struct ks_input *in, u8 *out, size_t len, size_t *ret_got,
			struct ks_diag *diag)
{
	size_t n = in->raw_len - in->raw_pos;

	if (!n) /* straight into the caller's buffer: no second copy */
		return read_fd(in, out, len, ret_got, diag);
	n = ks_min(n, len);
	memcpy(out, in->raw + in->raw_pos, n);
	in->raw_pos += n;
	*ret_got = n;
	return 0;
}

static int decode_gzip(struct ks_input *in, u8 *out, size_t len, size_t *ret_got,
		       struct ks_diag *diag)
{
	int status;

	in->gz.next_in = in->raw + in->raw_pos;
	in->gz.avail_in = (uInt)(in->raw_len - in->raw_pos);
	in->gz.next_out = out;
	in->gz.avail_out = (uInt)ks_min(len, (size_t)1 << 30);
	len = in->gz.avail_out;
	in->frame_open |= in->gz.avail_in > 0;
	status = inflate(&in->gz, Z_NO_FLUSH);
	in->raw_pos = in->raw_len - in->gz.avail_in;
	*ret_got = len - in->gz.avail_out;
	if (status == Z_STREAM_END) { /* another member may follow */
		inflateReset(&in->gz);
		in->frame_open = false;
		return 0;
	}
	return status == Z_OK || status == Z_BUF_ERROR ? 0 : corrupt(in, "gzip", diag);
}

static int decode_zstd(struct ks_input *in, u8 *out, size_t len, size_t *ret_got,
		       struct ks_diag *diag)
{
	ZSTD_inBuffer src = { in->raw, in->raw_len, in->raw_pos };
	ZSTD_outBuffer dst = { out, len, 0 };
	size_t status = ZSTD_decompressStream(in->zstd, &dst, &src);

	if (ZSTD_isError(status))
		return corrupt(in, "zstd", diag);
	if (src.pos > in->raw_pos || dst.pos) /* else it only says what it wants next */
		in->frame_open = status;
	in->raw_pos = src.pos;
	*ret_got = dst.pos;
	return 0;
}

static int decode_xz(struct ks_input *in, u8 *out, size_t len, size_t *ret_got,
		     struct ks_diag *diag)
{
	lzma_ret status;

	in->xz.next_in = in->raw + in->raw_pos;
	in->xz.avail_in = in->raw_len - in->raw_pos;
	in->xz.next_out = out;
	in->xz.avail_out = len;
	in->frame_open = true;
	status = lzma_code(&in->xz, in->eof ? LZMA_FINISH : LZMA_RUN);
	in->raw_pos = in->raw_len - in->xz.avail_in;
	*ret_got = len - in->xz.avail_out;
	if (status == LZMA_STREAM_END)
		in->frame_open = false;
	return status == LZMA_OK || status == LZMA_STREAM_END || status == LZMA_BUF_ERROR
		       ? 0
		       : corrupt(in, "xz", diag);
}

static const struct {
	const char *name;
	size_t magic_len;
	const char *magic;
	int (*decode)(struct ks_input *in, u8 *out, size_t len, size_t *ret_got,
		      struct ks_diag *diag);
} codecs[] = {
	[CODEC_PLAIN] = { "plain", 0, "", decode_plain },
	[CODEC_GZIP] = { "gzip", 3, "\x1f\x8b\x08", decode_gzip },
	[CODEC_ZSTD] = { "zstd", 4, "\x28\xb5\x2f\xfd", decode_zstd },
	[CODEC_XZ] = { "xz", 6,
		       "\xfd"
		       "7zXZ\0",
		       decode_xz },
};

static int start_codec(struct ks_input *in, struct ks_diag *diag)
{
	bool ok = true;
	size_t i;

	for (i = 1; i < ARRAY_SIZE(codecs); i++)
		if (in->raw_len >= codecs[i].magic_len &&
		    !memcmp(in->raw, codecs[i].magic, codecs[i].magic_len))
			in->codec = (enum codec)i;
	if (in->codec == CODEC_GZIP) {
		ok = inflateInit2(&in->gz, 15 + 16) == Z_OK;
	} else if (in->codec == CODEC_ZSTD) {
		in->zstd = ZSTD_createDStream();
		ok = in->zstd && !ZSTD_isError(ZSTD_initDStream(in->zstd));
		/* A hostile frame may ask for a window of gigabytes. */
		if (ok)
			ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, 27);
	} else if (in->codec == CODEC_XZ) {
		ok = lzma_stream_decoder(&in->xz, 256 << 20, LZMA_CONCATENATED) == LZMA_OK;
	}
	return ok ? 0 : ks_diag_nomem(diag, "starting a decompressor");
}

/* An unnamed file in $TMPDIR, or in /var/tmp, which is on a disk where /tmp is often memory. */
static int open_spool(struct ks_diag *diag)
{
	const char *dir = getenv("TMPDIR");
	char *path;
	int fd;

	if (!dir || !*dir)
		dir = "/var/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (asprintf(&path, "%s/kmemscope-XXXXXX", dir) < 0)
		return ks_diag_nomem(diag, "opening a temporary file");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		fd = ks_diag_set(diag, -errno, "%s: cannot create a temporary file: %s", dir,
				 strerror(errno));
	else
		unlink(path);
	free(path);
	return fd;
}

/* Copies the whole content into a temporary file, which then takes the place of the descriptor. */
static int spool(struct ks_input *in, struct ks_diag *diag)
{
	u8 *buf = malloc(RAW_SIZE);
	size_t got = RAW_SIZE;
	u64 total = 0;
	int fd, err = 0;

	if (!buf)
		return ks_diag_nomem(diag, "copying a capture");
	fd = open_spool(diag);
	if (fd < 0) {
		free(buf);
		return fd;
	}
	while (!err && got == RAW_SIZE) {
		err = ks_input_read(in, buf, RAW_SIZE, &got, diag);
		if (err)
			break;
		err = ks_write_all(fd, buf, got);
		if (err)
			ks_diag_set(diag, err,
				    "%s: cannot copy it into a temporary file: %s; set TMPDIR to a "
				    "directory with more room",
				    in->name, strerror(-err));
		total += got;
	}
	free(buf);
	if (err) {
		close(fd);
		return err;
	}
	close(in->fd);
	in->fd = fd;
	in->total = total;
	return 0;
}

/* === Public =============================================================================== */

int ks_input_open(const char *path, struct ks_input **ret_input, struct ks_diag *diag)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return ks_diag_set(diag, -errno, "%s: cannot open: %s",
				   is_stdin ? "standard input" : path, strerror(errno));
	return ks_input_open_fd(fd, is_stdin ? "standard input" : path, ret_input, diag);
}

int ks_input_open_fd(int fd, const char *name, struct ks_input **ret_input, struct ks_diag *diag)
{
	struct ks_input *in = calloc(1, sizeof(*in));
	struct stat st;
	int err;

	if (!in) {
		close(fd);
		return ks_diag_nomem(diag, "opening a file");
	}
	in->xz = (lzma_stream)LZMA_STREAM_INIT;
	in->fd = fd;
	in->name = strdup(name);
	in->raw = malloc(RAW_SIZE);
	if (!in->name || !in->raw) {
		err = ks_diag_nomem(diag, "opening a file");
		goto fail;
	}
	if (fstat(in->fd, &st)) {
		err = ks_diag_set(diag, -errno, "%s: cannot open: %s", in->name, strerror(errno));
		goto fail;
	}
	if (S_ISDIR(st.st_mode)) {
		err = ks_diag_set(diag, -EISDIR, "%s: is a directory, not a capture", in->name);
		goto fail;
	}
	if (S_ISREG(st.st_mode)) {
		in->total = (u64)st.st_size;
		posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
	/* A pipe gives what it has: read on until the longest magic number could be there. */
	while (in->raw_len < 6 && !in->eof) {
		size_t got = 0;

		err = read_fd(in, in->raw + in->raw_len, RAW_SIZE - in->raw_len, &got, diag);
		if (err)
			goto fail;
		in->raw_len += got;
	}
	err = start_codec(in, diag);
	if (err)
		goto fail;
	*ret_input = in;
	return 0;
fail:
	ks_input_close(in);
	return err;
}

void ks_input_close(struct ks_input *in)
{
	if (!in)
		return;
	if (in->codec == CODEC_GZIP)
		inflateEnd(&in->gz);
	ZSTD_freeDStream(in->zstd);
	lzma_end(&in->xz);
	if (in->fd >= 0)
		close(in->fd);
	free(in->raw);
	free(in->name);
	free(in);
}

const char *ks_input_name(const struct ks_input *in)
{
	return in->name;
}

int ks_input_read(struct ks_input *in, void *buf, size_t len, size_t *ret_got, struct ks_diag *diag)
{
	size_t got = ks_min(in->peek_len - in->peek_pos, len);

	memcpy(buf, in->peek + in->peek_pos, got);
	in->peek_pos += got;
	while (got < len) {
		size_t n = 0;
		int err = in->codec == CODEC_PLAIN ? 0 : fill_raw(in, diag);

		if (err)
			return err;
		/* What is left at the end may still sit inside the decoder: ask it until it is dry. */
		err = codecs[in->codec].decode(in, (u8 *)buf + got, len - got, &n, diag);
		if (err)
			return err;
		got += n;
		if (!n && in->eof && in->raw_pos == in->raw_len)
			break;
	}
	if (got < len && in->codec != CODEC_PLAIN && in->frame_open)
		return truncated(in, codecs[in->codec].name, diag);
	*ret_got = got;
	return 0;
}

int ks_input_peek(struct ks_input *in, const void **ret_data, size_t *ret_len, struct ks_diag *diag)
{
	if (!in->peek_len) {
		size_t got;
		int err = ks_input_read(in, in->peek, PEEK_SIZE, &got, diag);

		if (err)
			return err;
		in->peek_len = got;
	}
	*ret_data = in->peek + in->peek_pos;
	*ret_len = in->peek_len - in->peek_pos;
	return 0;
}

int ks_input_random(struct ks_input *in, int *ret_fd, u64 *ret_size, struct ks_diag *diag)
{
	struct stat st;
	int err = 0;

	if (fstat(in->fd, &st))
		return ks_diag_set(diag, -errno, "%s: %s", in->name, strerror(errno));
	/* Standard input may be a file that was read halfway by somebody else: copy it as well. */
	if (in->codec != CODEC_PLAIN || !S_ISREG(st.st_mode) ||
	    lseek(in->fd, 0, SEEK_CUR) != (off_t)in->done)
		err = spool(in, diag);
	if (err)
		return err;
	*ret_fd = in->fd;
	*ret_size = in->total;
	return 0;
}

void ks_input_progress(const struct ks_input *in, u64 *ret_done, u64 *ret_total)
{
	*ret_done = atomic_load_explicit(&in->done, memory_order_relaxed);
	*ret_total = in->total;
}

u64 ks_input_size(const struct ks_input *in)
{
	return in->codec == CODEC_PLAIN ? in->total : 0;
}
