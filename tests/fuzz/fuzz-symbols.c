// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as System.map, kallsyms or ELF file: the resulting table must be consistent. */
#include "fuzz.h"

#include "sym/symtab.h"

static void ask(const struct ks_symtab *table)
{
	size_t i;

	for (i = 0; i < table->symbols.len; i++) {
		const struct ks_symbol *s = &table->symbols.items[i], *found;

		FUZZ_ASSERT(!i || s[-1].addr <= s->addr);
		found = ks_symtab_find(table, s->addr);
		FUZZ_ASSERT(found && found->addr == s->addr);
		FUZZ_ASSERT(ks_symtab_by_name(table, ks_symtab_name(table, s)));
		FUZZ_ASSERT(s->unit == KS_NONE || s->unit < table->units.len);
		FUZZ_ASSERT(ks_symbol_base_len(ks_symtab_name(table, s)) <=
			    strlen(ks_symtab_name(table, s)));
		ks_symtab_extent(table, s);
	}
	ks_symtab_find(table, 0);
	ks_symtab_find(table, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_symtab *table;
	struct ks_diag diag = { 0 };
	char path[64];
	int fd = fuzz_file(data, size, path), err;

	err = ks_symtab_load(path, &table, &diag);
	if (!err) {
		ask(table);
		ks_symtab_free(table);
	} else {
		FUZZ_ASSERT(diag.err == err && diag.text[0]);
	}
	close(fd);
	return 0;
}
