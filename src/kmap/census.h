/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * An access map added up as its objects pass: by site, and by which code touched which site. Memory
 * grows with these, never with objects.
 */
#ifndef KS_KMAP_CENSUS_H
#define KS_KMAP_CENSUS_H

#include "base/intern.h"
#include "base/map64.h"
#include "base/u128.h"
#include "kmap/life.h"
#include "kmap/reader.h"
#include "kmap/spots.h"
#include "kmap/spread.h"

/*
 * Bytes never read, written or touched are those of whole objects that never were; and where the map
 * says how many bytes the accesses to an object moved, also those that exceed this number. So the
 * true numbers are no less.
 */
struct ks_kmap_stat {
	u64 objects, bytes; /* as they were asked for */
	u64 slot_bytes,
		waste;	/* that the allocator gave, where the map says so; beyond the request */
	u64 user_bytes; /* of pages that are or may be user space's: never cold */
	u64 live_objects, live_bytes;
	u64 implied;			/* ended without their free being seen */
	u64 ended;			/* that have a lifetime */
	u64 lifetime_min, lifetime_max; /* of those */
	struct ks_u128 lifetime_sum;
	u64 reads, writes;
	u64 bytes_read, bytes_written;	   /* moved by these, where the map says so */
	u64 foreign;			   /* accesses by another task than the allocating one */
	u64 irq;			   /* accesses in interrupts */
	u64 cold_objects, cold_bytes;	   /* neither read nor written */
	u64 unread_bytes, unwritten_bytes; /* never read; never written; both count cold ones */
	u64 write_only_bytes;		   /* of objects that were written, never read */
	u64 read_once_objects, read_once_bytes;
	/*
	 * Bytes times time: of ended objects; and for live ones, whose end is the end of the map,
	 * bytes times the time at which they began.
	 */
	struct ks_u128 area, live_begin;
};

/* Objects of one allocation site, type and cache; or of one variable, whose address is the ip. */
struct ks_kmap_site {
	u64 ip;
	u32 type, cache; /* numbers in the tables of the census */
	u64 largest;	 /* of its objects */
	struct ks_kmap_stat stat;
	struct ks_kmap_life life;
};

/* What one instruction did to the objects of one site. */
struct ks_kmap_edge {
	u32 site, code; /* code: number in the table of instructions */
	u64 reads, writes, bytes_read, bytes_written;
	u64 foreign, irq, frees; /* foreign, irq: of its reads and writes */
	u64 objects;		 /* that it read or wrote */
	u64 last_object;	 /* the latest of them, by its place in the map, from 1 */
};

struct ks_kmap_calls {
	u32 from, to; /* numbers in the table of instructions */
	u64 count;
	u64 returns; /* as many as calls, where the map does not say */
};

#define KS_KMAP_HOTTEST	  32
#define KS_KMAP_SITE_MEMO 2048
#define KS_KMAP_EDGE_MEMO 16384

struct ks_kmap_hot {
	u64 addr, size, alloc_time, reads, writes;
	u32 site, comm;
	s32 pid;
};

struct ks_kmap_census {
	struct ks_map64 codes;		       /* instructions */
	struct ks_map64 variables;	       /* addresses of sites that are variables */
	struct ks_intern types, caches, comms; /* comms of the hottest alone */
	KS_VEC(struct ks_kmap_site) sites;
	KS_VEC(struct ks_kmap_edge) edges;
	KS_VEC(struct ks_kmap_calls) calls;
	struct ks_kmap_hot hot[KS_KMAP_HOTTEST]; /* most accesses first */
	size_t nr_hot;
	u64 first_time, last_time; /* of any object's begin or end */
	u64 nr_accesses;	   /* lines or records of them */
	struct ks_kmap_quality quality;
	struct ks_kmap_info info;
	bool slab_pages; /* to be added up like all others; else: */
	u64 slab_page_objects, slab_page_bytes, slab_page_accesses;
	bool has_spots, has_spread;
	struct ks_kmap_spots spots;   /* only with has_spots */
	struct ks_kmap_spread spread; /* only with has_spread */

	/* How the above are found while reading. */
	struct ks_map64 site_index, edge_index, call_index, name_index;
	u64 nr_objects;
	/* Numbers + 1 of sites and edges seen recently; compared first, since the indices cost more. */
	u32 site_memo[KS_KMAP_SITE_MEMO], edge_memo[KS_KMAP_EDGE_MEMO];
	u64 hot_floor; /* accesses that an object needs to be among the hottest */
};

/* What a census has beyond what is always there. */
enum ks_kmap_census_flags {
	KS_KMAP_WITH_SPOTS = 1 << 0,	  /* the offsets of accesses */
	KS_KMAP_WITH_SLAB_PAGES = 1 << 1, /* the pages of slabs, beside the objects in them */
	KS_KMAP_WITH_SPREAD = 1 << 2,	  /* distributions, and who shares what */
};

int ks_kmap_census_new(unsigned int flags, struct ks_kmap_census **ret_census,
		       struct ks_diag *diag);
void ks_kmap_census_free(struct ks_kmap_census *census);

/* Adds what ks_kmap_next() gave. */
int ks_kmap_census_take(struct ks_kmap_census *census, enum ks_kmap_item item,
			const struct ks_kmap_object *object, const struct ks_kmap_call *call,
			struct ks_diag *diag);

/* Notes, at the end, what the reader knows of the map. */
void ks_kmap_census_finish(struct ks_kmap_census *census, const struct ks_kmap_reader *reader);

/* All of a reader. @progress may be NULL; it returns non-zero to stop with -EINTR. */
int ks_kmap_census_read(struct ks_kmap_reader *reader, unsigned int flags,
			int (*progress)(void *ctx), void *ctx, struct ks_kmap_census **ret_census,
			struct ks_diag *diag);

/* Time-weighted mean of the live bytes over the span of the map. */
u64 ks_kmap_mean_bytes(const struct ks_kmap_census *census, const struct ks_kmap_stat *stat);

/*
 * Mean of the live bytes over the time in which any object of the site lives: what code that reaches them can
 * reach. The largest object, where that is no time.
 */
double ks_kmap_weight(const struct ks_kmap_census *census, const struct ks_kmap_site *site);

/* Adds one to the other, which may be zeroed. */
void ks_kmap_stat_add(struct ks_kmap_stat *to, const struct ks_kmap_stat *from);

#endif
