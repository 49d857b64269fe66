/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Reading captures: one interface over all formats (source/open.h opens them). Events come in
 * batches, in the order of the capture. One thread at a time per reader; a reader may use threads of
 * its own.
 */
#ifndef KS_TRACE_READER_H
#define KS_TRACE_READER_H

#include <errno.h>

#include "base/diag.h"
#include "trace/helper-caller.h"
#include "trace/event.h"
#include "trace/host.h"
#include "trace/names.h"

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

/* What a capture says of itself beside its events; complete once the last batch was read. */
struct ks_trace_info {
	const char *format;    /* "ftrace text", "kmemscope DB", ... */
	const char *clock;     /* "seconds", "ticks" or "none" */
	u64 lines;	       /* text only: all lines */
	u64 lines_comment;     /* header and comment lines */
	u64 lines_other_event; /* events that are not ours: other subsystems, mm_page_pcpu_drain */
	u64 lines_stack;       /* stack-trace lines */
	u64 stacks_alone;      /* stacks without their event, where opts ask for stacks */
	u64 lines_unparsed;    /* what is left: not understood */
	u64 overwritten;       /* events that the kernel's ring overwrote before the log begins */
	u64 events_other;      /* binary only: events that are not ours */
	u64 events_stack;      /* kernel_stack records */
	u64 events_self;       /* of the recorder's own objects, left out */
	u64 records_bad;       /* records and pages that cannot be right */
	bool unfinished; /* the recorder was killed: the file ends with the last whole block */
	KS_VEC(struct ks_cpu_info) cpus; /* binary only */
	KS_VEC(u16) cpu_nodes;		 /* NUMA node by CPU, where the capture tells; else empty */
	struct ks_host host;
	bool some_tasks;	 /* only what some processes did was recorded */
	bool ptrs_hashed;	 /* addresses are the kernel's hashes: they pair, but may collide */
	KS_VEC(char *) unparsed; /* the first few of them, as they are */
};

enum { KS_UNPARSED_KEPT = 5 };

struct ks_batch {
	const struct ks_event *events;
	size_t count;
};

struct ks_trace;

struct ks_trace_ops {
	/* Fills the batch; count 0 means the end. The events stay until the next call. */
	int (*next)(struct ks_trace *trace, struct ks_batch *ret_batch, struct ks_diag *diag);
	void (*close)(struct ks_trace *trace);
	/* How far along the input we are, in any unit; total 0 = not known. */
	void (*progress)(struct ks_trace *trace, u64 *ret_done, u64 *ret_total);
};

/* What is wanted of a capture beside its events. */
struct ks_trace_opts {
	/* Events get the stack traces that were recorded with them. */
	bool stacks;
	/*
	 * The site of an event that the filter skips becomes the first frame of its stack trace, further
	 * out, that it does not. Where there is no stack trace, all stays as it is. May be NULL; stays
	 * as long as the trace.
	 */
	const struct ks_frame_filter *helpers;
};

/* The part that every format's reader begins with. */
struct ks_trace {
	const struct ks_trace_ops *ops;
	struct ks_names names;
	struct ks_trace_info info;
	struct ks_trace_opts opts;
};

void ks_trace_close(struct ks_trace *trace);

static inline int ks_trace_next(struct ks_trace *trace, struct ks_batch *ret_batch,
				struct ks_diag *diag)
{
	return trace->ops->next(trace, ret_batch, diag);
}

/* For the formats: gives an allocation of a helper to its caller, see ks_trace_opts. 0 or -ENOMEM. */
static inline int ks_trace_skip_helper(struct ks_trace *trace, struct ks_event *ev)
{
	if (ev->site == KS_NONE)
		return 0;
	ev->site = ks_helper_caller(trace->opts.helpers, &trace->names, ev->site, ev->stack);
	return ev->site == KS_NONE ? -ENOMEM : 0;
}

/* For the formats: what came of one CPU, once it was read. 0 or -ENOMEM. */
int ks_trace_add_cpu(struct ks_trace *trace, const struct ks_cpu_info *cpu);

/*
 * For the formats: a zeroed struct of @size bytes that begins with a struct ks_trace, or NULL when
 * there is no memory; and its end, once what the format has added is gone.
 */
void *ks_trace_new(size_t size, const struct ks_trace_ops *ops, const char *format);
void ks_trace_free(struct ks_trace *trace);

#endif
