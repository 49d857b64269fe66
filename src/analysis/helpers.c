// SPDX-License-Identifier: LGPL-2.1-only
/* Functions that allocate for their callers. */
#include "analysis/helpers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/symtab.h"
#include "sym/tree.h"

/* === Data ================================================================================= */

/* Made from helpers.txt by the build, and found in the build directory. */
static const char builtin_list[] =
#include "analysis/helpers.inc"
	;

/* What allocation profiling (Linux 6.10 on) adds to the name of the function proper. */
#define NOPROF "_noprof"

enum { NAME_MAX_LEN = 512, FILE_MAX = 1 << 20 };

/* === Internals ============================================================================ */

static int add_list(struct ks_helpers *helpers, const char *text)
{
	while (*text) {
		size_t len, word;

		text += strspn(text, " \t");
		word = strcspn(text, " \t\r\n#");
		if (word && ks_intern_add(&helpers->names, text, word) == KS_NONE)
			return -ENOMEM;
		len = strcspn(text, "\n");
		text += len + (text[len] == '\n');
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_helpers_init(struct ks_helpers *helpers)
{
	int err = ks_intern_init(&helpers->names);

	if (!err)
		err = add_list(helpers, builtin_list);
	if (err)
		ks_helpers_deinit(helpers);
	return err;
}

void ks_helpers_deinit(struct ks_helpers *helpers)
{
	ks_intern_deinit(&helpers->names);
}

int ks_helpers_add_file(struct ks_helpers *helpers, const char *path, struct ks_diag *diag)
{
	char *text;
	size_t len;
	int err = ks_read_file(path, FILE_MAX, &text, &len, diag);

	if (err == -ENOENT)
		return ks_diag_set(diag, err, "%s: cannot open: %s", path, strerror(-err));
	if (err)
		return err;
	err = add_list(helpers, text) ? ks_diag_nomem(diag, "reading a list of helpers") : 0;
	free(text);
	return err;
}

bool ks_helpers_has(const struct ks_helpers *helpers, const char *func, size_t len)
{
	char name[NAME_MAX_LEN];

	if (len >= sizeof(name))
		return false;
	memcpy(name, func, len);
	name[len] = '\0';
	len = ks_symbol_base_len(name);
	if (len > strlen(NOPROF) && !memcmp(name + len - strlen(NOPROF), NOPROF, strlen(NOPROF)))
		len -= strlen(NOPROF);
	return len && ks_intern_find(&helpers->names, name, len) != KS_NONE;
}
