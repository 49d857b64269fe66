/* SPDX-License-Identifier: LGPL-2.1-only */
/* The names of caches that the kernel has merged into one: /sys/kernel/slab has a link for each. */
#ifndef KS_HEAP_ALIASES_H
#define KS_HEAP_ALIASES_H

#include "heap/caches.h"

struct ks_alias {
	u32 cache;
	const char *name;
};

struct ks_aliases {
	KS_VEC(struct ks_alias) items; /* by cache, then by name */
	struct ks_arena arena;
};

/* None where the kernel shows no links, or where they can't be found in its memory. */
int ks_aliases_read(const struct ks_kernel *kernel, const struct ks_caches *caches,
		    struct ks_aliases **ret_aliases);
void ks_aliases_free(struct ks_aliases *aliases);

#endif
