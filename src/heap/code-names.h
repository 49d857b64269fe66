/* SPDX-License-Identifier: LGPL-2.1-only */
/* What words that point into the kernel's image are: functions, and tables of functions. */
#ifndef KS_HEAP_CODE_NAMES_H
#define KS_HEAP_CODE_NAMES_H

#include "heap/kernel.h"

struct ks_symbol;
struct ks_symtab;

/* @kallsyms: NULL, or a file that can't be read: no names, and that is no error. */
struct ks_symtab *ks_code_names(const char *kallsyms);
void ks_code_names_free(struct ks_symtab *symbols);

/* The function that begins here, or NULL. */
const struct ks_symbol *ks_code_at(const struct ks_kernel *kernel, const struct ks_symtab *symbols,
				   u64 addr);

/* "ext4_release_file()", "table with ext4_release_file()"; "" = it is neither. */
void ks_code_name(struct ks_kernel *kernel, const struct ks_symtab *symbols, u64 word, char *text,
		  size_t size);

#endif
