/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Where memory events come from: a capture, a DB file, a map, something live. One interface over all
 * of them. A source says what it can give; an analysis (analysis/analysis.h) takes what its views need
 * and says what it could not have. source/open.h opens one. One thread at a time per source; a source
 * may use threads of its own.
 */
#ifndef KS_TRACE_SOURCE_H
#define KS_TRACE_SOURCE_H

#include <errno.h>

#include "base/diag.h"
#include "base/strbuf.h"
#include "trace/event.h"
#include "trace/helper-caller.h"
#include "trace/host.h"
#include "trace/names.h"
#include "trace/slab-census.h"
#include "trace/stat.h"
#include "trace/wall.h"

/* What a source can give. */
enum ks_gives {
	KS_GIVES_EVENTS = 1 << 0,  /* every event, in order: ops->next() */
	KS_GIVES_MATCHES = 1 << 1, /* events with the objects that they begin and end: db */
	KS_GIVES_SUMS = 1 << 2,	   /* sums by group as of now, again and again: ops->sums() */
	KS_GIVES_STACKS = 1 << 3,  /* stack traces, where they were recorded */
	KS_GIVES_TIME = 1 << 4,	   /* time stamps; without them there is only an order */
	KS_GIVES_AGES = 1 << 5,	   /* when each live object was allocated */
	KS_GIVES_TASKS = 1 << 6,   /* who allocated: pid, comm */
	KS_GIVES_SITES = 1 << 7,   /* where it was allocated */
	KS_GIVES_CPUS = 1 << 8,	   /* on which CPU */
	KS_GIVES_GFP = 1 << 9,	   /* with which flags */
	KS_GIVES_NODES = 1 << 10,  /* for which NUMA node */
};

/* What a capture of events gives unless its reader knows better. */
enum {
	KS_GIVES_CAPTURE = KS_GIVES_EVENTS | KS_GIVES_STACKS | KS_GIVES_TIME | KS_GIVES_AGES |
			   KS_GIVES_TASKS | KS_GIVES_SITES | KS_GIVES_CPUS | KS_GIVES_GFP |
			   KS_GIVES_NODES,
};

/* One CPU of one buffer of a binary capture. */
struct ks_cpu_info {
	u32 cpu;
	u64 events;	  /* ours, in all */
	u64 lost;	  /* counted ones */
	u64 lost_windows; /* gaps, counted or not */
	u64 first_ts, last_ts;
	u64 backwards; /* time stamps or sequence numbers that are smaller than the one before */
	u64 bad;       /* records or pages that are damaged */
};

/* Lines of a text log. */
struct ks_text_info {
	u64 lines;	  /* all of them */
	u64 comments;	  /* header and comment lines */
	u64 other_events; /* events that are not ours: other subsystems, mm_page_pcpu_drain */
	u64 stack_lines;
	u64 unparsed;		/* what is left: not understood */
	KS_VEC(char *) samples; /* the first few of these, as they are */
};

enum { KS_UNPARSED_KEPT = 5 };

/* Records of a binary capture. */
struct ks_binary_info {
	u64 other_events; /* events that are not ours */
	u64 stacks;	  /* kernel_stack records */
	u64 self_events;  /* of the recorder's own objects, left out */
	u64 bad_records;  /* records and pages that cannot be right */
	u64 bulk_missed; /* objects of calls that freed or allocated more than a hook's record has room for */
	u64 probes_missed; /* calls that the recorder's probes missed, as the kernel counts them */
	KS_VEC(struct ks_cpu_info) cpus;
};

/* What the events of an access map do not show. */
struct ks_map_info {
	u64 not_allocated, not_allocated_bytes; /* globals, stacks and the like: left out */
	u64 guessed;	     /* of no recorded type: pages if they seem to be, else kmalloc's */
	u64 unseen;	     /* ended without their free being seen: a free of no site */
	u64 timeless;	     /* freed at no time, or before they were allocated: freed at once */
	u64 accesses, calls; /* left out */
	u64 orphans;	     /* accesses of no object */
	bool other_kernel;   /* the resolver's is not the one that was recorded */
};

/* What a source says of itself beside its events; complete once the last batch was read. */
struct ks_source_info {
	const char *format; /* "ftrace text", "kmemscope DB", ... */
	enum ks_clock clock;
	u32 page_shift; /* the size of a page, as a power of two */
	struct ks_host host;
	KS_VEC(u16) cpu_nodes; /* NUMA node by CPU, where the source says; else empty */
	bool unfinished; /* the recorder was killed: the file ends with the last whole block */
	bool some_tasks; /* only what some processes did was recorded */
	/* Allocations of some processes, but frees of all: those of objects that are not known mean nothing. */
	bool some_allocs;
	const char
		*only; /* which allocations were recorded, as options of the recorder; NULL = all */
	struct ks_wall wall; /* from the time of events to the time of day */
	u32 hooks; /* a bit for each ks_raw_hook (trace/rawevent.h): what was recorded that raises no event */
	bool ptrs_hashed; /* addresses are the kernel's hashes: they pair, but may collide */
	u64 overwritten;  /* events that the kernel's ring overwrote before the log begins */
	u64 stacks_alone; /* stacks without their event, where opts ask for stacks */
	/*
	 * What the kernel had of slabs at the start and at the end of the recording, by its own account; NULL where
	 * the capture does not say. They stay as long as the source.
	 */
	const struct ks_slab_census *census[KS_CENSUS_WHENS];
	struct ks_text_info text;
	struct ks_binary_info binary;
	struct ks_map_info map;
};

struct ks_batch {
	const struct ks_event *events;
	size_t count;
};

/*
 * One row of sums: the objects that are alike in all that the source tells apart. What it does not
 * tell apart is KS_NONE, KS_PID_UNKNOWN, KS_CPU_UNKNOWN or node -1 in the key, whose time, pointer
 * and bytes requested mean nothing.
 */
struct ks_sum {
	struct ks_event key;
	struct ks_stat stat;
};

/* Gets one row. 0 or a negative errno, which ends the call. */
typedef int ks_sum_fn(void *ctx, const struct ks_sum *sum, struct ks_diag *diag);

struct ks_source;

/* What a source does; what it does not give may be NULL. Only close must be there. */
struct ks_source_ops {
	/* Fills the batch; count 0 means the end. The events stay until the next call. */
	int (*next)(struct ks_source *source, struct ks_batch *ret_batch, struct ks_diag *diag);
	/* Hands out all sums as of now. May be called any number of times. */
	int (*sums)(struct ks_source *source, ks_sum_fn *fn, void *ctx, struct ks_diag *diag);
	/* How far along the input we are, in any unit; total 0 = not known. */
	void (*progress)(struct ks_source *source, u64 *ret_done, u64 *ret_total);
	void (*close)(struct ks_source *source);
};

/*
 * What the caller knows of a running kernel, such as the one that it runs on. A reader that finds its
 * capture to be of this kernel may name addresses by it. No reader looks for itself.
 */
struct ks_known_kernel {
	const char *release;
	/* The text of its kallsyms. 0, or a negative errno where it can't be had. */
	int (*symbols)(void *ctx, struct ks_strbuf *ret_text);
	void *ctx;
};

struct ks_resolver;

/* What is wanted of a source beside its events. */
struct ks_source_opts {
	/* Events get the stack traces that were recorded with them. */
	bool stacks;
	/*
	 * Nobody looks at the cache, the comm, the gfp mask and the node of an event. A reader may then leave
	 * them out, and their names out of the tables.
	 */
	bool bare;
	/*
	 * The site of an event that the filter skips becomes the first frame of its stack trace, further
	 * out, that it does not. Where there is no stack trace, all stays as it is. May be NULL; stays
	 * as long as the source.
	 */
	const struct ks_frame_filter *helpers;
	const struct ks_known_kernel *kernel; /* may be NULL; stays as long as the source */
	/* Names the sites of a source that has only their addresses; may be NULL. */
	struct ks_resolver *resolver;
	/* Called while a source that must be read to be opened is read. Not 0: stop, -EINTR. May be NULL. */
	int (*progress)(void *ctx, u64 done, u64 total);
	void *progress_ctx;
};

struct ks_db;

/* The part that every source begins with. */
struct ks_source {
	const struct ks_source_ops *ops;
	unsigned int gives; /* enum ks_gives */
	struct ks_names names;
	struct ks_source_info info;
	struct ks_source_opts opts;
	struct ks_db *db; /* where it gives matches: see db/ksdb.h; else NULL */
};

void ks_source_close(struct ks_source *source); /* accepts NULL */

static inline int ks_source_next(struct ks_source *source, struct ks_batch *ret_batch,
				 struct ks_diag *diag)
{
	return source->ops->next(source, ret_batch, diag);
}

/* How far along it is; 0 of 0 where the source does not say. */
void ks_source_progress(struct ks_source *source, u64 *ret_done, u64 *ret_total);

/* === For those who make sources =========================================================== */

/*
 * A zeroed struct of @size bytes that begins with a struct ks_source, or NULL when there is no memory.
 * It gives KS_GIVES_CAPTURE until its maker says otherwise. @opts may be NULL.
 */
void *ks_source_new(size_t size, const struct ks_source_ops *ops, const char *format,
		    const struct ks_source_opts *opts);

/* The end of it, once what its maker has added is gone. */
void ks_source_free(struct ks_source *source);

/* Sets the clock, and whether the source gives time. */
void ks_source_set_clock(struct ks_source *source, enum ks_clock clock);

/* Takes from info.census which cgroups tasks are in. */
void ks_source_tasks_of_census(struct ks_source *source);

/* Takes the time of day from info.census, where there is one. */
void ks_source_wall_of_census(struct ks_source *source);

/* Gives an allocation of a helper to its caller, see ks_source_opts. 0 or -ENOMEM. */
static inline int ks_source_skip_helper(struct ks_source *source, struct ks_event *ev)
{
	if (ev->site == KS_NONE)
		return 0;
	ev->site = ks_helper_caller(source->opts.helpers, &source->names, ev->site, ev->stack);
	return ev->site == KS_NONE ? -ENOMEM : 0;
}

/* What came of one CPU, once it was read. 0 or -ENOMEM. */
int ks_source_add_cpu(struct ks_source *source, const struct ks_cpu_info *cpu);

#endif
