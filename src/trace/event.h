/* SPDX-License-Identifier: LGPL-2.1-only */
/* The one neutral event: every reader makes these, the engine knows nothing else. */
#ifndef KS_TRACE_EVENT_H
#define KS_TRACE_EVENT_H

#include "base/types.h"

enum ks_kind {
	KS_KMALLOC,
	KS_KFREE,
	KS_CACHE_ALLOC,
	KS_CACHE_FREE,
	KS_PAGE_ALLOC,
	KS_PAGE_FREE,
	KS_LOST, /* events that the capture does not hold: see ks_event.lost */
	KS_KINDS
};

/* Allocations are even, and the free of each is next to it. */
static inline bool ks_kind_is_alloc(enum ks_kind kind)
{
	return kind < KS_LOST && !(kind & 1);
}

_Static_assert(KS_KMALLOC == 0 && KS_CACHE_ALLOC == 2 && KS_PAGE_ALLOC == 4 && KS_LOST == 6,
	       "see ks_kind_is_alloc()");

static inline bool ks_kind_is_page(enum ks_kind kind)
{
	return kind == KS_PAGE_ALLOC || kind == KS_PAGE_FREE;
}

/* "kmalloc", "kfree", ...: the name of the kernel's own event. */
const char *ks_kind_name(enum ks_kind kind);

/* What time stamps count: nanoseconds, which are shown as seconds, or ticks of unknown length. */
enum ks_clock { KS_CLOCK_NONE, KS_CLOCK_SECONDS, KS_CLOCK_TICKS, KS_CLOCKS };

/* "none", "seconds", "ticks". */
const char *ks_clock_name(enum ks_clock clock);

/* A page is 4 KiB where a capture does not say otherwise. */
enum { KS_PAGE_SHIFT = 12 };

/* What is special about one event. */
enum ks_event_flags {
	KS_EV_NO_PTR = 1 << 0, /* the kernel printed "(____ptrval____)": no address to pair by */
	/* No event, but what follows from one: the object ended, since its page was taken or given back. */
	KS_EV_PAGE_GONE = 1 << 1,
	/* The same: the census at the end of the recording does not have the object any more. */
	KS_EV_CENSUS_GONE = 1 << 2,
	KS_EV_GONE = KS_EV_PAGE_GONE | KS_EV_CENSUS_GONE,
	/*
	 * A hook saw it, since the kernel has no event for it: kfree_rcu() was called, and nobody may use the object
	 * again. A later free of the address, by an event or in bulk, is the same one. Whose memory it is, that of
	 * kmalloc() or of a cache, is not known.
	 */
	KS_EV_RCU = 1 << 3,
	/* A hook saw it: one of several objects that were allocated or freed in one call. */
	KS_EV_BULK = 1 << 4,
};

/*
 * Sites, caches, comms, gfp masks and stacks are numbers into the tables of the trace that the
 * event came from (trace/names.h); KS_NONE where the event does not say.
 */
struct ks_event {
	u64 ts; /* ns, or ticks where the trace's clock is not in ns */
	union {
		struct {
			u64 ptr; /* address, or the page frame number of a page event */
			u64 bytes_req,
				bytes_alloc; /* of allocations; bytes_alloc also of page frees */
		};
		struct {
			u64 last_ts; /* known before the loss; 0 where the capture does not say */
			u64 count;   /* of the lost events; 0 where the capture does not say */
		} lost;		     /* of KS_LOST */
		struct {
			u64 address; /* of its struct page */
			u64 frame, order;
		} page; /* of a page event while its line is being parsed */
	};
	u32 site;
	u32 cache;
	u32 comm;
	u32 gfp;
	u32 stack;
	u32 pid;
	s32 node; /* as the caller asked; -1 = any */
	u16 cpu;
	u8 kind;  /* enum ks_kind */
	u8 flags; /* enum ks_event_flags */
};

#define KS_CPU_UNKNOWN UINT16_MAX
#define KS_PID_UNKNOWN UINT32_MAX

/* An event that says when and where, and nothing else. */
static inline struct ks_event ks_event_blank(u8 kind, u64 ts, u16 cpu)
{
	return (struct ks_event){
		.ts = ts,
		.site = KS_NONE,
		.cache = KS_NONE,
		.comm = KS_NONE,
		.gfp = KS_NONE,
		.stack = KS_NONE,
		.pid = KS_PID_UNKNOWN,
		.node = -1,
		.cpu = cpu,
		.kind = kind,
	};
}

#endif
