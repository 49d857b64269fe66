/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Sorts events by time that come as a few runs, each of which is in order: perf writes the ring of one
 * CPU after the other.
 */
#ifndef KS_TRACE_REORDER_H
#define KS_TRACE_REORDER_H

#include "base/vec.h"
#include "trace/event.h"

struct ks_run {
	size_t next, end; /* in events */
};

struct ks_reorder {
	KS_VEC(struct ks_event) events;
	KS_VEC(struct ks_run) runs; /* a heap while events are taken */
	size_t run_start;	    /* of the run that still grows */
	bool merging;
};

void ks_reorder_deinit(struct ks_reorder *ro);

/* Room for one more event, to be filled and then confirmed with ks_reorder_push(). */
static inline struct ks_event *ks_reorder_slot(struct ks_reorder *ro)
{
	return ks_vec_reserve(&ro->events, ro->events.len + 1) ? NULL
							       : &ro->events.items[ro->events.len];
}

/* 0 or -ENOMEM. Not while events are being taken. */
int ks_reorder_push(struct ks_reorder *ro);

/*
 * Takes up to @cap events not later than @limit, in order. Fewer than @cap means that there are no
 * more of these; only then may events be pushed again.
 */
int ks_reorder_take(struct ks_reorder *ro, u64 limit, struct ks_event *out, size_t cap,
		    size_t *ret_count);

#endif
