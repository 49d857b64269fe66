/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What private_data of an open file is. Its type is void *, and the function that releases the file knows better: only files
 * of one kind have it.
 */
#ifndef KS_HEAP_FILE_TYPES_H
#define KS_HEAP_FILE_TYPES_H

#include "heap/btf-types.h"

struct ks_symtab;

/* The type behind private_data of files with these operations; 0: not known. */
u32 ks_file_type(struct ks_kernel *kernel, const struct ks_symtab *symbols, struct ks_types *types,
		 u64 operations);

#endif
