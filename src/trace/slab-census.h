/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What the kernel itself had of slabs when a recording began and when it ended: by cache and, at the end, where the
 * kernel's memory can be read, object by object. kmemscope-captures(5) has the layout in a file.
 */
#ifndef KS_TRACE_SLAB_CENSUS_H
#define KS_TRACE_SLAB_CENSUS_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/task-cgroups.h"

enum ks_census_how {
	KS_CENSUS_BY_SLABINFO =
		1,	     /* /proc/slabinfo: what waits in lists of CPUs counts as in use */
	KS_CENSUS_BY_MEMORY, /* the kernel's own structures, read by kmemscope */
	KS_CENSUS_HOWS,
};

enum ks_census_when { KS_CENSUS_START, KS_CENSUS_END, KS_CENSUS_WHENS };

/* Lines of /proc/meminfo, in bytes. */
enum ks_census_memory {
	KS_CENSUS_SLAB,
	KS_CENSUS_RECLAIMABLE,
	KS_CENSUS_UNRECLAIMABLE,
	KS_CENSUS_MEM_TOTAL,
	KS_CENSUS_MEM_AVAILABLE,
	KS_CENSUS_MEMORIES,
};

struct ks_slab_cache {
	const char *name;
	const char *aliases; /* of caches that were merged into it, with commas; may be "" */
	u32 object_size;     /* what its user asked for; 0 = not known */
	u32 stride;	     /* from one object to the next */
	u32 pad;	     /* in front of the first object of a slab */
	u32 pages;	     /* of a slab; 0 = it has none */
	bool reclaimable;
	u64 slabs;
	u64 objects, bytes; /* in use; bytes with padding and debugging */
	u64 waiting;	    /* free, in lists of CPUs and sheaves; 0 where not known */
};

/* Objects in use of one type in one cache. */
struct ks_slab_type {
	const char *name;
	u32 cache; /* number of the cache */
	u64 objects, bytes;
};

/* One slab, or one large kmalloc(), which is a slab of one object in no cache. */
struct ks_slab_place {
	u64 addr;    /* of its first page */
	u32 cache;   /* number of the cache, or KS_NONE: a large kmalloc() */
	u32 objects; /* 0: it changed while it was read, and nothing is known of it */
	u32 first;   /* bit of its first object */
	u32 pages;
};

struct ks_slab_census {
	enum ks_census_how how;
	bool has_objects; /* slabs and bits are there */
	bool has_large;	  /* with them large kmalloc(): all others have ended */
	u64 from, to;	  /* when it was read, by the clock of the capture */
	u64 wall_ns;	  /* at @from: nanoseconds since 1970 */
	u64 allocs_end;	  /* from here on only frees are recorded; 0 = allocations are, too */
	u64 memory[KS_CENSUS_MEMORIES];
	u32 page_shift;
	struct ks_task_cgroups *tasks; /* where they were up to then; NULL = not known */
	KS_VEC(struct ks_slab_cache) caches;
	KS_VEC(struct ks_slab_type) types;  /* of all objects in caches, or none */
	KS_VEC(struct ks_slab_place) slabs; /* by address */
	KS_VEC(u64) bits;		    /* one for each object: it is in use, or may be */
	u32 bits_len;			    /* in bits */
	struct ks_arena arena;		    /* of the names */
};

/* What a census says of the object at an address. */
enum ks_census_says {
	KS_CENSUS_SAYS_UNKNOWN, /* it does not say */
	KS_CENSUS_SAYS_NONE,	/* there is no slab, and no large kmalloc() if has_large */
	KS_CENSUS_SAYS_FREE,
	KS_CENSUS_SAYS_USED, /* or free in a slab whose lists changed while they were read */
};

struct ks_slab_census *ks_slab_census_new(void);
void ks_slab_census_free(struct ks_slab_census *census); /* accepts NULL */

/*
 * The object that begins at @addr. What was allocated before census->from, and not seen to end up to census->to, has
 * ended if it is not used. *ret_cache, which may be NULL: its cache, KS_NONE where there is none.
 */
enum ks_census_says ks_slab_census_at(const struct ks_slab_census *census, u64 addr,
				      u32 *ret_cache);

/* From when on only frees are recorded. @census may be NULL. */
static inline u64 ks_slab_census_allocs_end(const struct ks_slab_census *census)
{
	return census && census->allocs_end ? census->allocs_end : UINT64_MAX;
}

/* === For those who take one =============================================================== */

/* Adds a slab whose objects are all free so far. NULL when there is no memory, or too many objects. */
struct ks_slab_place *ks_slab_census_add(struct ks_slab_census *census, u64 addr, u32 cache,
					 u32 objects, u32 pages);
static inline void ks_slab_census_use(struct ks_slab_census *census,
				      const struct ks_slab_place *slab, u32 object)
{
	u32 bit = slab->first + object;

	census->bits.items[bit / 64] |= 1ull << bit % 64;
}

/* The content of a section. */
void ks_slab_census_pack(const struct ks_slab_census *census, enum ks_census_when when,
			 struct ks_strbuf *sb);

/* KS_EBADINPUT: not one of ours. */
int ks_slab_census_unpack(const void *data, size_t len, struct ks_slab_census **ret_census,
			  enum ks_census_when *ret_when, struct ks_diag *diag);

#endif
