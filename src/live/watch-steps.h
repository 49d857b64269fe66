/* SPDX-License-Identifier: LGPL-2.1-only */
/* The steps of a watch: each has a file of its own, and this is what they share. */
#ifndef KS_LIVE_WATCH_STEPS_H
#define KS_LIVE_WATCH_STEPS_H

#include "live/watch.h"

enum {
	KS_WATCH_ACCUSED = 4, /* of one round */
	KS_WATCH_CHOSEN = 16, /* caches that can be looked at at once */
};

/* A cache, as long as the watch lasts. */
struct ks_heard {
	char name[64];
	struct ks_series series; /* of bytes */
	u64 rest_until_ns;
};

/* What one site, or one process at a site, has in a cache. */
struct ks_watch_row {
	u64 key;
	struct ks_series series;	    /* of bytes */
	const char *cache, *site, *process; /* of the last snapshot; process NULL = all of them */
	u64 objects, bytes, example;
	bool seen;
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
	char chosen[KS_WATCH_CHOSEN][64];
	size_t nr_chosen;
	u64 phase_ns;			     /* when it began */
	KS_VEC(struct ks_suspect *) tracing; /* about to be accused */
	bool counted;			     /* an exact count was asked for, before accusing */
	u32 own_pid;
};

/* All of them: 0 or -ENOMEM. */

/* Notes how large each cache is. */
int ks_watch_listen(struct ks_watch *watch, const struct ks_live_snapshot *snapshot);
/* Chooses the caches that rose the most, of those that were not looked at of late. */
int ks_watch_choose(struct ks_watch *watch, u64 now);

/* A point for each row; what is not there any more is 0, and forgotten. */
void ks_watch_look(struct ks_watch_state *state, const struct ks_live_snapshot *snapshot);
int ks_watch_find_growing(struct ks_watch *watch, struct ks_growings *growings);
void ks_watch_forget_rows(struct ks_watch_state *state);

/* Who is about to be accused: the fastest of what grows. */
int ks_watch_suspect(struct ks_watch *watch, const struct ks_growings *growings,
		     const struct ks_live_snapshot *snapshot);
/* How much there is in the cache, and what an object of the suspect is. */
int ks_suspect_add_census(struct ks_suspect *suspect, const struct ks_live_snapshot *snapshot);
/* All that are traced become suspects of the watch. */
int ks_watch_accuse(struct ks_watch *watch, const struct ks_live_snapshot *snapshot);
void ks_suspect_free(struct ks_suspect *suspect); /* accepts NULL */

#endif
