/* SPDX-License-Identifier: LGPL-2.1-only */
/* What an object is by its contents: a function that it points to, or a table of functions. */
#ifndef KS_HEAP_CONTENTS_H
#define KS_HEAP_CONTENTS_H

#include "heap/typing.h"

struct ks_symtab;

/* Gives a type to objects that have none yet. */
int ks_contents_type(struct ks_kernel *kernel, const struct ks_census *census,
		     const struct ks_slots *slots, const struct ks_symtab *symbols,
		     struct ks_typing *typing, struct ks_diag *diag);

#endif
