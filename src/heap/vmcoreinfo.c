// SPDX-License-Identifier: LGPL-2.1-only
/* Lines of vmcoreinfo. */
#include "heap/vmcoreinfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

static bool parse(const char *s, int base, u64 *ret_value)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = *s == '-' ? (unsigned long long)strtoll(s, &end, base) : strtoull(s, &end, base);
	if (errno || end == s || (*end && *end != '\n'))
		return false;
	*ret_value = value;
	return true;
}

/* === Public =============================================================================== */

bool ks_vmcoreinfo_get(const char *text, const char *kind, const char *name, u64 *ret_value)
{
	char key[128];
	size_t len;

	len = (size_t)snprintf(key, sizeof(key), "%s(%s)=", kind, name);
	if (len >= sizeof(key))
		return false;
	while (text) {
		if (!strncmp(text, key, len))
			return parse(text + len, strcmp(kind, "SYMBOL") ? 0 : 16, ret_value);
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return false;
}
