// SPDX-License-Identifier: LGPL-2.1-only
/* Pages that slabs are made of: the memory of objects that are in the map themselves. */
#include "kmap/slab-pages.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"

/* === Internals ============================================================================ */

static bool is_slab(const struct ks_kmap_site *site)
{
	return (site->type == KS_KMAP_KMALLOC || site->type == KS_KMAP_KMEM_CACHE) &&
	       ks_kmap_is_code(site->ip);
}

/* By number of the code: whether a call there returned an object of a slab. */
static bool *slab_callers(const struct ks_kmap_census *census)
{
	bool *callers = calloc(census->codes.keys.len + 1, sizeof(*callers));
	size_t i;

	for (i = 0; callers && i < census->sites.len; i++)
		if (is_slab(&census->sites.items[i]))
			callers[ks_map64_find(&census->codes, census->sites.items[i].ip)] = true;
	return callers;
}

static void leave_out(struct ks_kmap_census *census, struct ks_kmap_site *site)
{
	struct ks_kmap_stat *stat = &site->stat;

	census->slab_page_objects += stat->objects;
	census->slab_page_bytes = ks_add_sat(census->slab_page_bytes, stat->bytes);
	census->slab_page_accesses =
		ks_add_sat(census->slab_page_accesses, ks_add_sat(stat->reads, stat->writes));
	*stat = (struct ks_kmap_stat){ 0 };
	site->largest = 0;
	ks_kmap_life_free(&site->life);
	site->life = (struct ks_kmap_life){ 0 };
}

static bool is_left_out(const struct ks_kmap_census *census, u32 site)
{
	return !census->sites.items[site].stat.objects;
}

/* What else knows sites by their numbers. */
static void forget(struct ks_kmap_census *census)
{
	size_t i, n = 0;

	for (i = 0; i < census->edges.len; i++)
		if (!is_left_out(census, census->edges.items[i].site))
			census->edges.items[n++] = census->edges.items[i];
	census->edges.len = n;
	for (i = n = 0; i < census->nr_hot; i++)
		if (!is_left_out(census, census->hot[i].site))
			census->hot[n++] = census->hot[i];
	census->nr_hot = n;
	for (i = 0; census->has_spread && i < census->spread.bins.len; i++)
		if (is_left_out(census, census->spread.bins.items[i].site))
			census->spread.bins.items[i].objects = 0;
	for (i = 0; census->has_spread && i < census->spread.sites.len; i++)
		if (is_left_out(census, (u32)i))
			census->spread.sites.items[i] = (struct ks_kmap_shared){ 0 };
}

/* === Public =============================================================================== */

int ks_kmap_leave_out_slab_pages(struct ks_kmap_census *census)
{
	bool *callers = slab_callers(census), any = false;
	size_t i;

	if (!callers)
		return -ENOMEM;
	for (i = 0; i < census->sites.len; i++) {
		struct ks_kmap_site *site = &census->sites.items[i];

		if (site->type != KS_KMAP_ALLOC_PAGES || !ks_kmap_is_code(site->ip) ||
		    !callers[ks_map64_find(&census->codes, site->ip)])
			continue;
		leave_out(census, site);
		any = true;
	}
	if (any)
		forget(census);
	free(callers);
	return 0;
}
