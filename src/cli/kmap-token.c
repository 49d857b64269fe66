// SPDX-License-Identifier: GPL-2.0-only
/* Reads and makes the file of a token. */
#include "cli/kmap-token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* === Internals ============================================================================ */

static int check_token(const char *path, const char *bytes, ssize_t len, struct ks_diag *diag)
{
	if (len >= KS_WIRE_TOKEN_LEN && len <= KS_WIRE_TOKEN_LEN + 1 &&
	    strspn(bytes, "0123456789abcdef") == KS_WIRE_TOKEN_LEN &&
	    (len == KS_WIRE_TOKEN_LEN || bytes[KS_WIRE_TOKEN_LEN] == '\n'))
		return 0;
	return ks_diag_set(diag, KS_EBADINPUT,
			   "%s: is no token: that is a line of %d hexadecimal digits", path,
			   KS_WIRE_TOKEN_LEN);
}

/* === Public =============================================================================== */

int ks_kmap_token_read(const char *path, char ret_token[KS_WIRE_TOKEN_LEN + 1],
		       struct ks_diag *diag)
{
	char bytes[KS_WIRE_TOKEN_LEN + 3] = "";
	int err, fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return ks_diag_set(diag, err, "%s: cannot open: %s", path, strerror(-err));
	}
	n = read(fd, bytes, sizeof(bytes) - 1);
	close(fd);
	if (n < 0)
		return ks_diag_set(diag, -EIO, "%s: cannot read", path);
	if (S_ISREG(st.st_mode) && st.st_mode & 0077)
		return ks_diag_set(
			diag, -EPERM,
			"%s: others may read this token: chmod 600 it, or make a new one", path);
	err = check_token(path, bytes, n, diag);
	if (err)
		return err;
	memcpy(ret_token, bytes, KS_WIRE_TOKEN_LEN);
	ret_token[KS_WIRE_TOKEN_LEN] = 0;
	return 0;
}

int ks_kmap_token_make(const char *path, char ret_token[KS_WIRE_TOKEN_LEN + 1], bool *ret_made,
		       struct ks_diag *diag)
{
	char text[KS_WIRE_TOKEN_LEN + 2];
	u8 random[KS_WIRE_TOKEN_LEN / 2];
	int err = 0, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t i;

	*ret_made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		return ks_kmap_token_read(path, ret_token, diag);
	if (fd < 0)
		return ks_diag_set(diag, -errno, "%s: cannot make: %s", path, strerror(errno));
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		err = -EIO;
	for (i = 0; i < sizeof(random); i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	text[KS_WIRE_TOKEN_LEN] = '\n';
	if (!err)
		err = ks_write_all(fd, text, sizeof(text) - 1);
	close(fd);
	if (err) {
		unlink(path);
		return ks_diag_set(diag, err, "%s: cannot write: %s", path, strerror(-err));
	}
	memcpy(ret_token, text, KS_WIRE_TOKEN_LEN);
	ret_token[KS_WIRE_TOKEN_LEN] = 0;
	return 0;
}
