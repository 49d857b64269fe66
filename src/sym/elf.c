// SPDX-License-Identifier: LGPL-2.1-only
/* One ELF file, opened through libelf, read only. */
#include "sym/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* === Internals ============================================================================ */

static int damaged(const struct ks_elf *elf, const char *what, struct ks_diag *diag)
{
	return ks_diag_set(diag, KS_EBADINPUT, "%s: damaged ELF file: %s", elf->path, what);
}

static int find_symtab(struct ks_elf_cursor *c, struct ks_diag *diag)
{
	GElf_Shdr shdr;
	size_t i;
	int err;

	c->found = true;
	for (i = 1; i < c->elf->sections; i++) {
		err = ks_elf_section(c->elf, i, &shdr, NULL, diag);
		if (err)
			return err;
		if (shdr.sh_type != SHT_SYMTAB)
			continue;
		c->data = elf_getdata(elf_getscn(c->elf->elf, i), NULL);
		if (!c->data || !c->data->d_buf || !shdr.sh_entsize)
			return damaged(c->elf, "its symbol table cannot be read", diag);
		c->strings = shdr.sh_link;
		c->count = (size_t)(c->data->d_size / shdr.sh_entsize);
		c->at = 1; /* the first entry is no symbol */
		return 0;
	}
	return 0;
}

/* === Public =============================================================================== */

bool ks_elf_is_magic(const void *data, size_t len)
{
	return len >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG);
}

int ks_elf_open(struct ks_elf *elf, const char *path, struct ks_diag *diag)
{
	struct stat st;
	int err;

	*elf = (struct ks_elf){ .path = path, .fd = -1 };
	elf_version(EV_CURRENT);
	elf->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (elf->fd < 0 || fstat(elf->fd, &st)) {
		err = ks_diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
		ks_elf_close(elf);
		return err;
	}
	elf->size = (u64)st.st_size;
	elf->elf = elf_begin(elf->fd, ELF_C_READ, NULL);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF)
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: is not an ELF file", path);
	else if (!gelf_getehdr(elf->elf, &elf->ehdr) || elf_getshdrnum(elf->elf, &elf->sections) ||
		 (elf->sections && elf_getshdrstrndx(elf->elf, &elf->names)))
		err = damaged(elf, "its headers cannot be read", diag);
	else if (elf->ehdr.e_shoff && !elf->sections) /* libelf takes it for a file without any */
		err = damaged(elf, "it ends before its section headers", diag);
	else
		return 0;
	ks_elf_close(elf);
	return err;
}

void ks_elf_close(struct ks_elf *elf)
{
	elf_end(elf->elf);
	if (elf->fd >= 0)
		close(elf->fd);
	elf->elf = NULL;
	elf->fd = -1;
}

int ks_elf_section(const struct ks_elf *elf, size_t index, GElf_Shdr *ret_shdr,
		   const char **ret_name, struct ks_diag *diag)
{
	Elf_Scn *scn = elf_getscn(elf->elf, index);
	GElf_Shdr shdr;
	const char *name = NULL;

	if (!scn || !gelf_getshdr(scn, &shdr))
		return damaged(elf, "a section header lies outside of it", diag);
	if (ret_name) {
		name = elf_strptr(elf->elf, elf->names, shdr.sh_name);
		if (!name)
			return damaged(elf, "a section has no name", diag);
		*ret_name = name;
	}
	*ret_shdr = shdr;
	return 0;
}

int ks_elf_next_symbol(struct ks_elf_cursor *c, struct ks_elf_sym *ret_sym, struct ks_diag *diag)
{
	GElf_Sym sym;
	const char *name;
	int err;

	if (!c->found) {
		err = find_symtab(c, diag);
		if (err)
			return err;
	}
	for (; c->at < c->count; c->at++) {
		if (!gelf_getsym(c->data, (int)c->at, &sym))
			return damaged(c->elf, "a symbol lies outside of its table", diag);
		if (sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(c->elf->elf, c->strings, sym.st_name);
		if (!name)
			return damaged(c->elf, "a symbol has no name", diag);
		c->at++;
		*ret_sym = (struct ks_elf_sym){
			.name = name,
			.value = sym.st_value,
			.size = sym.st_size,
			.section = sym.st_shndx,
			.type = GELF_ST_TYPE(sym.st_info),
			.bind = GELF_ST_BIND(sym.st_info),
		};
		return 1;
	}
	return 0;
}
