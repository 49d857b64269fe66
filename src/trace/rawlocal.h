/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * From the numbers of a local decoder (ks_rawdec.shared) to the names of a capture. A worker publishes
 * what is new in its tables; the thread that hands out events gives each number its name when an
 * event first needs it. So names are numbered in the order of events, whoever decoded them.
 */
#ifndef KS_TRACE_RAWLOCAL_H
#define KS_TRACE_RAWLOCAL_H

#include "trace/rawdecode.h"

/* What stands behind the numbers. Strings are in the worker's arenas, which only grow. */
struct ks_rawnames {
	KS_VEC(u64) sites;
	KS_VEC(struct ks_str) caches;
	KS_VEC(struct ks_str) gfps; /* each a struct ks_raw_gfp */
};

void ks_rawnames_deinit(struct ks_rawnames *names);

/* Adds what @from has more. 0 or -ENOMEM. */
int ks_rawnames_publish(struct ks_rawnames *names, const struct ks_rawdec *from);

/*
 * By number + 1: the id in the capture's tables, KS_NONE until an event needs it. So the first is that of
 * KS_NONE, and always KS_NONE.
 */
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
	u32 site = map->sites.items[(u32)(ev->site + 1)];
	u32 cache = map->caches.items[(u32)(ev->cache + 1)];
	u32 gfp = map->gfps.items[(u32)(ev->gfp + 1)];

	if (unlikely((site == KS_NONE && ev->site != KS_NONE) ||
		     (cache == KS_NONE && ev->cache != KS_NONE) ||
		     (gfp == KS_NONE && ev->gfp != KS_NONE))) {
		ks_rawmap_learn(map, dec, ev);
		site = map->sites.items[(u32)(ev->site + 1)];
		cache = map->caches.items[(u32)(ev->cache + 1)];
		gfp = map->gfps.items[(u32)(ev->gfp + 1)];
	}
	ev->site = site;
	ev->cache = cache;
	ev->gfp = gfp;
	ev->comm = ks_rawdec_find_comm(dec, ev->pid);
}

#endif
