/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the static analysis: the sections and symbols of one ELF file. */
#ifndef KS_ANALYSIS_STATIC_OBJECT_H
#define KS_ANALYSIS_STATIC_OBJECT_H

#include "analysis/static-model.h"
#include "base/arena.h"
#include "sym/elf.h"

struct ks_measured_section {
	const char *name;
	enum ks_section_class class;
	u64 bytes;
};

struct ks_measured_symbol {
	const char *name;
	enum ks_section_class class;
	u64 bytes;
	bool is_function;
};

/* One object file as it was read by one worker. Strings are in that worker's arena. */
struct ks_measured {
	struct ks_footprint size;
	u16 machine;
	u8 elf_class;
	char *error; /* NULL = none */
	KS_VEC(struct ks_measured_section) sections;
	KS_VEC(struct ks_measured_symbol) symbols;
};

/*
 * The class of a section by its flags, and for init, per-CPU and discarded ones by the names that the
 * kernel's linker scripts go by. @builtin: .exit sections go with init, in a module they stay.
 */
enum ks_section_class ks_section_class_of(const char *name, u64 flags, u32 type, bool builtin);

/* The name without what -ffunction-sections adds: ".text.foo" is ".text". Length of it. */
size_t ks_section_stem_len(const char *name);

/* Reads one file. Errors are in ret->error; -ENOMEM is the only return but 0. */
int ks_measure_object(const char *path, bool builtin, bool symbols, struct ks_arena *arena,
		      struct ks_measured *ret);

#endif
