/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Probes on the functions that free and allocate without an event: kfree_rcu() and the bulk functions. They are kprobe
 * events, so what they see is in the ring between the other events, by the same clock. They are defined for all of
 * tracefs, under a name of our own, but only our instance switches them on.
 */
#ifndef KS_CAPTURE_HOOKS_H
#define KS_CAPTURE_HOOKS_H

#include "capture/tracefs.h"
#include "trace/rawevent.h"
#include "trace/tracedat-writer.h"

struct ks_hooks {
	char group[64]; /* their folder in events/; "" = there are none */
	u32 defined;	/* a bit for each ks_raw_hook */
	u32 unused;	/* of these, those that stay switched off */
	char why[128];	/* why there are none */
};

/* Defines what this kernel permits. To have none is no error. */
void ks_hooks_define(struct ks_hooks *hooks, const struct ks_tracefs *tfs);

/* Adds their formats; -ENOMEM. A hook whose format can't be read is removed. */
int ks_hooks_describe(struct ks_hooks *hooks, const struct ks_tracefs *tfs,
		      struct ks_td_meta *meta);

/* In the instance of allocations and in that of frees, which may be one. */
int ks_hooks_enable(const struct ks_hooks *hooks, const struct ks_tracefs *allocs,
		    const struct ks_tracefs *frees, struct ks_diag *diag);

/* Switches off what tells of allocations. */
int ks_hooks_end_allocs(const struct ks_hooks *hooks, const struct ks_tracefs *allocs);

/*
 * How many calls they missed, by the kernel's own count: both lists have one line a probe, in the same order, but only the
 * first has the whole name.
 */
u64 ks_hooks_missed(const struct ks_hooks *hooks, const char *events, const char *profile);

/* The same, from the files of tracefs; 0 where it is not known. */
u64 ks_hooks_count_missed(const struct ks_hooks *hooks, const struct ks_tracefs *tfs);

/* Once the rings have been read: the kernel empties those that had events of a probe that goes. */
void ks_hooks_remove(struct ks_hooks *hooks, const struct ks_tracefs *tfs);

/* Removes those of recorders that were killed, whose instances are gone. */
void ks_hooks_remove_stale(const char *root);

/* "kfree_rcu", ... */
const char *ks_hook_name(enum ks_raw_hook hook);

#endif
