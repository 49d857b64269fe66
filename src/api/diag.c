// SPDX-License-Identifier: LGPL-2.1-only
/* Errors, the version, and memory that callers give back. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/num.h"

_Static_assert(KS_ERROR_INPUT == KS_EBADINPUT, "the codes of errors are part of the interface");

/* The number behind the last @word of the message, if there is one. */
static int number_behind(const char *text, const char *word, u64 *ret_number)
{
	const char *found = NULL, *p = text;
	char digits[24];
	size_t len;

	while ((p = strstr(p, word))) {
		found = p + strlen(word);
		p = found;
	}
	len = found ? strspn(found, "0123456789") : 0;
	if (!len || len >= sizeof(digits))
		return -ENOENT;
	memcpy(digits, found, len);
	digits[len] = '\0';
	return ks_parse_u64(digits, ret_number);
}

/* === Public =============================================================================== */

const char *ks_version(void)
{
	return KS_VERSION;
}

void ks_free(void *memory)
{
	free(memory);
}

struct ks_diag *ks_diag_new(void)
{
	return calloc(1, sizeof(struct ks_diag));
}

void ks_diag_free(struct ks_diag *diag)
{
	free(diag);
}

int ks_diag_code(const struct ks_diag *diag)
{
	return diag->err;
}

const char *ks_diag_text(const struct ks_diag *diag)
{
	return diag->text;
}

int ks_diag_offset(const struct ks_diag *diag, uint64_t *ret_offset)
{
	return !number_behind(diag->text, "byte ", ret_offset) ||
	       !number_behind(diag->text, "at offset ", ret_offset);
}

int ks_diag_explain(struct ks_diag *diag, int code, const char *text)
{
	return ks_diag_set(diag, code, "%s", text);
}
