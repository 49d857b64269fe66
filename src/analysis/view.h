/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A view: one way of looking at the objects of a source. It is told of the objects that pass the
 * filter, one call for the beginning of an object and one for its end, and puts what it found into the
 * model whenever it is asked to. It can't tell who calls: the engine, which matches events
 * (analysis/engine.c), or a DB, whose events are matched already (analysis/walk.c).
 *
 * A view is a struct that begins with a struct ks_view, made by a function of its own
 * (analysis/views.h), and kept by an analysis.
 */
#ifndef KS_ANALYSIS_VIEW_H
#define KS_ANALYSIS_VIEW_H

#include "analysis/model.h"
#include "analysis/places.h"
#include "base/diag.h"
#include "db/ksdb.h"
#include "trace/source.h"

/* What is going on, for views to look at. */
struct ks_run {
	const struct ks_names *names;
	struct ks_places *places; /* of sites */
	struct ks_places *frames; /* of stacks */
	const struct ks_source_info *info;
	enum ks_level level;   /* objects of the other are not shown */
	u64 first_ts, last_ts; /* of the source; last_ts: so far */
	u64 until;	       /* where the filter's window ends; UINT64_MAX = nowhere */

	/*
	 * Events of one shape are alike but for time, address and task; those of one task are of the same
	 * pid, comm and CPU. Where the source knows, these number the shape and the task of the event at
	 * hand, so that what follows from them has to be found only once. Numbers hold in one block.
	 */
	u32 block;	   /* changes whenever the numbers do */
	u32 shapes, tasks; /* how many there are */
	u32 shape, task;   /* below KS_DB_BLOCK_EVENTS; KS_NONE = not known */
};

/* How an event with these flags ends an object in its slot. */
static inline enum ks_end ks_end_of(u8 op, u8 flags)
{
	if (op == KS_OP_ALLOC)
		return KS_END_IMPLIED;
	if (flags & KS_EV_CENSUS_GONE)
		return KS_END_CENSUS;
	return flags & KS_EV_PAGE_GONE ? KS_END_PAGE : KS_END_FREED;
}

/* The end of the source so far, or of the window: what has not ended before lives then. */
static inline u64 ks_run_end(const struct ks_run *run)
{
	return ks_min(run->last_ts, run->until);
}

struct ks_view;

/*
 * Slots number the objects that live: each is given to one object at a time. All functions return 0, or
 * an error with its cause in diag, which ends the run. What a view has no use for may be NULL.
 */
struct ks_view_ops {
	const char *name;   /* "leaks", ... */
	unsigned int needs; /* enum ks_gives, beside events or matches */

	/* Before all else, once the time of the first event is known. */
	int (*start)(struct ks_view *view, const struct ks_run *run, struct ks_diag *diag);

	/*
	 * The event allocates the object in @slot. An object may be there already, where time goes back:
	 * it ended behind the window, and so lives.
	 */
	int (*begin)(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		     u32 slot, struct ks_diag *diag);

	/*
	 * The event ends the object in @slot: it frees it, or allocates its address again. Ends outside of
	 * the window are not shown, as if the capture had ended before them. Of the event only time, kind,
	 * site and task count.
	 */
	int (*end)(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		   u32 slot, enum ks_end how, struct ks_diag *diag);

	/* The event allocates what can't be followed (KS_OP_ALLOC_UNPAIRED), or failed to. */
	int (*other)(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		     enum ks_op op, struct ks_diag *diag);

	/* Any event of any level, whether or not it counts. Of events only, not of a DB. */
	int (*match)(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		     const struct ks_match *match, struct ks_diag *diag);

	/* begin or end will be called for this slot soon. */
	void (*prefetch)(struct ks_view *view, u32 slot);

	/* The source has come to its end. */
	int (*finish)(struct ks_view *view, const struct ks_run *run, struct ks_diag *diag);

	/* Adds what is known so far to the model. What comes later must not be changed by it. */
	int (*snapshot)(struct ks_view *view, const struct ks_run *run, struct ks_model *model,
			struct ks_diag *diag);

	void (*free)(struct ks_view *view);
};

struct ks_view {
	const struct ks_view_ops *ops;
	bool wants_stacks; /* events with their stack traces */
};

#endif
