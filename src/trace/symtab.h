/* SPDX-License-Identifier: LGPL-2.1-only */
/* The kernel's symbols as a capture carries them: the text of /proc/kallsyms or of a System.map. */
#ifndef KS_TRACE_SYMTAB_H
#define KS_TRACE_SYMTAB_H

#include "base/strbuf.h"
#include "base/vec.h"

struct ks_symbol {
	u64 addr;
	u32 name; /* offset in the text */
	u16 len;
	u16 module_len; /* 0 = the kernel itself; its name follows in the text */
	u32 module;
};

struct ks_symtab {
	char *text;
	KS_VEC(struct ks_symbol) syms; /* functions only, by address */
};

/* Takes over @text (from malloc), even on error. Lines that it does not understand are left out. */
int ks_symtab_parse(struct ks_symtab *tab, char *text, size_t len);
void ks_symtab_deinit(struct ks_symtab *tab);

/* Appends "func+0xoff/0xsize [module]", or the bare address where no symbol fits. */
void ks_symtab_print(const struct ks_symtab *tab, u64 addr, struct ks_strbuf *sb);

#endif
