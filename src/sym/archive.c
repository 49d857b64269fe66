// SPDX-License-Identifier: LGPL-2.1-only
/* The names of the members of an ar archive, thin or not. */
#include "sym/archive.h"

#include <string.h>

#include "base/bytes.h"

/* === Data ================================================================================= */

#define MAGIC_LEN   8
#define MAGIC_PLAIN "!<arch>\n"
#define MAGIC_THIN  "!<thin>\n"

/* The header of a member: text, padded with blanks. */
enum { NAME_LEN = 16, SIZE_AT = 48, SIZE_LEN = 10, HEADER_LEN = 60 };

/* === Internals ============================================================================ */

/* The digits at the front of a field; blanks, or a slash that binutils left there, may follow. */
static bool parse_number(const char *s, size_t len, u64 *ret_value)
{
	u64 v = 0;
	size_t i;

	for (i = 0; i < len && s[i] >= '0' && s[i] <= '9'; i++)
		v = v * 10 + (u64)(s[i] - '0');
	*ret_value = v;
	return i > 0;
}

struct names {
	const char *s;
	size_t len;
};

/* The name of a member: in its header up to a slash, or by number in the table of long names. */
static bool member_name(const char *header, const struct names *names, struct names *ret)
{
	const char *end;
	u64 at;

	if (header[0] != '/') {
		end = memchr(header, '/', NAME_LEN);
		if (!end)
			return false;
		*ret = (struct names){ header, (size_t)(end - header) };
		return true;
	}
	if (!parse_number(header + 1, NAME_LEN - 1, &at) || at >= names->len)
		return false;
	end = memchr(names->s + at, '\n', names->len - (size_t)at);
	if (!end || end == names->s + at || end[-1] != '/')
		return false;
	*ret = (struct names){ names->s + at, (size_t)(end - 1 - (names->s + at)) };
	return true;
}

static bool is_special(const char *header)
{
	return !memcmp(header, "/ ", 2) || !memcmp(header, "//", 2) ||
	       !memcmp(header, "/SYM64/", 7);
}

/* === Public =============================================================================== */

int ks_archive_members(const void *data, size_t len, const char *path,
		       int (*member)(void *arg, const char *name, size_t len), void *arg,
		       struct ks_diag *diag)
{
	struct names names = { "", 0 }, name;
	struct ks_bytes b;
	const char *magic, *header, *body;
	bool thin;
	u64 size;
	int err;

	ks_bytes_init(&b, data, len);
	magic = ks_bytes_take(&b, MAGIC_LEN);
	if (!magic ||
	    (memcmp(magic, MAGIC_PLAIN, MAGIC_LEN) && memcmp(magic, MAGIC_THIN, MAGIC_LEN)))
		return ks_diag_set(diag, KS_EBADINPUT, "%s: is not an archive", path);
	thin = !memcmp(magic, MAGIC_THIN, MAGIC_LEN);
	while (ks_bytes_left(&b)) {
		size_t at = b.pos;

		header = ks_bytes_take(&b, HEADER_LEN);
		if (!header || header[HEADER_LEN - 2] != '`' ||
		    !parse_number(header + SIZE_AT, SIZE_LEN, &size))
			goto damaged;
		body = NULL;
		if (!thin || is_special(header)) {
			body = ks_bytes_take(&b, size);
			if (!body)
				goto damaged;
			if ((size & 1) && ks_bytes_left(&b)) /* bodies begin at even places */
				ks_bytes_take(&b, 1);
		}
		if (!memcmp(header, "//", 2)) {
			names = (struct names){ body, (size_t)size };
		} else if (!is_special(header)) {
			if (!member_name(header, &names, &name))
				goto damaged;
			err = member(arg, name.s, name.len);
			if (err)
				return err;
		}
		continue;
damaged:
		return ks_diag_set(diag, KS_EBADINPUT, "%s: damaged archive at offset %zu", path,
				   at);
	}
	return 0;
}
