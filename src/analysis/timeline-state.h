/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the gathering of a timeline: what is known while events are added up. */
#ifndef KS_ANALYSIS_TIMELINE_STATE_H
#define KS_ANALYSIS_TIMELINE_STATE_H

#include "analysis/timeline-gather.h"

enum {
	MAX_PIDS = 4096,	  /* later ones are added up as one */
	KEYED_DIMS = KS_TL_STACK, /* those by a struct ks_grouping: all but stacks */
	KIND_DIMS = 4,
	OWNER_DIMS = 2,
};

/* Sums of the bucket that is being filled. */
struct sums {
	struct ks_cell now;
	u32 epoch; /* which bucket that was */
};

struct kind {
	u32 track[KIND_DIMS]; /* KS_NONE: it has none there */
	u32 size_class;
	struct sums sums;
	u64 allocs, bytes; /* of the whole */
};

struct owner {
	u32 track[OWNER_DIMS];
	u32 pid; /* the number in tl->pids */
	struct sums sums;
};

/* What a track needs with every event. */
struct pulse {
	u64 live, peak; /* the peak is of the bucket */
	u64 at_peak;	/* what lived at the peak of the whole that has the number peak_seen */
	u32 peak_seen;
	u32 epoch;
};

struct touched {
	enum ks_tl_dim dim;
	u32 track;
};

/* What kinds are told apart by. */
struct kind_key {
	u64 bytes_alloc;
	u32 site, cache, stack, kind;
};

struct owner_key {
	u32 comm, cpu, pid;
};

/* The pair of a site that was counted last. */
struct last_pair {
	u32 owner, pair;
};

struct ks_tl_gather {
	struct ks_timeline *tl;
	const struct ks_names *names;
	u32 page_shift;
	struct ks_grouping keys[KEYED_DIMS];
	struct ks_map64 stacks; /* site's track << 32 | stack, numbered as tracks */
	struct ks_intern kind_keys, owner_keys;
	KS_VEC(struct kind) kinds;
	KS_VEC(struct owner) owners;
	KS_VEC(u32) last_kind; /* by site + 1: what an allocation there was last */
	struct ks_map64 pids;

	struct ks_map64 pair_keys; /* site's track << 32 | owner, numbered as pairs */
	KS_VEC(struct ks_tl_count) pairs;
	KS_VEC(struct last_pair) last_pair; /* by site's track */

	struct {
		KS_VEC(struct pulse) items;
	} pulse[KS_TL_DIMS];
	struct pulse total;
	u32 peak; /* number of the latest peak of the whole; from 1 on */
	u64 peak_bytes, peak_ts;

	u32 epoch; /* of the bucket that is being filled; from 1 on */
	u32 bucket;
	u64 bucket_end;
	KS_VEC(u32) busy_kinds, busy_owners;
	KS_VEC(struct touched) touched;
	size_t cells; /* of all tracks */

	KS_VEC(struct ks_tl_birth) in_slot; /* what lives; kind KS_NONE: nothing */
	KS_VEC(struct ks_tl_birth) left;    /* what lives, and another has its slot */
};

/* Which groups a kind and an owner have a track in. */
extern const enum ks_tl_dim ks_tl_kind_dims[KIND_DIMS];
extern const enum ks_tl_dim ks_tl_owner_dims[OWNER_DIMS];

static inline struct ks_track *ks_tl_track(struct ks_tl_gather *g, enum ks_tl_dim dim, u32 track)
{
	return &g->tl->by[dim].items.items[track];
}

/*
 * What a group had at the peak of the whole is what it had when it next changed: so nobody has to
 * copy all groups whenever there is a new peak.
 */
static inline void ks_tl_keep_peak(const struct ks_tl_gather *g, struct pulse *pulse)
{
	if (pulse->peak_seen == g->peak)
		return;
	pulse->peak_seen = g->peak;
	pulse->at_peak = pulse->live;
}

/* Ends the bucket that is being filled; the next one is that of @ts, or a later one. 0 or -ENOMEM. */
int ks_tl_next_bucket(struct ks_tl_gather *g, u64 ts);

/* At the end: the names of all groups, and which of them belong together. */
int ks_tl_label(struct ks_tl_gather *g, struct ks_places *places, struct ks_places *frames,
		struct ks_diag *diag);

/* 0 or -ENOMEM. */
int ks_tl_link_groups(struct ks_tl_gather *g);

#endif
