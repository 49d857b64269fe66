/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/sym: a file with debug information, open. */
#ifndef KS_SYM_DEBUG_FILE_H
#define KS_SYM_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

#include "base/vec.h"

struct ks_debug_symbol {
	const char *name;
	u64 addr;
};

struct ks_debug_types {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *dwarf;
	Dwarf_Addr bias;
	unsigned int machine;			/* EM_* */
	KS_VEC(struct ks_debug_symbol) symbols; /* functions, by name */
};

#endif
