/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Memory over time: one pass over a capture or a DB into time buckets, for the whole and for each group
 * of several groupings. A range of buckets can be added up again, exactly, by whoever shows it: counts
 * and bytes are sums of cells, what lives at an edge is the sum of all cells before it, and the peak of
 * a range is the greatest of its cells' peaks and of what lived where it begins.
 *
 * Buckets begin small and are merged in pairs whenever there are too many, so the length of the
 * capture need not be known before. Memory grows with groups, never with events: where buckets by groups
 * would be too many cells, there are fewer buckets.
 */
#ifndef KS_ANALYSIS_TIMELINE_H
#define KS_ANALYSIS_TIMELINE_H

#include "analysis/model.h"
#include "base/diag.h"

enum {
	KS_TL_MAX_BUCKETS = 240,  /* even */
	KS_TL_MAX_CELLS = 250000, /* of all tracks: where there are more, buckets are merged */
	KS_TL_SIZES = 24,	  /* classes of bytes allocated: up to 8, 16, 32, ... */
	KS_TL_LIVES = 24, /* classes of lifetime: below 1 us, 2.2, 4.6, 10, ...: 3 a decade */
	KS_TL_CPUS = 64,  /* the last stands for itself and all above */
};

/* An object that a free ends sooner than this is temporary. */
#define KS_TL_TEMPORARY_NS 1000000ull

/* The groupings of a timeline. Stacks, each of one site, are there where the capture has them. */
enum ks_tl_dim {
	KS_TL_SITE,
	KS_TL_CACHE,
	KS_TL_SIZE,
	KS_TL_COMM,
	KS_TL_CPU,
	KS_TL_STACK,
	KS_TL_DIMS,
	KS_TL_PID = KS_TL_DIMS, /* of links alone: there may be too many for tracks */
};

/* "site", "cache", ... */
const char *ks_tl_dim_name(enum ks_tl_dim dim);

/* What happened to the objects of one group in one bucket. */
struct ks_cell {
	u32 bucket;
	u32 allocs;    /* that succeeded */
	u32 unpaired;  /* of them, those that cannot be followed: they are never live */
	u32 frees;     /* that an event showed */
	u32 implied;   /* ends seen only because the address was allocated again */
	u32 paged;     /* ends seen only because the page was given back or taken */
	u32 censused;  /* ends seen only by the census at the end */
	u32 temporary; /* frees of objects younger than KS_TL_TEMPORARY_NS */
	u32 cross_cpu; /* frees on another CPU than the allocation */
	u32 kept;      /* objects that were allocated here and live at the end of the capture */
	u64 bytes, req;
	u64 ended_bytes, ended_req; /* of all ends, and of unpaired allocations */
	u64 temporary_bytes;
	u64 kept_bytes;
	u64 life_sum;	/* of the objects that a free ended here, in units of the clock */
	u64 peak_bytes; /* the most that lived at once, from the bucket's beginning on */
};

/* Adds up two cells; of the peaks it takes the greater. */
void ks_cell_add(struct ks_cell *to, const struct ks_cell *from);

/* One group over time. Buckets without a cell had no event; cells are in order. */
struct ks_track {
	const char *label;
	const char *func, *module, *path; /* sites only, else "" */
	const char **frames;		  /* stacks only: innermost first */
	size_t frames_len;
	u32 site; /* stacks only: the number of the site's track */
	KS_VEC(struct ks_cell) cells;
	u64 live_bytes;		       /* at the end */
	u64 at_peak_bytes;	       /* when the whole was at its peak */
	u64 kept;		       /* objects that live at the end */
	u64 oldest, youngest, age_sum; /* of these */
	u64 pages_held;		       /* sizes only: pages that hold what lives at the end */
};

struct ks_tracks {
	KS_VEC(struct ks_track) items;
};

/* A task; comm is the first name that it had. */
struct ks_tl_pid {
	u32 pid, comm_id;
	bool rest; /* all beyond the number that is kept */
	const char *comm;
};

/* How many allocations of a site belong to a group of another grouping, but for stacks. */
struct ks_tl_link {
	u32 site, group; /* numbers of tracks, or in pids */
	enum ks_tl_dim dim;
	u64 allocs, bytes;
	u64 live, live_bytes; /* at the end */
};

struct ks_tl_count {
	u64 objects, bytes;
};

/* Objects that a free ended in a bucket, by size and lifetime, and by both CPUs. */
struct ks_tl_ends {
	struct ks_tl_count by_life[KS_TL_SIZES][KS_TL_LIVES];
	u32 by_cpus[KS_TL_CPUS][KS_TL_CPUS]; /* [allocated on][freed on] */
};

struct ks_timeline {
	struct ks_arena arena;
	u64 first_ts; /* where bucket 0 begins */
	u64 width;    /* of a bucket */
	u32 buckets;  /* the last has the last event */
	bool has_time;
	u64 peak_bytes, peak_ts; /* the most that lived at once, and when */
	/*
	 * Bytes of objects that ended unseen, by the bucket that they were born in and the one that shows their end: they
	 * may have ended at any time between. See ks_timeline_least().
	 */
	u64 unseen_begun[KS_TL_MAX_BUCKETS], unseen_ended[KS_TL_MAX_BUCKETS];
	struct ks_track total;
	struct ks_tracks by[KS_TL_DIMS];
	KS_VEC(struct ks_tl_pid) pids;
	KS_VEC(struct ks_tl_link) links;
	struct ks_tl_ends *ends; /* by bucket */
};

/* The class of a size or a lifetime, and the upper edge of a class (exclusive for lifetimes). */
unsigned int ks_tl_size_class(u64 bytes);
unsigned int ks_tl_life_class(u64 ns);
u64 ks_tl_size_edge(unsigned int size_class);
u64 ks_tl_life_edge(unsigned int life_class);

/*
 * What certainly lived of @live bytes at the end of a bucket. @unsure carries over from bucket to bucket, and is 0
 * before the first.
 */
u64 ks_timeline_least(const struct ks_timeline *timeline, u32 bucket, u64 live, u64 *unsure);

/* Merges buckets in pairs: half as many, twice as wide. Returns how many cells are left. */
size_t ks_timeline_halve(struct ks_timeline *timeline);

/* A copy of its cells and counts, without labels and links; NULL when there is no memory. */
struct ks_timeline *ks_timeline_copy(const struct ks_timeline *timeline);

/* The most that lived at a time. */
u64 ks_track_peak(const struct ks_track *track);

void ks_timeline_free(struct ks_timeline *timeline);

#endif
