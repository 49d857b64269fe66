// SPDX-License-Identifier: LGPL-2.1-only
/* The functions of vmlinux or of a module, with the compilation that each static one came from. */
#include "sym/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/elf.h"

/* === Internals ============================================================================ */

/* Where functions live; a relocatable file's sections are laid out one behind the other. */
struct sections {
	u64 *base;  /* by section: what to add to a symbol's value */
	bool *code; /* by section: loaded, and executable or, for variables, not */
	size_t count;
};

static void sections_deinit(struct sections *s)
{
	free(s->base);
	free(s->code);
}

static int sections_init(struct sections *s, const struct ks_elf *elf, bool of_variables,
			 struct ks_diag *diag)
{
	bool relocatable = elf->ehdr.e_type == ET_REL;
	u64 end = 0;
	GElf_Shdr shdr;
	size_t i;
	int err;

	s->count = elf->sections;
	s->base = calloc(s->count + 1, sizeof(*s->base));
	s->code = calloc(s->count + 1, sizeof(*s->code));
	if (!s->base || !s->code)
		return ks_diag_nomem(diag, "reading sections");
	for (i = 1; i < s->count; i++) {
		err = ks_elf_section(elf, i, &shdr, NULL, diag);
		if (err)
			return err;
		s->code[i] = (shdr.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) ==
			     (SHF_ALLOC | (of_variables ? 0 : SHF_EXECINSTR));
		if (relocatable && s->code[i]) {
			s->base[i] = end;
			end += (shdr.sh_size + 15) & ~15ull;
		}
	}
	return 0;
}

static int add_unit(struct ks_symtab *table, const char *name, u32 *ret_unit)
{
	struct ks_compilation *unit = ks_vec_push(&table->units);

	if (!unit)
		return -ENOMEM;
	unit->file = ks_intern_add(&table->files, name, strlen(name));
	*ret_unit = (u32)table->units.len - 1;
	return unit->file == KS_NONE ? -ENOMEM : 0;
}

/* Labels of assembly and of the compiler that no one would call a function. */
static bool is_label(const char *name)
{
	return !name[0] || name[0] == '$' || !strncmp(name, ".L", 2) || !strncmp(name, "__pfx_", 6);
}

/* Variables of assembly and of the linker have no type. */
static bool is_wanted(const struct ks_symtab *table, unsigned int type)
{
	if (type == STT_NOTYPE)
		return true;
	return table->of_variables ? type == STT_OBJECT : type == STT_FUNC || type == STT_GNU_IFUNC;
}

static int add_symbol(struct ks_symtab *table, const struct sections *sections,
		      const struct ks_elf_sym *sym, u32 unit)
{
	struct ks_symbol symbol = { .unit = KS_NONE };

	if (sym->section >= sections->count || !sections->code[sym->section])
		return 0;
	if (!is_wanted(table, sym->type) || is_label(sym->name))
		return 0;
	symbol.addr = sym->value + sections->base[sym->section];
	symbol.size = (u32)ks_min(sym->size, (u64)UINT32_MAX);
	if (sym->bind == STB_LOCAL) {
		symbol.flags |= KS_SYMBOL_LOCAL;
		symbol.unit = unit;
	} else if (sym->bind == STB_WEAK) {
		symbol.flags |= KS_SYMBOL_WEAK;
	}
	return ks_symtab_add(table, sym->name, strlen(sym->name), "", 0, &symbol);
}

static int read_symbols(struct ks_symtab *table, const struct ks_elf *elf,
			const struct sections *sections, struct ks_diag *diag)
{
	struct ks_elf_cursor cursor = { .elf = elf };
	struct ks_elf_sym sym;
	u32 unit = KS_NONE;
	int got, err = 0;

	while ((got = ks_elf_next_symbol(&cursor, &sym, diag)) > 0) {
		if (sym.type == STT_FILE)
			/* An empty name ends the last group: symbols of the linker follow. */
			err = sym.name[0] ? add_unit(table, sym.name, &unit) : (unit = KS_NONE, 0);
		else
			err = add_symbol(table, sections, &sym, unit);
		if (err)
			return ks_diag_nomem(diag, "reading symbols");
	}
	return got;
}

/* === Public =============================================================================== */

int ks_symtab_load_elf(struct ks_symtab *table, const char *path, struct ks_diag *diag)
{
	struct sections sections = { 0 };
	struct ks_elf elf;
	int err;

	err = ks_elf_open(&elf, path, diag);
	if (err)
		return err;
	err = sections_init(&sections, &elf, table->of_variables, diag);
	if (!err)
		err = read_symbols(table, &elf, &sections, diag);
	if (!err && !table->symbols.len && !table->of_variables)
		err = ks_diag_set(diag, KS_EBADINPUT,
				  "%s: has no symbol table; give the vmlinux of the build, not a "
				  "stripped copy",
				  path);
	sections_deinit(&sections);
	ks_elf_close(&elf);
	return err;
}
