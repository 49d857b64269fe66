// SPDX-License-Identifier: LGPL-2.1-only
/* Memory that the kernel keeps because it may. */
#include "analysis/kept.h"

#include <string.h>

#include "sym/symtab.h"

/* === Data ================================================================================= */

/* Made from kept.txt by the build, and found in the build directory. */
static const char list[] =
#include "analysis/kept.inc"
	;

/* === Internals ============================================================================ */

static bool is_word(const char *word, size_t len, const char *name, size_t name_len)
{
	if (len && word[0] == '*')
		return name_len >= len - 1 &&
		       !memcmp(name + name_len - (len - 1), word + 1, len - 1);
	return len == name_len && !memcmp(word, name, len);
}

/* Whether a word of the list names it; later words win. */
static bool is_listed(const char *word, size_t len, const char *func, const char *cache)
{
	if (len > 2 && !memcmp(word + len - 2, "()", 2))
		return is_word(word, len - 2, func, ks_symbol_base_len(func));
	return is_word(word, len, cache, strlen(cache));
}

/* === Public =============================================================================== */

bool ks_is_kept(const char *func, const char *cache, bool reclaimable)
{
	const char *p = list;
	bool kept = reclaimable;

	while (*p) {
		bool not = *p == '!';
		size_t len = strcspn(p + not, " \t\r\n#");

		if (len && is_listed(p + not, len, func, cache))
			kept = !not ;
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return kept;
}
