/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which code allocated an object, for those of which something says it. */
#ifndef KS_HEAP_SITES_H
#define KS_HEAP_SITES_H

#include "base/intern.h"
#include "base/map64.h"
#include "base/vec.h"

struct ks_heap_sites {
	struct ks_map64 addrs; /* of objects, numbered */
	KS_VEC(u32) names;     /* by that number: into texts */
	struct ks_intern texts;
};

int ks_heap_sites_init(struct ks_heap_sites *sites);
void ks_heap_sites_deinit(struct ks_heap_sites *sites);

/* The last that is said of an address counts. -ENOMEM, or 0. */
int ks_heap_sites_add(struct ks_heap_sites *sites, u64 addr, const char *site);

/* "" where nothing is known. */
const char *ks_heap_site(const struct ks_heap_sites *sites, u64 addr);

#endif
