/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * From the numbers of a local decoder (ks_rawdec.shared) to the names of a capture. A worker publishes
 * what is new in its tables; the thread that hands out events gives each number its name when an
 * event first needs it. So names are numbered in the order of events, whoever decoded them.
 */
#ifndef KS_TRACE_RAWLOCAL_H
#define KS_TRACE_RAWLOCAL_H

#include "trace/rawevent.h"

/* What stands behind the numbers. Strings are in the worker's arenas, which only grow. */
struct ks_rawnames {
	KS_VEC(u64) sites;
	KS_VEC(struct ks_str) caches;
	KS_VEC(struct ks_str) gfps; /* each a struct ks_raw_gfp */
};

void ks_rawnames_deinit(struct ks_rawnames *names);

/* Adds what @from has more. 0 or -ENOMEM. */
int ks_rawnames_publish(struct ks_rawnames *names, const struct ks_rawdec *from);

/* By number: the id in the capture's tables, KS_NONE until an event needs it. */
struct ks_rawmap {
	struct ks_rawnames names;
	KS_VEC(u32) sites;
	KS_VEC(u32) caches;
	KS_VEC(u32) gfps;
};

void ks_rawmap_deinit(struct ks_rawmap *map);

/* Takes over what is new in @names. 0 or -ENOMEM. */
int ks_rawmap_sync(struct ks_rawmap *map, const struct ks_rawnames *names);

/* The rare case behind ks_rawmap_event(): some name is needed for the first time. */
void ks_rawmap_learn(struct ks_rawmap *map, struct ks_rawdec *dec, const struct ks_event *ev);

/* Gives the event its names. Lack of memory is kept in @dec->nomem. */
static inline void ks_rawmap_event(struct ks_rawmap *map, struct ks_rawdec *dec,
				   struct ks_event *ev)
{
	u32 site = ev->site, cache = ev->cache, gfp = ev->gfp;
	bool unknown = (site != KS_NONE && map->sites.items[site] == KS_NONE) ||
		       (cache != KS_NONE && map->caches.items[cache] == KS_NONE) ||
		       (gfp != KS_NONE && map->gfps.items[gfp] == KS_NONE);

	if (unlikely(unknown))
		ks_rawmap_learn(map, dec, ev);
	ev->site = site == KS_NONE ? KS_NONE : map->sites.items[site];
	ev->cache = cache == KS_NONE ? KS_NONE : map->caches.items[cache];
	ev->gfp = gfp == KS_NONE ? KS_NONE : map->gfps.items[gfp];
	ev->comm = ks_rawdec_comm(dec, ev->pid);
}

#endif
