// SPDX-License-Identifier: LGPL-2.1-only
/* The struct that a call returns, by DWARF: from the variable that is in the register of the result. */
#include "sym/debug-types.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/debug-file.h"

/* === Data ================================================================================= */

/*
 * Behind a call the compiler may save the result elsewhere before the variable is said to have it: this many bytes of
 * code are looked at.
 */
#define NEAR_BYTES 24

static char *no_path = (char[]){ "" };

/* Files are not looked for elsewhere, and an object file has its sections one behind the other. */
static const Dwfl_Callbacks offline = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &no_path,
};

/* === Internals: files ===================================================================== */

static int add_symbols(struct ks_debug_types *types)
{
	int i, nr = dwfl_module_getsymtab(types->module);

	for (i = 1; i < nr; i++) {
		struct ks_debug_symbol *symbol;
		GElf_Addr addr;
		GElf_Sym sym;
		const char *name =
			dwfl_module_getsym_info(types->module, i, &sym, &addr, NULL, NULL, NULL);

		if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		symbol = ks_vec_push(&types->symbols);
		if (!symbol)
			return -ENOMEM;
		symbol->name = name;
		symbol->addr = addr;
	}
	return 0;
}

static int by_name(const void *pa, const void *pb)
{
	const struct ks_debug_symbol *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	return order ? order : a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Of namesakes none is known. */
static const struct ks_debug_symbol *find_symbol(const struct ks_debug_types *types,
						 const char *name)
{
	struct ks_debug_symbol key = { .name = name };
	size_t lo = 0, hi = types->symbols.len;
	const struct ks_debug_symbol *found;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (by_name(&types->symbols.items[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	found = types->symbols.items + lo;
	if (lo == types->symbols.len || strcmp(found->name, name))
		return NULL;
	return lo + 1 < types->symbols.len && !strcmp(found[1].name, name) ? NULL : found;
}

/* === Internals: types ===================================================================== */

/* The name of the struct that the type of @die points to; NULL = it is no such pointer. */
static const char *pointed_struct(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;
	int tag;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), &type) ||
	    dwarf_peel_type(&type, &type) || dwarf_tag(&type) != DW_TAG_pointer_type ||
	    !dwarf_formref_die(dwarf_attr(&type, DW_AT_type, &attr), &type) ||
	    dwarf_peel_type(&type, &type))
		return NULL;
	tag = dwarf_tag(&type);
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type ? dwarf_diename(&type)
									: NULL;
}

/*
 * The register in which functions return a pointer, by DWARF's numbers. 0 is rax on x86-64, x0 on arm64 and r0 on arm.
 */
static unsigned int result_register(const struct ks_debug_types *types)
{
	return types->machine == EM_S390 ? 2 : types->machine == EM_RISCV ? 10 : 0;
}

static bool is_register(const Dwarf_Op *ops, size_t len, unsigned int number)
{
	return len == 1 && ((ops->atom == DW_OP_reg0 + number) ||
			    (ops->atom == DW_OP_regx && ops->number == number));
}

/* How a variable fits as the one that a call's result is assigned to; the least is best. */
enum fit { FITS_AT_ONCE, FITS_SOON, FITS_NOT };

/*
 * The variable is in the register of the result from the call on; or it begins to be somewhere right behind it and
 * had no place before.
 */
static enum fit fit_of(const struct ks_debug_types *types, Dwarf_Die *variable, Dwarf_Addr pc)
{
	enum fit fit = FITS_NOT;
	Dwarf_Attribute attr;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	Dwarf_Op *ops;
	size_t len;

	if (!dwarf_attr_integrate(variable, DW_AT_location, &attr))
		return FITS_NOT;
	while ((at = dwarf_getlocations(&attr, at, &base, &start, &end, &ops, &len)) > 0) {
		if (start < pc && end > pc)
			return FITS_NOT;
		if (start == pc && is_register(ops, len, result_register(types)))
			fit = FITS_AT_ONCE;
		else if (start > pc && start <= pc + NEAR_BYTES && len == 1 && fit == FITS_NOT &&
			 ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
			fit = FITS_SOON;
	}
	return fit;
}

struct search {
	const struct ks_debug_types *types;
	Dwarf_Addr pc;
	enum fit fit;
	const char *found;
	/* What the innermost function around the call returns, and whether there is any. */
	const char *returned;
};

/* Variables of the blocks and inlined functions that have the call, or the code right behind it. */
static void search_scope(struct search *search, Dwarf_Die *scope)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
			enum fit fit = fit_of(search->types, &die, search->pc);
			const char *name = fit < search->fit ? pointed_struct(&die) : NULL;

			if (name) {
				search->fit = fit;
				search->found = name;
			}
		} else if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) {
			if (dwarf_haspc(&die, search->pc) <= 0 &&
			    dwarf_haspc(&die, search->pc - 1) <= 0)
				continue;
			search_scope(search, &die);
			if (tag == DW_TAG_inlined_subroutine && !search->returned &&
			    dwarf_haspc(&die, search->pc - 1) > 0)
				search->returned = pointed_struct(&die);
		}
	} while (!dwarf_siblingof(&die, &die));
}

/* The function at an address, in its unit. */
static bool find_function(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die *ret_function)
{
	if (dwarf_child(unit, ret_function))
		return false;
	do {
		if (dwarf_tag(ret_function) == DW_TAG_subprogram &&
		    dwarf_haspc(ret_function, pc) > 0)
			return true;
	} while (!dwarf_siblingof(ret_function, ret_function));
	return false;
}

/* A file that is nothing but type information, as /sys/kernel/btf has it, of either byte order. */
static bool is_btf(const char *path)
{
	FILE *file = fopen(path, "re");
	u8 head[2] = { 0 };
	size_t len = file ? fread(head, 1, sizeof(head), file) : 0;

	if (file)
		fclose(file);
	return len == 2 &&
	       ((head[0] == 0x9f && head[1] == 0xeb) || (head[0] == 0xeb && head[1] == 0x9f));
}

/* === Public =============================================================================== */

int ks_debug_types_open(const char *path, struct ks_debug_types **ret_types, struct ks_diag *diag)
{
	struct ks_debug_types *types = calloc(1, sizeof(*types));
	GElf_Addr bias;
	GElf_Ehdr header;
	Elf *elf;
	int err;

	if (!types)
		return ks_diag_nomem(diag, "reading debug information");
	if (access(path, R_OK)) {
		err = ks_diag_set(diag, -errno, "%s: %s", path, strerror(errno));
		goto failed;
	}
	if (is_btf(path)) {
		err = ks_btf_open(path, &types->btf, diag);
		if (err)
			goto failed;
		*ret_types = types;
		return 0;
	}
	types->dwfl = dwfl_begin(&offline);
	if (types->dwfl)
		types->module = dwfl_report_offline(types->dwfl, "", path, -1);
	if (!types->module) {
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: no ELF file", path);
		goto failed;
	}
	dwfl_report_end(types->dwfl, NULL, NULL);
	types->dwarf = dwfl_module_getdwarf(types->module, &types->bias);
	if (!types->dwarf) {
		err = -ENODATA;
		goto failed;
	}
	elf = dwfl_module_getelf(types->module, &bias);
	if (elf && gelf_getehdr(elf, &header))
		types->machine = header.e_machine;
	err = add_symbols(types);
	if (err) {
		err = ks_diag_nomem(diag, "reading debug information");
		goto failed;
	}
	if (types->symbols.len)
		qsort(types->symbols.items, types->symbols.len, sizeof(*types->symbols.items),
		      by_name);
	*ret_types = types;
	return 0;
failed:
	ks_debug_types_close(types);
	return err;
}

void ks_debug_types_close(struct ks_debug_types *types)
{
	if (!types)
		return;
	ks_vec_free(&types->symbols);
	ks_btf_close(types->btf);
	if (types->dwfl)
		dwfl_end(types->dwfl);
	free(types);
}

const char *ks_debug_result(struct ks_debug_types *types, const char *function, u64 offset,
			    bool *ret_assigned)
{
	const struct ks_debug_symbol *symbol = types->btf ? NULL : find_symbol(types, function);
	struct search search = { .types = types, .fit = FITS_NOT };
	Dwarf_Die *unit, die;
	Dwarf_Addr bias;

	if (!symbol)
		return NULL;
	unit = dwfl_module_addrdie(types->module, symbol->addr, &bias);
	search.pc = symbol->addr + offset - bias;
	if (!unit || !find_function(unit, search.pc - 1, &die))
		return NULL;
	search_scope(&search, &die);
	if (!search.found && !search.returned)
		search.returned = pointed_struct(&die);
	*ret_assigned = search.found;
	return search.found ? search.found : search.returned;
}
