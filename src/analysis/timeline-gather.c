// SPDX-License-Identifier: LGPL-2.1-only
/* Adding up a timeline. */
#include "analysis/timeline-gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline-state.h"

/* === Data ================================================================================= */

static const enum ks_by by_of_dim[KEYED_DIMS] = {
	[KS_TL_SITE] = KS_BY_SITE, [KS_TL_CACHE] = KS_BY_CACHE, [KS_TL_SIZE] = KS_BY_SIZE,
	[KS_TL_COMM] = KS_BY_COMM, [KS_TL_CPU] = KS_BY_CPU,
};

/* === Internals: groups ==================================================================== */

static int grow_tracks(struct ks_tl_gather *g, enum ks_tl_dim dim, u32 track)
{
	while (g->tl->by[dim].items.len <= track)
		if (!ks_vec_push(&g->tl->by[dim].items) || !ks_vec_push(&g->pulse[dim].items))
			return -ENOMEM;
	return 0;
}

static int track_of_key(struct ks_tl_gather *g, enum ks_tl_dim dim, const struct ks_event *ev,
			u32 *ret_track)
{
	u32 track;

	if (ks_grouping_find(&g->keys[dim], ev, &track, NULL) || grow_tracks(g, dim, track))
		return -ENOMEM;
	*ret_track = track;
	return 0;
}

/* Where no event so far had a stack there are none; later, to have none is a group too. */
static int track_of_stack(struct ks_tl_gather *g, u32 site_track, u32 stack, u32 *ret_track)
{
	u32 track;

	*ret_track = KS_NONE;
	if (stack == KS_NONE && !g->names->stacks.strs.len)
		return 0;
	track = ks_map64_add(&g->stacks, (u64)site_track << 32 | stack);
	if (track == KS_NONE || grow_tracks(g, KS_TL_STACK, track))
		return -ENOMEM;
	*ret_track = track;
	return 0;
}

static int add_kind(struct ks_tl_gather *g, const struct ks_event *ev)
{
	struct kind *kind = ks_vec_push(&g->kinds);

	if (!kind || track_of_key(g, KS_TL_SITE, ev, &kind->track[0]) ||
	    track_of_key(g, KS_TL_CACHE, ev, &kind->track[1]) ||
	    track_of_key(g, KS_TL_SIZE, ev, &kind->track[2]) ||
	    track_of_stack(g, kind->track[0], ev->stack, &kind->track[3]))
		return -ENOMEM;
	kind->size_class = ks_tl_size_class(ev->bytes_alloc);
	return 0;
}

/* The number of a pid in tl->pids. Those beyond the last are nobody's. */
static int pid_number(struct ks_tl_gather *g, u32 pid, u32 comm, u32 *ret_number)
{
	u32 number = ks_map64_find(&g->pids, pid);
	struct ks_tl_pid *known;

	*ret_number = number == KS_NONE ? (u32)ks_min(g->tl->pids.len, (size_t)MAX_PIDS) : number;
	if (*ret_number < g->tl->pids.len)
		return 0;
	known = ks_vec_push(&g->tl->pids);
	if (!known)
		return -ENOMEM;
	if (*ret_number == MAX_PIDS) {
		*known = (struct ks_tl_pid){ .pid = KS_PID_UNKNOWN,
					     .comm_id = KS_NONE,
					     .rest = true };
		return 0;
	}
	*known = (struct ks_tl_pid){ .pid = pid, .comm_id = comm };
	return ks_map64_add(&g->pids, pid) == KS_NONE ? -ENOMEM : 0;
}

static int add_owner(struct ks_tl_gather *g, const struct ks_event *ev, u32 pid)
{
	struct owner *owner = ks_vec_push(&g->owners);

	if (!owner || track_of_key(g, KS_TL_COMM, ev, &owner->track[0]) ||
	    track_of_key(g, KS_TL_CPU, ev, &owner->track[1]))
		return -ENOMEM;
	owner->pid = pid;
	return 0;
}

/* === Internals: events ==================================================================== */

/* Time that goes back stays in the bucket. */
static inline int advance(struct ks_tl_gather *g, u64 ts)
{
	return likely(ts < g->bucket_end) ? 0 : ks_tl_next_bucket(g, ts);
}

/* Makes the sums those of this bucket; *ret_fresh says that they were not. */
static inline void begin_sums(const struct ks_tl_gather *g, struct sums *sums, bool *ret_fresh)
{
	*ret_fresh = sums->epoch != g->epoch;
	if (unlikely(*ret_fresh)) {
		memset(&sums->now, 0, sizeof(sums->now));
		sums->epoch = g->epoch;
	}
}

static inline struct ks_cell *sums_of_kind(struct ks_tl_gather *g, u32 number)
{
	struct sums *sums = &g->kinds.items[number].sums;
	bool fresh;
	u32 *busy;

	begin_sums(g, sums, &fresh);
	if (unlikely(fresh)) {
		busy = ks_vec_push(&g->busy_kinds);
		if (!busy)
			return NULL;
		*busy = number;
	}
	return &sums->now;
}

static inline struct ks_cell *sums_of_owner(struct ks_tl_gather *g, u32 number)
{
	struct sums *sums = &g->owners.items[number].sums;
	bool fresh;
	u32 *busy;

	begin_sums(g, sums, &fresh);
	if (unlikely(fresh)) {
		busy = ks_vec_push(&g->busy_owners);
		if (!busy)
			return NULL;
		*busy = number;
	}
	return &sums->now;
}

/* Live bytes change; returns whether this is the first time in the bucket. */
static inline bool beat(const struct ks_tl_gather *g, struct pulse *pulse, u64 more)
{
	bool first = pulse->epoch != g->epoch;

	ks_tl_keep_peak(g, pulse);
	if (unlikely(first)) {
		pulse->epoch = g->epoch;
		pulse->peak = pulse->live;
	}
	pulse->live += more;
	pulse->peak = ks_max(pulse->peak, pulse->live);
	return first;
}

static int note_touched(struct ks_tl_gather *g, enum ks_tl_dim dim, u32 track)
{
	struct touched *touched = ks_vec_push(&g->touched);

	if (!touched)
		return -ENOMEM;
	*touched = (struct touched){ dim, track };
	return 0;
}

/* @more is added modulo 2^64. */
static inline int beat_all(struct ks_tl_gather *g, u32 kind, u32 owner, u64 more)
{
	const u32 *of_kind = g->kinds.items[kind].track, *of_owner = g->owners.items[owner].track;
	int i;

	for (i = 0; i < KIND_DIMS; i++)
		if (of_kind[i] != KS_NONE &&
		    unlikely(
			    beat(g, &g->pulse[ks_tl_kind_dims[i]].items.items[of_kind[i]], more)) &&
		    note_touched(g, ks_tl_kind_dims[i], of_kind[i]))
			return -ENOMEM;
	for (i = 0; i < OWNER_DIMS; i++)
		if (unlikely(beat(g, &g->pulse[ks_tl_owner_dims[i]].items.items[of_owner[i]],
				  more)) &&
		    note_touched(g, ks_tl_owner_dims[i], of_owner[i]))
			return -ENOMEM;
	beat(g, &g->total, more);
	return 0;
}

/* How much of a site's is an owner's. */
static inline int count_pair(struct ks_tl_gather *g, u32 site, u32 owner, u64 bytes)
{
	struct ks_tl_count *pair;

	while (unlikely(g->last_pair.len <= site)) {
		if (!ks_vec_push(&g->last_pair))
			return -ENOMEM;
		g->last_pair.items[g->last_pair.len - 1].owner = KS_NONE;
	}
	if (unlikely(g->last_pair.items[site].owner != owner)) {
		u32 number = ks_map64_add(&g->pair_keys, (u64)site << 32 | owner);

		if (number == KS_NONE || (number == g->pairs.len && !ks_vec_push(&g->pairs)))
			return -ENOMEM;
		g->last_pair.items[site].owner = owner;
		g->last_pair.items[site].pair = number;
	}
	pair = &g->pairs.items[g->last_pair.items[site].pair];
	pair->objects++;
	pair->bytes += bytes;
	return 0;
}

static void count_alloc(struct ks_cell *now, const struct ks_tl_birth *birth, bool unpaired)
{
	now->allocs++;
	now->bytes += birth->bytes_alloc;
	now->req += birth->bytes_req;
	if (unlikely(unpaired)) {
		now->unpaired++;
		now->ended_bytes += birth->bytes_alloc;
		now->ended_req += birth->bytes_req;
	}
}

static inline void count_end(struct ks_cell *now, const struct ks_tl_birth *birth, enum ks_end how,
			     bool cross, u64 life)
{
	now->ended_bytes += birth->bytes_alloc;
	now->ended_req += birth->bytes_req;
	if (how != KS_END_FREED) {
		now->implied += how == KS_END_IMPLIED;
		now->paged += how == KS_END_PAGE;
		now->censused += how == KS_END_CENSUS;
		return;
	}
	now->frees++;
	now->cross_cpu += cross;
	now->life_sum += life;
	if (life < KS_TL_TEMPORARY_NS) {
		now->temporary++;
		now->temporary_bytes += birth->bytes_alloc;
	}
}

static void count_free(struct ks_tl_gather *g, const struct ks_tl_birth *birth, u16 cpu, u64 life)
{
	struct ks_tl_ends *ends = &g->tl->ends[g->bucket];
	struct ks_tl_count *count =
		&ends->by_life[g->kinds.items[birth->kind].size_class][ks_tl_life_class(life)];

	count->objects++;
	count->bytes += birth->bytes_alloc;
	if (birth->cpu != KS_CPU_UNKNOWN && cpu != KS_CPU_UNKNOWN)
		ends->by_cpus[ks_min(birth->cpu + 0, KS_TL_CPUS - 1)]
			     [ks_min(cpu + 0, KS_TL_CPUS - 1)]++;
}

/* From its birth on the object may have been gone. */
static void note_unseen(struct ks_tl_gather *g, const struct ks_tl_birth *birth)
{
	struct ks_timeline *tl = g->tl;
	u64 since = birth->ts > tl->first_ts ? birth->ts - tl->first_ts : 0;

	tl->unseen_begun[ks_min(since / tl->width, (u64)g->bucket)] += birth->bytes_alloc;
	tl->unseen_ended[g->bucket] += birth->bytes_alloc;
}

/* === Public =============================================================================== */

int ks_tl_gather_new(const struct ks_names *names, u64 first_ts, u64 width, u32 page_shift,
		     struct ks_tl_gather **ret_gather)
{
	struct ks_tl_gather *g = calloc(1, sizeof(*g));
	int dim, err = g ? 0 : -ENOMEM;

	if (!g)
		return err;
	g->names = names;
	g->page_shift = page_shift;
	g->epoch = 1;
	g->tl = calloc(1, sizeof(*g->tl));
	if (!g->tl)
		err = -ENOMEM;
	for (dim = 0; dim < KEYED_DIMS && !err; dim++)
		err = ks_grouping_init(&g->keys[dim], by_of_dim[dim], names, NULL, NULL);
	if (!err)
		err = ks_map64_init(&g->stacks) || ks_map64_init(&g->pids) ||
				      ks_map64_init(&g->pair_keys) ||
				      ks_intern_init(&g->kind_keys) ||
				      ks_intern_init(&g->owner_keys)
			      ? -ENOMEM
			      : 0;
	if (!err) {
		ks_arena_init(&g->tl->arena);
		g->tl->first_ts = first_ts;
		g->tl->width = width;
		g->tl->buckets = 1;
		g->bucket_end = first_ts + width;
		g->tl->ends = calloc(KS_TL_MAX_BUCKETS, sizeof(*g->tl->ends));
		err = g->tl->ends ? 0 : -ENOMEM;
	}
	if (err)
		ks_tl_gather_free(g);
	else
		*ret_gather = g;
	return err;
}

void ks_tl_gather_free(struct ks_tl_gather *g)
{
	int dim;

	if (!g)
		return;
	for (dim = 0; dim < KEYED_DIMS; dim++)
		ks_grouping_deinit(&g->keys[dim]);
	for (dim = 0; dim < KS_TL_DIMS; dim++)
		ks_vec_free(&g->pulse[dim].items);
	ks_map64_deinit(&g->stacks);
	ks_map64_deinit(&g->pids);
	ks_map64_deinit(&g->pair_keys);
	ks_intern_deinit(&g->kind_keys);
	ks_intern_deinit(&g->owner_keys);
	ks_vec_free(&g->kinds);
	ks_vec_free(&g->owners);
	ks_vec_free(&g->last_kind);
	ks_vec_free(&g->pairs);
	ks_vec_free(&g->last_pair);
	ks_vec_free(&g->busy_kinds);
	ks_vec_free(&g->busy_owners);
	ks_vec_free(&g->touched);
	ks_vec_free(&g->in_slot);
	ks_vec_free(&g->left);
	ks_timeline_free(g->tl);
	free(g);
}

u32 ks_tl_gather_kind(struct ks_tl_gather *g, const struct ks_event *ev)
{
	struct kind_key kind_key = { ev->bytes_alloc, ev->site, ev->cache, ev->stack, ev->kind };
	size_t at = (u32)(ev->site + 1);
	u32 *last, number;

	while (g->last_kind.len <= at) {
		last = ks_vec_push(&g->last_kind);
		if (!last)
			return KS_NONE;
		*last = KS_NONE;
	}
	last = &g->last_kind.items[at];
	if (*last != KS_NONE &&
	    !memcmp(ks_intern_get(&g->kind_keys, *last).s, &kind_key, sizeof(kind_key)))
		return *last;
	number = ks_intern_add(&g->kind_keys, (const char *)&kind_key, sizeof(kind_key));
	if (number == KS_NONE || (number == g->kinds.len && add_kind(g, ev)))
		return KS_NONE;
	*last = number;
	return number;
}

u32 ks_tl_gather_owner(struct ks_tl_gather *g, const struct ks_event *ev)
{
	struct owner_key key = { ev->comm, ev->cpu, 0 };
	u32 number;

	if (pid_number(g, ev->pid, ev->comm, &key.pid))
		return KS_NONE;
	number = ks_intern_add(&g->owner_keys, (const char *)&key, sizeof(key));
	if (number == KS_NONE || (number == g->owners.len && add_owner(g, ev, key.pid)))
		return KS_NONE;
	return number;
}

int ks_tl_gather_begin(struct ks_tl_gather *g, const struct ks_tl_birth *birth, u32 slot)
{
	bool unpaired = slot == KS_NONE;
	struct ks_cell *now;
	struct kind *kind;

	if (advance(g, birth->ts))
		return -ENOMEM;
	now = sums_of_kind(g, birth->kind);
	if (!now)
		return -ENOMEM;
	count_alloc(now, birth, unpaired);
	now = sums_of_owner(g, birth->owner);
	if (!now)
		return -ENOMEM;
	count_alloc(now, birth, unpaired);
	kind = &g->kinds.items[birth->kind];
	kind->allocs++;
	kind->bytes += birth->bytes_alloc;
	if (count_pair(g, kind->track[0], birth->owner, birth->bytes_alloc) ||
	    beat_all(g, birth->kind, birth->owner, unpaired ? 0 : birth->bytes_alloc))
		return -ENOMEM;
	if (unpaired)
		return 0;
	if (g->total.live > g->peak_bytes) {
		g->peak_bytes = g->total.live;
		g->peak_ts = birth->ts;
		g->peak++;
	}
	while (unlikely(g->in_slot.len <= slot)) {
		struct ks_tl_birth *fresh = ks_vec_push(&g->in_slot);

		if (!fresh)
			return -ENOMEM;
		fresh->kind = KS_NONE;
	}
	if (unlikely(g->in_slot.items[slot].kind != KS_NONE)) {
		struct ks_tl_birth *left = ks_vec_push(&g->left);

		if (!left)
			return -ENOMEM;
		*left = g->in_slot.items[slot];
	}
	g->in_slot.items[slot] = *birth;
	return 0;
}

void ks_tl_gather_prefetch(const struct ks_tl_gather *g, u32 slot)
{
	const struct ks_tl_birth *birth;

	if (slot >= g->in_slot.len)
		return;
	birth = &g->in_slot.items[slot];
	__builtin_prefetch(birth, 1);
	__builtin_prefetch((const char *)(birth + 1) - 1, 1); /* it may lie across two lines */
}

int ks_tl_gather_end(struct ks_tl_gather *g, u32 slot, u64 ts, u16 cpu, enum ks_end how)
{
	struct ks_tl_birth *birth = &g->in_slot.items[slot];
	struct ks_cell *of_kind, *of_owner;
	bool cross;
	u64 life;

	if (advance(g, ts))
		return -ENOMEM;
	of_kind = sums_of_kind(g, birth->kind);
	of_owner = sums_of_owner(g, birth->owner);
	if (!of_kind || !of_owner)
		return -ENOMEM;
	cross = birth->cpu != KS_CPU_UNKNOWN && cpu != KS_CPU_UNKNOWN && birth->cpu != cpu;
	life = ts > birth->ts ? ts - birth->ts : 0;
	count_end(of_kind, birth, how, cross, life);
	count_end(of_owner, birth, how, cross, life);
	if (beat_all(g, birth->kind, birth->owner, -(u64)birth->bytes_alloc))
		return -ENOMEM;
	if (how == KS_END_FREED)
		count_free(g, birth, cpu, life);
	else
		note_unseen(g, birth);
	birth->kind = KS_NONE;
	return 0;
}
