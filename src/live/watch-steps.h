/* SPDX-License-Identifier: LGPL-2.1-only */
/* The steps of a watch: each has a file of its own, and this is what they share. */
#ifndef KS_LIVE_WATCH_STEPS_H
#define KS_LIVE_WATCH_STEPS_H

#include "live/watch.h"

enum {
	KS_WATCH_ACCUSED = 4, /* of one round */
	KS_WATCH_CHOSEN = 32, /* caches that can be looked at at once */
};

/* A cache, as long as the watch lasts. */
struct ks_heard {
	char name[64];
	struct ks_series series; /* of bytes, of the last minutes */
	u64 rest_until_ns, rest_ns;
	u32 looked;	    /* how often */
	double swing;	    /* when it was looked at: how far its values were apart */
	u64 objects_before; /* when the look began, by an exact count; KS_NOT_COUNTED */
};

#define KS_NOT_COUNTED UINT64_MAX

/*
 * What one process has in a cache from one site; or what is left there of processes that have ended, together with what the
 * kernel's own threads have. What living processes have in use goes with them: it is no leak of everybody's.
 */
struct ks_watch_row {
	u64 key;
	struct ks_series series;	    /* of bytes */
	const char *cache, *site, *process; /* of the last snapshot; process NULL = see above */
	u64 objects, bytes, example;
	bool seen;
	bool no_program; /* of what is named above, or of a thread of the kernel */
	bool of_kernel;	 /* it is such a thread, which works for many */
};

struct ks_growing {
	struct ks_watch_row *row;
	struct ks_judgement judgement;
};

struct ks_growings {
	KS_VEC(struct ks_growing) items; /* the fastest first */
};

struct ks_watch_state {
	KS_VEC(struct ks_heard *) heard;
	KS_VEC(struct ks_watch_row *) rows;
	KS_VEC(u8) ended; /* of a look, by number of the name of a process: enum ks_ended */
	char chosen[KS_WATCH_CHOSEN][64];
	size_t nr_chosen;
	u64 phase_ns;			     /* when it began */
	u32 points;			     /* looks in it */
	KS_VEC(struct ks_suspect *) tracing; /* about to be accused */
	bool counted_first;		     /* there was an exact count when the look began */
	bool counted;			     /* one was asked for, before accusing */
	bool held;			     /* holders were looked for */
	u32 own_pid, recorder_pid;
};

/* All of them: 0 or -ENOMEM. */

/* Notes how large each cache is. */
int ks_watch_listen(struct ks_watch *watch, const struct ks_live_snapshot *snapshot);
/* Chooses the caches that rose the most, of those that were not looked at recently. */
int ks_watch_choose(struct ks_watch *watch, u64 now);

/* A point for each row; what is not there any more is 0, and forgotten. */
int ks_watch_look(struct ks_watch_state *state, const struct ks_live_snapshot *snapshot);
/* At the beginning of a look: how many objects there are, by an exact count. */
int ks_watch_count_first(struct ks_watch_state *state, const struct ks_live_snapshot *snapshot);
int ks_watch_find_growing(struct ks_watch *watch, const struct ks_live_snapshot *snapshot,
			  struct ks_growings *growings);
void ks_watch_forget_rows(struct ks_watch_state *state);

/* Who is about to be accused: the fastest of what grows. */
int ks_watch_suspect(struct ks_watch *watch, const struct ks_growings *growings,
		     const struct ks_live_snapshot *snapshot);
/* How much there is in the cache, and what an object of the suspect is. */
int ks_suspect_add_census(struct ks_suspect *suspect, const struct ks_live_snapshot *snapshot);
/* Who holds what those that are traced have. -ENOMEM. */
int ks_watch_add_holders(struct ks_watch_state *state, struct ks_live *live);
/* All that are traced become suspects of the watch. */
int ks_watch_accuse(struct ks_watch *watch, const struct ks_live_snapshot *snapshot);
void ks_suspect_free(struct ks_suspect *suspect); /* accepts NULL */

#endif
