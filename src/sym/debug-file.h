/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/sym: a file with debug information, open. */
#ifndef KS_SYM_DEBUG_FILE_H
#define KS_SYM_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

#include "base/diag.h"
#include "base/vec.h"
#include "sym/debug-types.h"

struct ks_debug_symbol {
	const char *name;
	u64 addr;
};

struct btf;

struct ks_debug_types {
	struct btf *btf; /* the kernel's type information, and then nothing else; or NULL */
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *dwarf;
	Dwarf_Addr bias;
	unsigned int machine;			/* EM_* */
	KS_VEC(struct ks_debug_symbol) symbols; /* functions, by name */
};

/* Type information (BTF) as a file. What is damaged is KS_EBADINPUT. */
int ks_btf_open(const char *path, struct btf **ret_btf, struct ks_diag *diag);
void ks_btf_close(struct btf *btf);

/* As ks_debug_layout(). 0 or -ENOMEM. */
int ks_btf_layout(const struct btf *btf, const char *name, struct ks_debug_struct **ret_layout);

#endif
