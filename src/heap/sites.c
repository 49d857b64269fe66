// SPDX-License-Identifier: LGPL-2.1-only
/* Sites by address of the object. */
#include "heap/sites.h"

#include <errno.h>
#include <string.h>

/* === Public =============================================================================== */

int ks_heap_sites_init(struct ks_heap_sites *sites)
{
	*sites = (struct ks_heap_sites){ 0 };
	return ks_map64_init(&sites->addrs) || ks_intern_init(&sites->texts) ? -ENOMEM : 0;
}

void ks_heap_sites_deinit(struct ks_heap_sites *sites)
{
	ks_map64_deinit(&sites->addrs);
	ks_vec_free(&sites->names);
	ks_intern_deinit(&sites->texts);
}

int ks_heap_sites_add(struct ks_heap_sites *sites, u64 addr, const char *site)
{
	u32 text = ks_intern_add(&sites->texts, site, strlen(site)), number;

	if (text == KS_NONE)
		return -ENOMEM;
	number = ks_map64_add(&sites->addrs, addr);
	if (number == KS_NONE || (number == sites->names.len && !ks_vec_push(&sites->names)))
		return -ENOMEM;
	sites->names.items[number] = text;
	return 0;
}

const char *ks_heap_site(const struct ks_heap_sites *sites, u64 addr)
{
	u32 number = ks_map64_find(&sites->addrs, addr);

	return number == KS_NONE ? "" : ks_intern_get(&sites->texts, sites->names.items[number]).s;
}
