/* SPDX-License-Identifier: LGPL-2.1-only */
/* The symbols of a kernel out of its own memory, as text in the form of /proc/kallsyms. */
#ifndef KS_HEAP_SYMBOLS_H
#define KS_HEAP_SYMBOLS_H

#include "base/strbuf.h"
#include "heap/memory.h"

/* A symbol that is looked for in such text. */
struct ks_wanted_symbol {
	const char *name;
	u64 addr; /* 0 = it is not there */
};

/* Appends the symbols of the kernel itself. Where its tables are, its vmcoreinfo says. */
int ks_symbols_of_kernel(struct ks_memory *memory, const char *vmcoreinfo, struct ks_strbuf *text,
			 struct ks_diag *diag);

/* Appends those of its modules; none where their structures are not known. @list: the head of their list. */
int ks_symbols_of_modules(struct ks_memory *memory, const struct btf *btf, u64 list,
			  struct ks_strbuf *text);

/* Finds symbols of the kernel in such a file. What can't be read has none. */
void ks_symbols_find(const char *path, struct ks_wanted_symbol *wanted, size_t count);

/* One of them; 0 = it is not there. */
u64 ks_symbol_address(const char *path, const char *name);

/*
 * Appends text to a file in memory, *@fd, which is made where it is -1; @facts then name it. Who wants symbols reads
 * them as those of a running kernel.
 */
int ks_symbols_keep(int *fd, const struct ks_strbuf *text, struct ks_memory_facts *facts,
		    struct ks_diag *diag);

/* Appends those of modules to that file. */
int ks_symbols_keep_modules(int *fd, struct ks_memory *memory, const struct btf *btf,
			    struct ks_diag *diag);

#endif
