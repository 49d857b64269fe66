/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Records kmem events of the running kernel into a trace.dat. One pinned thread per CPU moves whole
 * pages out of the kernel's ring; worker threads compress and write them. Nothing is decoded.
 */
#ifndef KS_CAPTURE_RECORDER_H
#define KS_CAPTURE_RECORDER_H

#include "base/diag.h"
#include "capture/kernel-filter.h"
#include "trace/slab-census.h"

/*
 * Fills in what the kernel has of slabs, with single objects where @objects says so. Any error means that it can't:
 * then /proc/slabinfo is read instead.
 */
typedef int ks_record_census_fn(void *ctx, bool objects, struct ks_slab_census *census);

struct ks_record_opts {
	const char *path;
	bool slab, pages;
	bool stack;	/* a stack trace with each event */
	bool only_pids; /* nothing until ks_recorder_follow() names a process */
	struct ks_record_filter filter;
	const char *clock;
	u64 buffer_kb;		 /* of the kernel's ring, per CPU; 0 = the default */
	u64 max_size;		 /* bytes of the file; 0 = no limit */
	u64 keep_bytes, keep_ns; /* only the last of it stays in the file; 0 = all */
	bool no_hooks;		 /* on what frees and allocates without an event */
	bool no_census;
	ks_record_census_fn *census; /* NULL: there is only /proc/slabinfo */
	void *census_ctx;
};

enum { KS_RECORD_BUFFER_KB = 8192 };

struct ks_record_stats {
	u64 events, lost;
	u64 probes_missed; /* calls, as far as the kernel counts them */
	u64 file_size;
	bool full;     /* max_size was reached */
	bool failed;   /* a thread met an error; ks_recorder_stop() returns it */
	bool finished; /* the file is complete but for what was not written */
};

struct ks_recorder;

/* Makes everything ready; events come in after ks_recorder_start(). */
int ks_recorder_new(const struct ks_record_opts *opts, struct ks_recorder **ret_recorder,
		    struct ks_diag *diag);

/* Follows a process with all its threads and, from then on, their children. */
int ks_recorder_follow(struct ks_recorder *rec, u32 pid, struct ks_diag *diag);

/* What is seen of frees and allocations that raise no event, or why nothing is: words for people. */
void ks_recorder_say_hooks(const struct ks_recorder *rec, struct ks_strbuf *sb);

/* What the user should know of the filter, or "". */
const char *ks_recorder_filter_note(const struct ks_recorder *rec);

int ks_recorder_start(struct ks_recorder *rec, struct ks_diag *diag);

/* The state of the recording. To be called about twice a second: it also collects task names. */
void ks_recorder_poll(struct ks_recorder *rec, struct ks_record_stats *ret_stats);

/*
 * Writes what the file has now to another one, finished, and goes on. What happened in the last second may be missing.
 */
int ks_recorder_save(struct ks_recorder *rec, const char *path, struct ks_diag *diag);

/*
 * Finishes what the file has now under another name, which nobody must have, and goes on with a new file. Each has its own
 * census of start and end.
 */
int ks_recorder_rotate(struct ks_recorder *rec, const char *path, struct ks_diag *diag);

/*
 * Stops, drains the rings, finishes the file and removes the instance. On error a file that is
 * left behind can be read as far as it goes. Frees the recorder in any case.
 */
int ks_recorder_stop(struct ks_recorder *rec, struct ks_record_stats *ret_stats,
		     struct ks_diag *diag);

/* Gives up, leaving no file and no instance. */
void ks_recorder_abort(struct ks_recorder *rec);

#endif
