// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a file of settings: refused with a line number, or names and values without blanks around them. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/config.h"

static int take(void *ctx, const char *name, const char *value, struct ks_diag *diag)
{
	size_t len = strlen(value);

	FUZZ_ASSERT(*name && !strpbrk(name, " \t\r\n=#"));
	FUZZ_ASSERT(!strpbrk(value, "\n#"));
	FUZZ_ASSERT(!len || (!strchr(" \t\r", value[0]) && !strchr(" \t\r", value[len - 1])));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_diag diag = { 0 };
	char *text = malloc(size + 1);
	int err;

	FUZZ_ASSERT(text);
	if (size)
		memcpy(text, data, size);
	err = ks_config_parse(text, size, "file", take, NULL, &diag);
	FUZZ_ASSERT(!err ||
		    (err == KS_EBADINPUT && diag.err == err && !strncmp(diag.text, "file:", 5)));
	free(text);
	return 0;
}
