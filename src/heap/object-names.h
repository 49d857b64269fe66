/* SPDX-License-Identifier: LGPL-2.1-only */
/* What a person calls an object: the path of a dentry or file, the addresses of a socket. Needs the kernel's memory. */
#ifndef KS_HEAP_OBJECT_NAMES_H
#define KS_HEAP_OBJECT_NAMES_H

#include "heap/btf-types.h"
#include "heap/kernel.h"

/* Writes the name of the object at @addr, which is of the type of this name; "" = it has none. Not escaped. */
void ks_heap_object_name(struct ks_kernel *kernel, struct ks_types *types, const char *type,
			 u64 addr, char *text, size_t size);

#endif
