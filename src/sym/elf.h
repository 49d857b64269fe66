/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/sym and the static analysis: one ELF file, opened through libelf, read only. */
#ifndef KS_SYM_ELF_H
#define KS_SYM_ELF_H

#include <gelf.h>

#include "base/diag.h"

struct ks_elf {
	Elf *elf;
	int fd;
	const char *path; /* for messages; belongs to the caller */
	GElf_Ehdr ehdr;
	size_t sections;
	size_t names; /* the section of section names */
	u64 size;     /* of the file */
};

/* A symbol that is defined in the file. */
struct ks_elf_sym {
	const char *name;
	u64 value, size;
	u32 section; /* SHN_ABS and SHN_COMMON as they are */
	u8 type, bind;
};

/* Walks the symbol table: { .elf = e } is a fresh cursor. */
struct ks_elf_cursor {
	const struct ks_elf *elf;
	Elf_Data *data;
	size_t strings, at, count;
	bool found;
};

/* Whether the bytes begin like an ELF file. */
bool ks_elf_is_magic(const void *data, size_t len);

/* KS_EBADINPUT for what is no ELF file, or a damaged one; the message names the file. */
int ks_elf_open(struct ks_elf *elf, const char *path, struct ks_diag *diag);
void ks_elf_close(struct ks_elf *elf);

/* Section header and name of section @index; 0 or KS_EBADINPUT. */
int ks_elf_section(const struct ks_elf *elf, size_t index, GElf_Shdr *ret_shdr,
		   const char **ret_name, struct ks_diag *diag);

/*
 * The next symbol, undefined ones left out: 1, or 0 at the end, or KS_EBADINPUT. Names stay until
 * the file is closed.
 */
int ks_elf_next_symbol(struct ks_elf_cursor *cursor, struct ks_elf_sym *ret_sym,
		       struct ks_diag *diag);

#endif
