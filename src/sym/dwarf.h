/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/sym: which source file the code at an address was compiled from, by DWARF. */
#ifndef KS_SYM_DWARF_H
#define KS_SYM_DWARF_H

#include "base/diag.h"
#include "base/intern.h"

struct ks_code_range {
	u64 lo, hi; /* hi is the first address behind */
	u32 path;   /* into paths */
	u64 unit;   /* where the compile unit's entry is */
};

/* The code of all compile units, by address. */
struct ks_code_map {
	struct ks_intern paths; /* relative to the top of the sources: "fs/ext4/inode.c" */
	KS_VEC(struct ks_code_range) ranges; /* sorted */
	void *dwarf;			     /* libdw's handle, open as long as the map; or NULL */
	int fd;
};

/* A file without DWARF gives an empty map. @variables: where these begin is in it too. */
int ks_code_map_load(struct ks_code_map *map, const char *path, bool variables,
		     struct ks_diag *diag);
void ks_code_map_deinit(struct ks_code_map *map);

/* NULL = in no compile unit. Of a variable only the first byte is known. */
const char *ks_code_map_find(const struct ks_code_map *map, u64 addr);

/*
 * The function whose code the compiler put at @addr instead of a call: of several, the innermost one
 * that is not from a header. "" = there is none. Strings belong to the map.
 */
const char *ks_code_map_inlined(const struct ks_code_map *map, u64 addr);

#endif
