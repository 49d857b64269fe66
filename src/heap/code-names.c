// SPDX-License-Identifier: LGPL-2.1-only
/* Looks functions up; behind other pointers into the image it looks for one. */
#include "heap/code-names.h"

#include <stdio.h>
#include <string.h>

#include "sym/symtab.h"

/* === Data ================================================================================= */

enum { TABLE_WORDS = 8 };

/* === Internals ============================================================================ */

/* Functions that many tables have: they say nothing of whose table it is. */
static bool is_common(const char *name)
{
	static const char *const begins[] = { "noop_", "no_", "generic_", "simple_", "seq_" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* === Public =============================================================================== */

struct ks_symtab *ks_code_names(const char *kallsyms)
{
	struct ks_symtab *symbols = NULL;
	struct ks_diag ignored;

	if (!kallsyms || ks_symtab_load(kallsyms, &symbols, &ignored))
		return NULL;
	return symbols;
}

void ks_code_names_free(struct ks_symtab *symbols)
{
	ks_symtab_free(symbols);
}

const struct ks_symbol *ks_code_at(const struct ks_kernel *k, const struct ks_symtab *symbols,
				   u64 addr)
{
	const struct ks_symbol *symbol = ks_kernel_in_image(k, addr) ? ks_symtab_find(symbols, addr)
								     : NULL;

	return symbol && symbol->addr == addr ? symbol : NULL;
}

void ks_code_name(struct ks_kernel *kernel, const struct ks_symtab *symbols, u64 word, char *text,
		  size_t size)
{
	const struct ks_symbol *symbol = symbols ? ks_code_at(kernel, symbols, word) : NULL;
	u64 table[TABLE_WORDS] = { 0 };
	size_t i;

	*text = '\0';
	if (symbol) {
		snprintf(text, size, "%s()", ks_symtab_name(symbols, symbol));
		return;
	}
	if (!symbols || !ks_kernel_in_image(kernel, word) || word & 7 ||
	    ks_memory_get(kernel->memory, word, table, sizeof(table)))
		return;
	for (i = 0; i < TABLE_WORDS && (!symbol || is_common(ks_symtab_name(symbols, symbol))); i++)
		if (ks_code_at(kernel, symbols, table[i]))
			symbol = ks_code_at(kernel, symbols, table[i]);
	if (symbol)
		snprintf(text, size, "table with %s()", ks_symtab_name(symbols, symbol));
}
