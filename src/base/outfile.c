// SPDX-License-Identifier: LGPL-2.1-only
/* Output files that appear whole or not at all. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* === Internals ============================================================================ */

static int write_error(const struct ks_outfile *out, int err, struct ks_diag *diag)
{
	return ks_diag_set(diag, err, "%s: cannot write: %s%s", out->path, strerror(-err),
			   err == -ENOSPC ? "; free some space or name another file" : "");
}

static void forget(struct ks_outfile *out)
{
	if (out->fd >= 0)
		close(out->fd);
	free(out->path);
	free(out->tmp_path);
	*out = (struct ks_outfile){ .fd = -1 };
}

/* === Public =============================================================================== */

int ks_outfile_open(struct ks_outfile *out, const char *path, struct ks_diag *diag)
{
	struct stat st;
	int err;

	*out = (struct ks_outfile){ .fd = -1 };
	/* A pipe, a terminal or /dev/null cannot be renamed over: write to it as it is. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return ks_diag_set(diag, -EISDIR, "%s: is a directory; name a file", path);
		out->path = strdup(path);
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		out->path = strdup(path);
		if (asprintf(&out->tmp_path, "%s.tmp-XXXXXX", path) < 0)
			out->tmp_path = NULL;
		if (out->path && out->tmp_path)
			out->fd = mkostemp(out->tmp_path, O_CLOEXEC);
	}
	if (!out->path || (out->fd < 0 && errno == ENOMEM)) {
		forget(out);
		return ks_diag_nomem(diag, "opening an output file");
	}
	if (out->fd >= 0)
		return 0;
	err = ks_diag_set(diag, -errno, "%s: cannot create: %s", path, strerror(errno));
	forget(out);
	return err;
}

int ks_outfile_open_stdout(struct ks_outfile *out, struct ks_diag *diag)
{
	int err;

	*out = (struct ks_outfile){ .path = strdup("standard output"),
				    .fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) };
	err = -errno;
	if (out->path && out->fd >= 0)
		return 0;
	if (!out->path)
		err = -ENOMEM;
	forget(out);
	return ks_diag_set(diag, err, "standard output: cannot open: %s", strerror(-err));
}

int ks_outfile_write(struct ks_outfile *out, const void *data, size_t len, struct ks_diag *diag)
{
	int err = ks_write_all(out->fd, data, len);

	return err ? write_error(out, err, diag) : 0;
}

int ks_outfile_write_at(struct ks_outfile *out, u64 offset, const void *data, size_t len,
			struct ks_diag *diag)
{
	int err = ks_pwrite_all(out->fd, data, len, offset);

	return err ? write_error(out, err, diag) : 0;
}

int ks_outfile_commit(struct ks_outfile *out, struct ks_diag *diag)
{
	int err = 0;

	if (out->tmp_path && (fsync(out->fd) || rename(out->tmp_path, out->path)))
		err = write_error(out, -errno, diag);
	if (close(out->fd) && !err)
		err = write_error(out, -errno, diag);
	out->fd = -1;
	if (err && out->tmp_path)
		unlink(out->tmp_path);
	forget(out);
	return err;
}

void ks_outfile_abort(struct ks_outfile *out)
{
	if (out->tmp_path)
		unlink(out->tmp_path);
	forget(out);
}
