// SPDX-License-Identifier: LGPL-2.1-only
/* From the numbers of local decoders to the names of a capture. */
#include "trace/rawlocal.h"

#include <errno.h>
#include <string.h>

/* === Internals ============================================================================ */

/* Appends items to->len and following of @from to @to, both arrays of one type. */
#define take_tail(to, from, from_len)                                            \
	({                                                                       \
		int tail_err_ = ks_vec_reserve((to), (from_len));                \
		if (!tail_err_ && (to)->len < (from_len)) {                      \
			memcpy((to)->items + (to)->len, (from) + (to)->len,      \
			       ((from_len) - (to)->len) * sizeof(*(to)->items)); \
			(to)->len = (from_len);                                  \
		}                                                                \
		tail_err_;                                                       \
	})

/* So many numbers exist by now; the new ones have no id yet. */
#define extend(ids, count)                                        \
	({                                                        \
		int extend_err_ = ks_vec_reserve((ids), (count)); \
		while (!extend_err_ && (ids)->len < (count))      \
			(ids)->items[(ids)->len++] = KS_NONE;     \
		extend_err_;                                      \
	})

/* === Public =============================================================================== */

void ks_rawnames_deinit(struct ks_rawnames *names)
{
	ks_vec_free(&names->sites);
	ks_vec_free(&names->caches);
	ks_vec_free(&names->gfps);
}

int ks_rawnames_publish(struct ks_rawnames *names, const struct ks_rawdec *from)
{
	const struct ks_names *local = from->names;

	if (take_tail(&names->sites, from->sites.keys.items, from->sites.keys.len) ||
	    take_tail(&names->caches, local->caches.strs.items, local->caches.strs.len) ||
	    take_tail(&names->gfps, local->gfps.strs.items, local->gfps.strs.len))
		return -ENOMEM;
	return 0;
}

void ks_rawmap_deinit(struct ks_rawmap *map)
{
	ks_rawnames_deinit(&map->names);
	ks_vec_free(&map->sites);
	ks_vec_free(&map->caches);
	ks_vec_free(&map->gfps);
}

int ks_rawmap_sync(struct ks_rawmap *map, const struct ks_rawnames *names)
{
	if (take_tail(&map->names.sites, names->sites.items, names->sites.len) ||
	    take_tail(&map->names.caches, names->caches.items, names->caches.len) ||
	    take_tail(&map->names.gfps, names->gfps.items, names->gfps.len) ||
	    extend(&map->sites, map->names.sites.len + 1) ||
	    extend(&map->caches, map->names.caches.len + 1) ||
	    extend(&map->gfps, map->names.gfps.len + 1))
		return -ENOMEM;
	return 0;
}

void ks_rawmap_learn(struct ks_rawmap *map, struct ks_rawdec *dec, const struct ks_event *ev)
{
	struct ks_raw_gfp gfp;
	struct ks_str cache;
	u32 *site = &map->sites.items[(u32)(ev->site + 1)];
	u32 *id = &map->caches.items[(u32)(ev->cache + 1)];
	u32 *flags = &map->gfps.items[(u32)(ev->gfp + 1)];

	if (ev->site != KS_NONE && *site == KS_NONE)
		*site = ks_rawdec_site(dec, map->names.sites.items[ev->site]);
	if (ev->cache != KS_NONE && *id == KS_NONE) {
		cache = map->names.caches.items[ev->cache];
		*id = ks_intern_add(&dec->names->caches, cache.s, cache.len);
		dec->nomem |= *id == KS_NONE;
	}
	if (ev->gfp != KS_NONE && *flags == KS_NONE) {
		memcpy(&gfp, map->names.gfps.items[ev->gfp].s, sizeof(gfp));
		*flags = ks_rawdec_gfp(dec, gfp.format, gfp.mask);
	}
}
