// SPDX-License-Identifier: LGPL-2.1-only
/* Options of callers that may be older or newer than the library. */
#include <string.h>

#include "api/api.h"

int ks_api_options(const void *given, void *ret, size_t known, struct ks_diag *diag)
{
	const u8 *bytes = given;
	size_t size, i;

	memset(ret, 0, known);
	if (!given)
		return 0;
	memcpy(&size, given, sizeof(size));
	if (size < sizeof(size))
		return ks_diag_set(diag, -EINVAL, "options without a size: set it to their sizeof");
	for (i = known; i < size; i++)
		if (bytes[i])
			return ks_diag_set(diag, -E2BIG,
					   "options that libkmemscope %s does not know",
					   KS_VERSION);
	memcpy(ret, given, ks_min(size, known));
	return 0;
}

int ks_api_choice(const char *what, const char *name, const char *(*name_of)(unsigned int),
		  unsigned int len, unsigned int *ret_number, struct ks_diag *diag)
{
	struct ks_strbuf names;
	unsigned int i;
	int err;

	for (i = 0; i < len; i++)
		if (!name || !strcmp(name, name_of(i)))
			break;
	if (i < len) {
		*ret_number = i;
		return 0;
	}
	ks_strbuf_init(&names);
	for (i = 0; i < len; i++)
		ks_strbuf_printf(&names, " %s", name_of(i));
	err = ks_diag_set(diag, -EINVAL, "%s '%s': choose one of%s", what, name,
			  ks_strbuf_str(&names));
	ks_strbuf_deinit(&names);
	return err;
}

const char *ks_api_by_name(unsigned int by)
{
	return ks_by_name((enum ks_by)by);
}
