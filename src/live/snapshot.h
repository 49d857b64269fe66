/* SPDX-License-Identifier: LGPL-2.1-only */
/* What one look at the running kernel's memory found. */
#ifndef KS_LIVE_SNAPSHOT_H
#define KS_LIVE_SNAPSHOT_H

#include "base/intern.h"
#include "base/map64.h"
#include "table/doc.h"

enum ks_live_level {
	KS_LIVE_CENSUS,	 /* objects are counted where they lie: no probe */
	KS_LIVE_GROWTH,	 /* and the stack of each new slab is noted */
	KS_LIVE_SAMPLED, /* and that of some allocations, drawn by bytes */
	KS_LIVE_EXACT,	 /* and all allocations and frees are added up */
	KS_LIVE_LEVELS,
};

enum ks_live_by {
	KS_LIVE_BY_CACHE,
	KS_LIVE_BY_TYPE,
	KS_LIVE_BY_SITE,
	KS_LIVE_BY_STACK,
	KS_LIVE_BY_PROCESS, /* who allocated: "comm[pid]" */
	KS_LIVE_BY_CGROUP,  /* who pays, or in which it was allocated */
	KS_LIVE_BYS,
};

/* "census", "growth", ...; "cache", "type", ... */
const char *ks_live_level_name(unsigned int level);
const char *ks_live_by_name(unsigned int by);

/*
 * Objects are counted in several ways that can't be added to each other: each way has a part of the snapshot, which
 * tells them apart by some of the keys.
 */
enum ks_live_part {
	KS_LIVE_CACHES,	 /* all objects, by cache */
	KS_LIVE_TYPES,	 /* all objects, by type and cache */
	KS_LIVE_CGROUPS, /* all objects, by cgroup and cache */
	KS_LIVE_TRACED, /* what a level above the census has seen being allocated, and still lives */
	KS_LIVE_PARTS,
};

struct ks_live_part_info {
	bool present;
	unsigned int tells; /* bits 1 << enum ks_live_by */
	u64 at_ns;	    /* when it was counted: CLOCK_BOOTTIME */
	u64 since_ns;	    /* only what was allocated later is in it; 0 = everything */
	bool exact; /* by cache: else these are the kernel's counters, corrected by the last exact count */
	bool counted; /* there was an exact count, now or before */
};

/* What is alike in all keys. */
struct ks_live_cell {
	u32 key[KS_LIVE_BYS]; /* into names; KS_NONE = it is not told */
	enum ks_live_part part;
	bool reclaimable; /* by cache: the kernel can take it back on demand */
	u64 objects, bytes;
	u64 slab_bytes;	 /* by cache: what it takes of memory */
	double weight;	 /* of samples: objects that they stand for, while they are added up */
	double variance; /* of the bytes; 0 = they are exact */
	u64 births_ms;	 /* the times at which its objects were made, added up; 0 = not known */
	u64 example;	 /* exact: the address of one of its objects; 0 = not known */
	u64 base_objects, base_bytes; /* at the baseline */
	u64 marks[2];		      /* bytes at the marks that rates are from */
};

/* All of memory, as the kernel says: in bytes. */
struct ks_live_memory {
	u64 total, free, available;
	u64 slab, reclaimable, unreclaimable;
	u64 page_tables, stacks, vmalloc, percpu, anon, file;
};

/* What it cost, and what is missing. All since the level was taken. */
struct ks_live_quality {
	u64 cpu_ns;	   /* of this program */
	u64 census_ns;	   /* of it: the last exact count */
	u64 types_ns;	   /* and the last of types */
	u64 memory;	   /* resident in this program, and of the kernel for it, in bytes */
	u64 kernel_memory; /* the latter alone */
	u64 torn;	   /* slabs that changed while they were counted */
	u64 events;	   /* that the probes were called for */
	u64 stacks;	   /* that they took */
	u64 no_room;	   /* objects that were not followed: tables were full */
	u64 no_stack;	   /* objects without a stack: it could not be taken */
	u64 recursion;	   /* events that came while a probe ran, and were not seen */
	u64 unknown_frees; /* of objects that were not followed */
	u64 reconciled;	   /* objects without a free event that an exact count showed to be gone */
	u64 reconciled_bytes;
};

struct ks_live_stack {
	u32 first, len; /* in frames; the allocator's own functions are left out */
};

/* What is at an address that somebody asked for. */
struct ks_live_typed {
	u64 addr;
	const char *type; /* "" = not known */
};

struct ks_live_snapshot {
	enum ks_live_level level;
	u64 at_ns;   /* CLOCK_BOOTTIME */
	u64 wall_ns; /* CLOCK_REALTIME */
	u64 base_ns; /* the baseline */
	struct ks_live_memory memory, base_memory;
	struct ks_live_quality quality;
	struct ks_live_part_info parts[KS_LIVE_PARTS];
	KS_VEC(struct ks_live_cell) cells;
	KS_VEC(struct ks_live_typed) typed; /* see ks_live_want_type() */
	KS_VEC(const char *) unseen;	    /* what this level can't see here, in words */

	struct ks_intern names[KS_LIVE_BYS]; /* not escaped */
	KS_VEC(u64) frames;		     /* addresses */
	KS_VEC(struct ks_live_stack) stacks; /* by number of the name of a stack */

	/* The rest is for src/live alone. */
	u64 marks_ns[KS_LIVE_PARTS][2];
	struct ks_map64 index; /* what cells are of, as a hash: their numbers */
	u64 seed;
	unsigned int users;
};

/* It does not change once it is made, and may be used and put back by any thread. */
struct ks_live_snapshot *ks_live_snapshot_get(struct ks_live_snapshot *snapshot);
void ks_live_snapshot_put(struct ks_live_snapshot *snapshot); /* accepts NULL */

/* === Rows ================================================================================= */

/* What rows are of: names of keys, each NULL where it does not matter. */
struct ks_live_within {
	const char *name[KS_LIVE_BYS];
};

struct ks_live_row {
	const char *name;  /* of the snapshot; "" = not known */
	const char *cache; /* where all of it is in one cache; else NULL */
	u32 key;	   /* its number among the names */
	bool reclaimable;
	u64 objects, bytes, slab_bytes;
	s64 objects_change, bytes_change; /* since the baseline */
	double rate;			  /* bytes a second; NaN = not yet known */
	double error;			  /* standard error of the bytes; 0 = they are exact */
	u64 age_ns;			  /* of its objects, the mean; UINT64_MAX = not known */
};

struct ks_live_rows {
	enum ks_live_part part;		  /* that they are from */
	bool present;			  /* else this level can't tell, or not yet */
	KS_VEC(struct ks_live_row) items; /* the most bytes first */
};

/* 0 or -ENOMEM. Names stay as long as the snapshot. @within may be NULL. */
int ks_live_rows(const struct ks_live_snapshot *snapshot, enum ks_live_by by,
		 const struct ks_live_within *within, struct ks_live_rows *ret_rows);
void ks_live_rows_free(struct ks_live_rows *rows);

/* The same and all that is beside it as a document, "kmemscope-live-1". NULL: no memory. */
struct ks_doc *ks_live_doc(const struct ks_live_snapshot *snapshot, enum ks_live_by by,
			   const struct ks_live_within *within, u64 top);

/* What was missed and what it cost, and what can't be seen, as a part of any document. */
void ks_live_doc_quality(struct ks_doc *doc, const struct ks_live_snapshot *snapshot);

#endif
