/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The functions, or the variables, of one image (the kernel, or one module) or of a running kernel: found by address
 * and by name. Filled once, then sorted and only read.
 */
#ifndef KS_SYM_SYMTAB_H
#define KS_SYM_SYMTAB_H

#include "base/diag.h"
#include "base/intern.h"

enum ks_symbol_flags {
	KS_SYMBOL_LOCAL = 1 << 0, /* static */
	KS_SYMBOL_WEAK = 1 << 1,
};

struct ks_symbol {
	u64 addr;
	u32 name;   /* into names */
	u32 size;   /* as the symbol table says; 0 = it does not */
	u32 unit;   /* into units: the STT_FILE group, KS_NONE for globals */
	u32 module; /* into modules; KS_NONE = the kernel itself */
	u32 next;   /* the next symbol of this name; KS_NONE = the last */
	u32 flags;
};

/* The local symbols of one compilation, in the order of linking. */
struct ks_compilation {
	u32 file; /* its STT_FILE name in files: "inode.c" */
};

struct ks_symtab {
	struct ks_intern names, modules, files;
	KS_VEC(struct ks_symbol) symbols; /* by address; aliases: the one to show comes first */
	KS_VEC(struct ks_compilation) units;
	KS_VEC(u32) first; /* by name: its first symbol, or KS_NONE */
	bool has_addresses;
	bool of_variables; /* and not of functions */
};

int ks_symtab_new(struct ks_symtab **ret_table);
void ks_symtab_free(struct ks_symtab *table);

/*
 * Loads System.map, kallsyms, or an ELF file (vmlinux, a .ko), whichever the content says.
 * KS_EBADINPUT for anything else, -EACCES for a kallsyms whose addresses are all hidden.
 */
int ks_symtab_load(const char *path, struct ks_symtab **ret_table, struct ks_diag *diag);

/* The same for its variables. A file without any is no error. */
int ks_symtab_load_variables(const char *path, struct ks_symtab **ret_table, struct ks_diag *diag);

/* For the loaders. @module "" = the kernel. Call ks_symtab_sort() at the end. */
int ks_symtab_add(struct ks_symtab *table, const char *name, size_t len, const char *module,
		  size_t module_len, const struct ks_symbol *symbol);
int ks_symtab_sort(struct ks_symtab *table);

/* The function that @addr lies in, or NULL. */
const struct ks_symbol *ks_symtab_find(const struct ks_symtab *table, u64 addr);

/* The first symbol of this full name (then follow ->next), or NULL. */
const struct ks_symbol *ks_symtab_by_name(const struct ks_symtab *table, const char *name);

/*
 * The distance to the next address that has a symbol: what the kernel prints after the slash of
 * "function+0x4f/0xb0". 0 = not known.
 */
u64 ks_symtab_extent(const struct ks_symtab *table, const struct ks_symbol *symbol);

static inline const struct ks_symbol *ks_symtab_next(const struct ks_symtab *table,
						     const struct ks_symbol *symbol)
{
	return symbol->next == KS_NONE ? NULL : &table->symbols.items[symbol->next];
}

static inline const char *ks_symtab_name(const struct ks_symtab *table,
					 const struct ks_symbol *symbol)
{
	return ks_intern_get(&table->names, symbol->name).s;
}

/* "" = the kernel itself. */
static inline const char *ks_symtab_module(const struct ks_symtab *table,
					   const struct ks_symbol *symbol)
{
	return ks_intern_get(&table->modules, symbol->module).s;
}

/*
 * The length of the symbol without what the compiler appends to clones: .constprop.0, .isra.0,
 * .part.1, .cold, .lto_priv.2, .llvm.123. The name before them is the function's own.
 */
size_t ks_symbol_base_len(const char *name);

/* Private: the two kinds of files. Each takes a table that is empty. */
int ks_symtab_load_text(struct ks_symtab *table, const char *path, struct ks_diag *diag);
int ks_symtab_load_elf(struct ks_symtab *table, const char *path, struct ks_diag *diag);

#endif
