// SPDX-License-Identifier: LGPL-2.1-only
/* The sections and symbols of one ELF file, by what they are for. */
#include "analysis/static-object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

static const char *const class_names[] = {
	[KS_SEC_TEXT] = "text",		  [KS_SEC_RODATA] = "rodata",
	[KS_SEC_DATA] = "data",		  [KS_SEC_BSS] = "bss",
	[KS_SEC_INIT] = "init",		  [KS_SEC_PERCPU] = "percpu",
	[KS_SEC_DISCARDED] = "discarded",
};
_Static_assert(ARRAY_SIZE(class_names) == KS_SECS, "a name for every class");

/* Prefixes of names; a name that is just the prefix counts too. */
static const char *const percpu_prefixes[] = { ".data..percpu", ".data.percpu" };
static const char *const discard_prefixes[] = { ".discard", ".eh_frame", ".export_symbol" };
static const char *const init_prefixes[] = { ".init", ".meminit", ".cpuinit", ".devinit",
					     ".con_initcall" };
/* Built in, these are freed with init; a module keeps them. */
static const char *const builtin_init_prefixes[] = {
	".exit",	".altinstructions",  ".altinstr_aux", ".altinstr_replacement",
	".apicdrivers", ".parainstructions", ".smp_locks",
};

/* Where a section's own name ends and the name of a function or variable may follow. */
static const char *const stems[] = {
	".text.unlikely", ".text.hot",	 ".text.startup", ".text.exit",	  ".text",
	".rodata.str1",	  ".rodata.cst", ".rodata",	  ".data.rel.ro", ".data",
	".bss",		  ".init.text",	 ".init.data",	  ".init.rodata", ".exit.text",
	".exit.data",	  "___ksymtab",	 "___kcrctab",
};

/* === Internals ============================================================================ */

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool has_prefix(const char *name, const char *const *prefixes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (begins_with(name, prefixes[i]))
			return true;
	return false;
}

static bool ends_with(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len >= n && !strcmp(s + len - n, suffix);
}

/* No section of a kernel is larger than this, not even one of zeroes. */
static bool is_credible(const struct ks_elf *elf, const GElf_Shdr *shdr)
{
	if (shdr->sh_type == SHT_NOBITS)
		return shdr->sh_size < 1ull << 40;
	return shdr->sh_offset <= elf->size && shdr->sh_size <= elf->size - shdr->sh_offset;
}

static int measure_sections(const struct ks_elf *elf, bool builtin, struct ks_arena *arena,
			    u8 *classes, struct ks_measured *m, struct ks_diag *diag)
{
	const char *name;
	GElf_Shdr shdr;
	size_t i;
	int err;

	for (i = 1; i < elf->sections; i++) {
		struct ks_measured_section *section;

		err = ks_elf_section(elf, i, &shdr, &name, diag);
		if (err)
			return err;
		if (!(shdr.sh_flags & SHF_ALLOC)) {
			classes[i] = KS_SECS;
			continue;
		}
		classes[i] = (u8)ks_section_class_of(name, shdr.sh_flags, shdr.sh_type, builtin);
		if (!shdr.sh_size)
			continue;
		if (!is_credible(elf, &shdr))
			return ks_diag_set(diag, KS_EBADINPUT,
					   "%s: damaged ELF file: section %s lies outside of it",
					   elf->path, name);
		m->size.bytes[classes[i]] += shdr.sh_size;
		section = ks_vec_push(&m->sections);
		if (!section)
			return -ENOMEM;
		section->name = ks_arena_strndup(arena, name, ks_section_stem_len(name));
		if (!section->name)
			return -ENOMEM;
		section->class = classes[i];
		section->bytes = shdr.sh_size;
	}
	return 0;
}

static int measure_symbols(const struct ks_elf *elf, struct ks_arena *arena, const u8 *classes,
			   struct ks_measured *m, struct ks_diag *diag)
{
	struct ks_elf_cursor cursor = { .elf = elf };
	struct ks_elf_sym sym;
	int got;

	while ((got = ks_elf_next_symbol(&cursor, &sym, diag)) > 0) {
		struct ks_measured_symbol *symbol;

		if ((sym.type != STT_FUNC && sym.type != STT_OBJECT) || !sym.size ||
		    sym.section >= elf->sections || classes[sym.section] >= KS_SEC_DISCARDED)
			continue;
		symbol = ks_vec_push(&m->symbols);
		if (!symbol)
			return -ENOMEM;
		symbol->name = ks_arena_strndup(arena, sym.name, strlen(sym.name));
		if (!symbol->name)
			return -ENOMEM;
		symbol->class = classes[sym.section];
		symbol->bytes = sym.size;
		symbol->is_function = sym.type == STT_FUNC;
	}
	return got;
}

static int measure(const struct ks_elf *elf, bool builtin, bool symbols, struct ks_arena *arena,
		   struct ks_measured *m, struct ks_diag *diag)
{
	u8 *classes = calloc(elf->sections + 1, 1);
	int err;

	if (!classes)
		return -ENOMEM;
	m->machine = elf->ehdr.e_machine;
	m->elf_class = elf->ehdr.e_ident[EI_CLASS];
	err = measure_sections(elf, builtin, arena, classes, m, diag);
	if (!err && symbols)
		err = measure_symbols(elf, arena, classes, m, diag);
	free(classes);
	return err;
}

/* === Public =============================================================================== */

const char *ks_section_class_name(enum ks_section_class class)
{
	return class < KS_SECS ? class_names[class] : "?";
}

enum ks_section_class ks_section_class_of(const char *name, u64 flags, u32 type, bool builtin)
{
	if (has_prefix(name, percpu_prefixes, ARRAY_SIZE(percpu_prefixes)))
		return KS_SEC_PERCPU;
	if (has_prefix(name, discard_prefixes, ARRAY_SIZE(discard_prefixes)))
		return KS_SEC_DISCARDED;
	if (has_prefix(name, init_prefixes, ARRAY_SIZE(init_prefixes)) || ends_with(name, ".init"))
		return KS_SEC_INIT;
	if (builtin && has_prefix(name, builtin_init_prefixes, ARRAY_SIZE(builtin_init_prefixes)))
		return KS_SEC_INIT;
	if (flags & SHF_EXECINSTR)
		return KS_SEC_TEXT;
	if (type == SHT_NOBITS)
		return KS_SEC_BSS;
	/* vmlinux has variables in .rodata that are read-only after boot, which makes it writable. */
	return flags & SHF_WRITE && !begins_with(name, ".rodata") ? KS_SEC_DATA : KS_SEC_RODATA;
}

size_t ks_section_stem_len(const char *name)
{
	size_t i;

	/* ".data..read_mostly": two dots mean that the name is the kernel's own. */
	if (strstr(name, ".."))
		return strlen(name);
	for (i = 0; i < ARRAY_SIZE(stems); i++) {
		size_t len = strlen(stems[i]);

		if (begins_with(name, stems[i]) &&
		    (!name[len] || name[len] == '.' || name[len] == '+'))
			return len;
	}
	return strlen(name);
}

int ks_measure_object(const char *path, bool builtin, bool symbols, struct ks_arena *arena,
		      struct ks_measured *ret)
{
	struct ks_diag diag = { 0 };
	struct ks_elf elf;
	int err = ks_elf_open(&elf, path, &diag);

	if (!err) {
		err = measure(&elf, builtin, symbols, arena, ret, &diag);
		ks_elf_close(&elf);
	}
	if (!err || err == -ENOMEM)
		return err;
	ks_vec_free(&ret->sections);
	ks_vec_free(&ret->symbols);
	ret->size = (struct ks_footprint){ 0 };
	ret->error = ks_arena_strndup(arena, diag.text, strlen(diag.text));
	return ret->error ? 0 : -ENOMEM;
}
