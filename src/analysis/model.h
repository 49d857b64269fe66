/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The result of an analysis. Renderers see this and nothing else; once made it does not change. All
 * strings belong to the model.
 */
#ifndef KS_ANALYSIS_MODEL_H
#define KS_ANALYSIS_MODEL_H

#include "base/arena.h"
#include "base/vec.h"
#include "trace/event.h"
#include "trace/stat.h"
#include "trace/wall.h"

/* Slab objects and the pages behind them are two levels: never added together. */
enum ks_level { KS_SLAB, KS_PAGES, KS_LEVELS };

enum ks_by {
	KS_BY_SITE,
	KS_BY_FUNCTION,
	KS_BY_MODULE,
	KS_BY_CACHE,
	KS_BY_SIZE,
	KS_BY_PID,
	KS_BY_COMM,
	KS_BY_CGROUP,
	KS_BY_CPU,
	KS_BY_NODE,
	KS_BY_GFP,
	KS_BYS,
	/* Of profiles: a site and its stack; and the cache too. Sites where there are no stacks. */
	KS_BY_STACK = KS_BYS,
	KS_BY_SAMPLE,
	/* Of charts where there are no stacks: the name of the process, the cache, and the site. */
	KS_BY_OWNER,
};

const char *ks_by_name(enum ks_by by);
const char *ks_level_name(enum ks_level level);

/*
 * Why the numbers may differ from what the kernel did: every thing that was dropped, not understood,
 * or inferred has a counter here. They are of the whole capture, whatever the filter.
 */
enum ks_quality {
	KS_Q_LOST_EVENTS,    /* events that the capture says it lost */
	KS_Q_LOST_WINDOWS,   /* places where it lost some */
	KS_Q_OVERWRITTEN,    /* events overwritten in the ring before the log begins */
	KS_Q_UNPARSED,	     /* lines or records not understood */
	KS_Q_IMPOSSIBLE,     /* records that cannot be true: an object of 4 GiB and more */
	KS_Q_UNPAIRABLE,     /* events without an address to pair by */
	KS_Q_BACKWARDS,	     /* events with an earlier time than the one before */
	KS_Q_FAILED_ALLOCS,  /* allocations that returned NULL */
	KS_Q_NULL_FREES,     /* kfree(NULL), which is legal and common */
	KS_Q_FREES_BEFORE,   /* frees of objects that were allocated before the capture or unseen */
	KS_Q_IMPLIED_FREES,  /* objects that ended because their address was allocated again */
	KS_Q_SECOND_FREES,   /* frees of an address that was freed last, with no allocation seen */
	KS_Q_KFREE_OF_CACHE, /* kfree() of kmem_cache memory: legal since Linux 6.4 */
	KS_Q_CACHE_FREE_OF_KMALLOC, /* kmem_cache_free() of kmalloc memory: never legal */
	KS_Q_SHORT_ALLOCS,	    /* fewer bytes allocated than requested */
	KS_Q_SELF,		    /* events of the recorder's own objects, left out */
	KS_Q_STACKS_ALONE,	    /* stack traces whose event is not there */
	/* Of access maps. */
	KS_Q_NOT_ALLOCATED,  /* objects that no allocator made, left out */
	KS_Q_GUESSED,	     /* objects whose kind of allocation the map does not say */
	KS_Q_UNSEEN_FREES,   /* frees that were not seen, and have no site */
	KS_Q_TIMELESS_FREES, /* frees whose time can't be: taken to follow the allocation at once */
	KS_Q_ACCESSES,	     /* accesses and calls, which are no events */
	/* Of captures again. */
	KS_Q_PAGE_FREES, /* objects that ended because their page was given back or taken */
	/* Second frees and frees by the wrong function where objects end, and so begin, unseen. */
	KS_Q_REUSED,
	KS_Q_CENSUS_FREES,  /* objects that the census at the end of the recording does not have */
	KS_Q_BULK_MISSED,   /* objects that a probe's record of a bulk call has no room for */
	KS_Q_PROBES_MISSED, /* calls that the recorder's probes were too late for */
	KS_QUALITIES
};

/* The counter's name in JSON, and a phrase for people. */
const char *ks_quality_name(enum ks_quality q);
const char *ks_quality_text(enum ks_quality q);

/* Whether a counter means that events are missing from the capture (--strict). */
bool ks_quality_is_loss(enum ks_quality q);

/* Whether a counter is of access maps alone. It is shown only where it is not 0. */
static inline bool ks_quality_is_of_maps(enum ks_quality q)
{
	return q >= KS_Q_NOT_ALLOCATED && q <= KS_Q_ACCESSES;
}

/* How an object ended. */
enum ks_end {
	KS_END_LIVE,	/* it has not ended: it lives at the end of the capture or the window */
	KS_END_FREED,	/* an event showed its free */
	KS_END_IMPLIED, /* its address was allocated again, and the free was not seen */
	KS_END_PAGE,	/* its page was given back or taken, and the free was not seen */
	KS_END_CENSUS,	/* unseen, at some time before the census at the end of the recording */
	KS_ENDS
};

const char *ks_end_name(enum ks_end end);

/*
 * What is certain of a sum, where objects ended unseen or events were lost. What lives is at most what is shown,
 * unless events were lost, and at least this; the same goes for the peak.
 */
struct ks_bounds {
	bool open;			       /* there is an interval: the numbers are not exact */
	bool above;			       /* events were lost: there may be more, too */
	u64 live_objs, live_bytes, peak_bytes; /* at least */
};

/* One row: a call site, or another group of allocations. */
struct ks_group {
	const char *label;    /* "alloc_inode+0x4f", "dentry", "1234", ... */
	const char *func;     /* sites only, else ""; "" where not known */
	const char *module;   /* sites only; "" = the kernel itself */
	const char *path;     /* source file; "" where not known */
	const char *inlined;  /* sites only: the function that was inlined at the call, or "" */
	const char *text;     /* sites only: as the trace spells it; the last tie-breaker */
	u64 addr, offset;     /* sites only; 0 where not known */
	bool helper;	      /* sites only: allocates for its caller */
	const char **callers; /* by stack or sample: functions, innermost first */
	size_t callers_len;
	const char *cache; /* by sample and by owner: where the memory is from, else "" */
	const char *
		owner; /* by owner: the process, "" where the source names none at all; else NULL */
	struct ks_stat stat;
	struct ks_bounds bounds;
	/* By cache, where the kernel counted it at the end. */
	bool kernel_counted;
	u64 kernel_objects, kernel_bytes;
	const char *aliases; /* of caches that were merged into it, with commas; "" */
	bool reclaimable;
};

/* Misuse of the allocator: the kind of it and both sites. */
struct ks_finding {
	enum ks_quality what;	/* which of the counters this is a case of */
	const char *alloc_site; /* "" where not known */
	const char *free_site;
	u64 count;
	u64 first_ts;
	u64 ptr; /* of the first case */
};

/* What was allocated and freed, by one grouping. */
struct ks_sums {
	enum ks_by by;
	KS_VEC(struct ks_group) groups; /* of the model's level */
};

/* A cache as the kernel itself counted it, when the recording began and when it ended. */
struct ks_kernel_cache {
	const char *name;
	const char *aliases; /* of caches that were merged into it, with commas; "" */
	u32 object_size;     /* 0 = not known */
	bool reclaimable;
	u64 objects[2], bytes[2]; /* at the start, at the end */
};

/* Objects of one type in one cache, when the recording began. */
struct ks_kernel_type {
	const char *name, *cache;
	u64 objects, bytes;
};

struct ks_kernel_slabs {
	bool counted[2]; /* at the start, at the end */
	bool by_object;	 /* at the end: what it did not have has ended */
	u64 objects[2], bytes[2];
	KS_VEC(struct ks_kernel_cache) caches; /* most bytes at the end first */
	KS_VEC(struct ks_kernel_type)
	types; /* most bytes first; none where they were not recorded */
};

/*
 * Slab objects that were allocated during the capture without an event, as by kmem_cache_alloc_bulk(). Their frees show
 * them: a second free of an address without an allocation in between, and more frees than there were objects.
 */
struct ks_unseen_allocs {
	const char *cache; /* "" where the frees do not name it */
	u64 frees;	 /* of all that was not seen allocated, so also of what was there before */
	u64 least;	 /* at least this number was allocated unseen */
	bool counted[2]; /* whether the kernel counted the cache, at the start and at the end */
	u64 objects[2];
	u32 object_size; /* 0 = not known */
};

struct ks_leaks;
struct ks_frag;
struct ks_timeline;

/* One process alone, as if nothing else had allocated. */
struct ks_process {
	const char *comm;
	struct ks_leaks *leaks;
	struct ks_timeline *timeline;
};

/* Something that the source could not give. */
struct ks_absent {
	const char *what; /* "leaks", "the account by pid" */
	const char *why;  /* "the source gives no single objects" */
};

struct ks_model {
	struct ks_arena arena;
	enum ks_level level;

	/* Of the objects that passed the filter. */
	struct ks_stat levels[KS_LEVELS]; /* whatever the grouping */
	struct ks_bounds bounds;	  /* of the level */
	KS_VEC(struct ks_sums)
	accounts; /* one a grouping, in the order in which they were asked for */
	/* Of the views; NULL where a view was not asked for, or is absent. */
	struct ks_leaks *leaks;
	struct ks_frag *frag;
	struct ks_timeline *timeline; /* see analysis/timeline.h */
	KS_VEC(struct ks_process) processes;
	KS_VEC(struct ks_absent)
	absent; /* what was asked for and can't be known from this source */

	/* Of the whole capture. */
	const char *format;
	enum ks_clock clock;
	u32 page_shift;		   /* the size of a page, as a power of two */
	const char *kernel, *arch; /* of the machine that was traced; "" where not told */
	u32 cpus;		   /* of it; 0 where not told */
	u64 events_total;	   /* that the engine used */
	u64 events[KS_KINDS];
	u64 first_ts, last_ts; /* of them */
	struct ks_wall wall;   /* from these to the time of day */
	const char
		*only; /* which allocations were recorded, as options of the recorder; NULL = all */
	u64 sites;
	u64 caches, comms; /* 0 unless ks_analysis_count_names() asked for them */
	bool ptrs_hashed;
	bool filtered;	  /* not all objects count */
	bool window_ends; /* before the capture does: what the kernel had at its end says nothing */
	bool some_tasks;  /* frees that others do for these are not in it */
	bool pages_unplaced; /* pages without a stack trace: GFP flags stand for sites */
	u32 hooks; /* recorded though they raise no event: 2 kfree_rcu, 4 bulk frees, 8 bulk allocations */
	u64 lines, lines_comment, lines_other_event, lines_stack;
	u64 quality[KS_QUALITIES];
	u64 findings_dropped;		     /* kinds of misuse beyond the number that is kept */
	struct ks_kernel_slabs kernel_slabs; /* what the kernel itself had, if the capture says */
	KS_VEC(struct ks_unseen_allocs) unseen_allocs; /* of the whole capture; most first */
	KS_VEC(struct ks_finding) findings;
	KS_VEC(const char *) unparsed; /* the first lines not understood */
};

/* Where memory goes that nobody asked for, and what moves between CPUs: kmemtrace's questions. */
struct ks_frag_row {
	const char *label;
	u64 allocs, bytes_req, bytes_alloc;
	u64 frees;	   /* seen as events */
	u64 cross_cpu;	   /* of them, on another CPU than the allocation */
	u64 node_requests; /* allocations that asked for a node */
	u64 cross_node;	   /* of them, for another than that of their CPU */
};

struct ks_frag {
	struct ks_arena arena;
	KS_VEC(struct ks_frag_row) by_site, by_size; /* most fragmentation first */
	struct ks_frag_row total;
};

enum {
	KS_EVIDENCE_FULL = 1000,
	KS_EVIDENCE_LISTED = 100, /* less is no reason to name a site */
	KS_EVIDENCE_SLICES = 12,  /* of the capture's time */
};

/* What still lives at the end of what processes of one name allocated at a site. */
struct ks_leak {
	const char *label;
	u32 evidence; /* for a leak, of KS_EVIDENCE_FULL: see analysis/evidence.h */
	/* Where the objects that speak most for a leak are from: "filp", "kmalloc of 64 bytes", ... */
	const char *cache;
	const char *comm; /* "" where not known */
	const char
		*cgroup; /* of all its processes; "" where there are several, or it is not known */
	u32 pid;	 /* KS_PID_UNKNOWN: objects of several processes of that name live */
	u64 births[KS_EVIDENCE_SLICES]; /* how many of the objects are from each part of the time */
	u64 objects, bytes, bytes_req;
	/*
	 * What is certain, where events were lost or ends not seen: from least to most. Of objects that were lost
	 * there may be even more: above.
	 */
	bool unsure, above;
	u64 objects_least, objects_most, bytes_least, bytes_most;
	u64 oldest, youngest, age_sum; /* ages at the end of the capture, in units of its clock */
	u64 allocs, frees, implied_frees, page_frees,
		census_frees; /* by that name at the site, in all */
	const char **frames;  /* of the stack trace, innermost first */
	size_t frames_len;    /* 0: by site alone */
};

/* "likely", "possible" or "unlikely": what the evidence amounts to. */
const char *ks_leak_verdict(const struct ks_leak *leak);

struct ks_leaks {
	struct ks_arena arena;
	u64 min_age;
	/* Most evidence first, then most bytes. */
	KS_VEC(struct ks_leak) sites;
	KS_VEC(struct ks_leak) kept;	/* that the kernel keeps because it may: analysis/kept.h */
	KS_VEC(struct ks_leak) unseen;	/* whose objects mostly end without an event: not judged */
	u64 objects, bytes;		/* of sites and kept */
	u64 young_objects, young_bytes; /* left out: younger than min_age */
};

void ks_model_free(struct ks_model *model);

static inline const struct ks_stat *ks_model_total(const struct ks_model *model)
{
	return &model->levels[model->level];
}

/* The account by the first grouping that was asked for, which most reports show. */
static inline const struct ks_sums *ks_model_account(const struct ks_model *model)
{
	return &model->accounts.items[0];
}

/* The account by a grouping; NULL where it was not asked for. */
const struct ks_sums *ks_model_account_by(const struct ks_model *model, enum ks_by by);

/* How many groups of the first account have an allocation: "callers" in the account file. */
size_t ks_model_callers(const struct ks_model *model);

#endif
