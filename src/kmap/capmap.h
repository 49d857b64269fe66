/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What uSCOPE's reader of CAPMAPs accepts. It raises an error at a type, or at code that frees, which it does not know, and at
 * an access to an object that it has left out.
 */
#ifndef KS_KMAP_CAPMAP_H
#define KS_KMAP_CAPMAP_H

#include "kmap/object.h"

struct ks_capmap_object {
	struct ks_slice type;
	bool changed;			/* the type is another one than in the map ... */
	bool guessed;			/* ... or the map has none */
	bool left_out;			/* by the reader: its accesses must not be there */
	char alloc_ip[20], free_ip[20]; /* as they are to be written */
};

/* @slide is taken off addresses of code. */
void ks_capmap_object(const struct ks_kmap_object *object, u64 slide,
		      struct ks_capmap_object *ret_object);

#endif
