// SPDX-License-Identifier: LGPL-2.1-only
/* Files of settings. */
#include "base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

/* === Data ================================================================================= */

enum { FILE_MAX = 1 << 20 };

/* === Internals ============================================================================ */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Takes the blanks off both ends. */
static char *trim(char *s)
{
	size_t len;

	while (is_blank(*s))
		s++;
	len = strlen(s);
	while (len && is_blank(s[len - 1]))
		s[--len] = '\0';
	return s;
}

static bool is_name(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(s);
}

static int take_line(char *line, const char *path, unsigned long number, ks_config_fn *fn,
		     void *ctx, struct ks_diag *diag)
{
	struct ks_diag why = { 0 };
	char *equals, *name;
	int err;

	/* Values have no '#' in them: a comment may follow on the same line. */
	line[strcspn(line, "#")] = '\0';
	name = trim(line);
	if (!*name)
		return 0;
	equals = strchr(name, '=');
	if (!equals)
		return ks_diag_set(diag, KS_EBADINPUT, "%s:%lu: a line is 'name = value'", path,
				   number);
	*equals = '\0';
	name = trim(name);
	if (!is_name(name))
		return ks_diag_set(diag, KS_EBADINPUT, "%s:%lu: this is no name of a setting", path,
				   number);
	err = fn(ctx, name, trim(equals + 1), &why);
	if (err)
		ks_diag_set(diag, err, "%s:%lu: %s", path, number,
			    why.err ? why.text : strerror(-err));
	return err;
}

/* === Public =============================================================================== */

int ks_config_parse(char *text, size_t len, const char *path, ks_config_fn *fn, void *ctx,
		    struct ks_diag *diag)
{
	char *line = text, *end = text + len, *next;
	unsigned long number = 0;
	int err = 0;

	if (memchr(text, '\0', len))
		return ks_diag_set(diag, KS_EBADINPUT, "%s: this is no text", path);
	for (; line < end && !err; line = next) {
		char *stop = memchr(line, '\n', (size_t)(end - line));

		next = stop ? stop + 1 : end;
		*(stop ? stop : end) = '\0';
		err = take_line(line, path, ++number, fn, ctx, diag);
	}
	return err;
}

int ks_config_read(const char *path, ks_config_fn *fn, void *ctx, char **ret_text,
		   struct ks_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	char *text = malloc(FILE_MAX + 1);
	ssize_t len = fd < 0 ? -errno : text ? ks_pread_full(fd, text, FILE_MAX, 0) : -ENOMEM;

	if (fd >= 0)
		close(fd);
	if (len < 0)
		err = ks_diag_set(diag, (int)len, "%s: %s", path, strerror((int)-len));
	else if (len == FILE_MAX)
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: too large for a file of settings", path);
	else
		err = ks_config_parse(text, (size_t)len, path, fn, ctx, diag);
	if (err)
		free(text);
	else
		*ret_text = text;
	return err;
}
