// SPDX-License-Identifier: LGPL-2.1-only
/* Gathering a timeline while the engine runs. */
#include "analysis/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/engine.h"

/* === Data ================================================================================= */

/* What the groups of an object were: the live table holds the site only. KS_NONE: no such group. */
struct groups {
	u32 of[KS_TL_DIMS];
};

/* The link that an allocation of the site took last, for each grouping. */
struct last_links {
	u32 link[KS_TL_DIMS];
};

enum { PAGE_SHIFT = 12, FIRST_WIDTH = 1000 };

/* The groupings that an account numbers for us: all but stacks. */
enum { KEYED_DIMS = KS_TL_STACK };

static const enum ks_by by_of_dim[KEYED_DIMS] = {
	[KS_TL_SITE] = KS_BY_SITE, [KS_TL_CACHE] = KS_BY_CACHE, [KS_TL_SIZE] = KS_BY_SIZE,
	[KS_TL_COMM] = KS_BY_COMM, [KS_TL_CPU] = KS_BY_CPU,
};

struct gather {
	struct ks_timeline *tl;
	enum ks_level level;
	struct ks_account keys[KEYED_DIMS]; /* only number and label the groups */
	struct ks_map64 stacks;		    /* site's track << 32 | stack, numbered as tracks */
	bool ready;
	KS_VEC(struct groups) in_slot;
	struct ks_map64 link_numbers;
	KS_VEC(struct last_links) last; /* by track of the site */
	u32 bucket;			/* of the latest event: time does not go back here */
	size_t cells;			/* of all tracks */
	u64 live_bytes, peak_bytes;
	u32 peak; /* number of the latest peak of the whole; from 1 on */
};

/* === Internals: groups ==================================================================== */

static int prepare(struct gather *g, const struct ks_engine *engine)
{
	static const struct ks_filter everything;
	const struct ks_account *acc = &engine->account;
	int dim;

	for (dim = 0; dim < KEYED_DIMS; dim++)
		if (ks_account_init(&g->keys[dim], by_of_dim[dim], &everything, acc->names, NULL))
			return -ENOMEM;
	g->tl->first_ts = engine->matcher.first_ts;
	g->tl->width = FIRST_WIDTH;
	g->tl->buckets = 1;
	g->ready = true;
	return 0;
}

/* Where no event so far had a stack there are none; later, to have none is a group too. */
static int stack_of_event(struct gather *g, const struct ks_event *ev, struct groups *groups)
{
	u32 *number = &groups->of[KS_TL_STACK];

	*number = KS_NONE;
	if (ev->stack == KS_NONE && !g->stacks.keys.len)
		return 0;
	*number = ks_map64_add(&g->stacks, (u64)groups->of[KS_TL_SITE] << 32 | ev->stack);
	if (*number == KS_NONE)
		return -ENOMEM;
	if (*number == g->tl->by[KS_TL_STACK].items.len &&
	    !ks_vec_push(&g->tl->by[KS_TL_STACK].items))
		return -ENOMEM;
	return 0;
}

static int groups_of_event(struct gather *g, const struct ks_event *ev, struct groups *ret)
{
	struct ks_group_key key = {
		.kind = ev->kind,
		.site = ev->site,
		.cache = ev->cache,
		.comm = ev->comm,
		.cpu = ev->cpu,
		.bytes_alloc = ev->bytes_alloc,
	};
	int dim;

	for (dim = 0; dim < KEYED_DIMS; dim++) {
		u32 group = ks_account_group(&g->keys[dim], &key);

		if (group == KS_NONE)
			return -ENOMEM;
		while (g->tl->by[dim].items.len <= group)
			if (!ks_vec_push(&g->tl->by[dim].items))
				return -ENOMEM;
		ret->of[dim] = group;
	}
	return stack_of_event(g, ev, ret);
}

static struct ks_tl_link *find_link(struct gather *g, const struct groups *groups, int dim)
{
	u32 site = groups->of[KS_TL_SITE], group = groups->of[dim], number;
	struct ks_tl_link *link;
	u32 *last;

	while (g->last.len <= site) {
		struct last_links *fresh = ks_vec_push(&g->last);

		if (!fresh)
			return NULL;
		memset(fresh, 0xff, sizeof(*fresh)); /* KS_NONE */
	}
	last = &g->last.items[site].link[dim];
	if (*last != KS_NONE && g->tl->links.items[*last].group == group)
		return &g->tl->links.items[*last];
	number = ks_map64_add(&g->link_numbers, ((u64)site * KS_TL_DIMS + (u32)dim) << 32 | group);
	if (number == KS_NONE)
		return NULL;
	*last = number;
	if (number < g->tl->links.len)
		return &g->tl->links.items[number];
	link = ks_vec_push(&g->tl->links);
	if (link)
		*link = (struct ks_tl_link){ .site = site, .group = group, .dim = dim };
	return link;
}

static int count_links(struct gather *g, const struct groups *groups, u64 bytes)
{
	int dim;

	for (dim = KS_TL_SITE + 1; dim < KEYED_DIMS; dim++) {
		struct ks_tl_link *link = find_link(g, groups, dim);

		if (!link)
			return -ENOMEM;
		link->allocs++;
		link->bytes += bytes;
	}
	return 0;
}

/* === Internals: time ====================================================================== */

static void advance(struct gather *g, u64 ts)
{
	struct ks_timeline *tl = g->tl;
	u64 bucket = ts > tl->first_ts ? (ts - tl->first_ts) / tl->width : 0;

	while (unlikely(bucket >= KS_TL_MAX_BUCKETS ||
			(g->cells > KS_TL_MAX_CELLS && tl->buckets > 1))) {
		g->cells = ks_timeline_halve(tl);
		bucket /= 2;
		g->bucket /= 2;
	}
	g->bucket = ks_max(g->bucket, (u32)bucket);
	tl->buckets = g->bucket + 1;
}

static struct ks_cell *cell_now(struct gather *g, struct ks_track *track)
{
	struct ks_cell *cell;

	if (track->cells.len) {
		cell = &track->cells.items[track->cells.len - 1];
		if (cell->bucket == g->bucket)
			return cell;
	}
	cell = ks_vec_push(&track->cells);
	if (!cell)
		return NULL;
	g->cells++;
	cell->bucket = g->bucket;
	cell->peak_bytes = track->live_bytes;
	return cell;
}

/*
 * What a group had at the peak of the whole is what it had when it next changed: so nobody has to
 * copy all groups whenever there is a new peak.
 */
static void keep_peak(const struct gather *g, struct ks_track *track)
{
	if (track->peak_seen == g->peak)
		return;
	track->peak_seen = g->peak;
	track->at_peak_bytes = track->live_bytes;
}

/* === Internals: events ==================================================================== */

static int track_alloc(struct gather *g, struct ks_track *track, const struct ks_event *ev,
		       bool unpaired)
{
	struct ks_cell *cell = cell_now(g, track);

	if (!cell)
		return -ENOMEM;
	keep_peak(g, track);
	cell->allocs++;
	cell->bytes += ev->bytes_alloc;
	cell->req += ev->bytes_req;
	if (unpaired) {
		cell->unpaired++;
		cell->ended_bytes += ev->bytes_alloc;
		cell->ended_req += ev->bytes_req;
		return 0;
	}
	track->live_bytes += ev->bytes_alloc;
	cell->peak_bytes = ks_max(cell->peak_bytes, track->live_bytes);
	return 0;
}

/* The track of an object in a grouping; NULL: it has none there. */
static struct ks_track *track_of(struct gather *g, const struct groups *groups, int dim)
{
	u32 number = groups->of[dim];

	return number == KS_NONE ? NULL : &g->tl->by[dim].items.items[number];
}

/* The end of an object. */
struct end {
	const struct ks_obj *obj;
	bool implied, cross;
	u64 life;
};

static int track_end(struct gather *g, struct ks_track *track, const struct end *end)
{
	struct ks_cell *cell = cell_now(g, track);

	if (!cell)
		return -ENOMEM;
	keep_peak(g, track);
	track->live_bytes -= end->obj->bytes_alloc;
	cell->ended_bytes += end->obj->bytes_alloc;
	cell->ended_req += end->obj->bytes_req;
	if (end->implied) {
		cell->implied++;
		return 0;
	}
	cell->frees++;
	cell->cross_cpu += end->cross;
	cell->life_sum += end->life;
	if (end->life < KS_TL_TEMPORARY_NS) {
		cell->temporary++;
		cell->temporary_bytes += end->obj->bytes_alloc;
	}
	return 0;
}

static int on_alloc(struct gather *g, const struct ks_event *ev, const struct ks_match *match)
{
	bool unpaired = match->op == KS_OP_ALLOC_UNPAIRED;
	struct groups groups;
	int dim, err = groups_of_event(g, ev, &groups);

	if (!err)
		err = count_links(g, &groups, ev->bytes_alloc);
	for (dim = 0; dim < KS_TL_DIMS && !err; dim++)
		if (track_of(g, &groups, dim))
			err = track_alloc(g, track_of(g, &groups, dim), ev, unpaired);
	if (!err)
		err = track_alloc(g, &g->tl->total, ev, unpaired);
	if (err || unpaired)
		return err;
	g->live_bytes += ev->bytes_alloc;
	if (g->live_bytes > g->peak_bytes) {
		g->peak_bytes = g->live_bytes;
		g->peak++;
	}
	while (g->in_slot.len <= match->slot)
		if (!ks_vec_push(&g->in_slot))
			return -ENOMEM;
	g->in_slot.items[match->slot] = groups;
	return 0;
}

static int on_end(struct gather *g, const struct ks_event *ev, const struct ks_match *match,
		  const struct ks_obj *obj)
{
	const struct groups *groups = &g->in_slot.items[match->slot];
	u64 now = ev->ts > g->tl->first_ts ? ev->ts - g->tl->first_ts : 0, born = ks_obj_ts(obj);
	u16 cpu = ks_min(ev->cpu, (u16)KS_OBJ_CPU_MAX);
	struct end end = {
		.obj = obj,
		.implied = match->op == KS_OP_ALLOC,
		.cross = obj->cpu != KS_OBJ_CPU_MAX && ev->cpu != KS_CPU_UNKNOWN && obj->cpu != cpu,
		.life = now > born ? now - born : 0,
	};
	struct ks_tl_ends *ends = &g->tl->ends[g->bucket];
	int dim, err;

	err = track_end(g, &g->tl->total, &end);
	for (dim = 0; dim < KS_TL_DIMS && !err; dim++)
		if (track_of(g, groups, dim))
			err = track_end(g, track_of(g, groups, dim), &end);
	g->live_bytes -= obj->bytes_alloc;
	if (!err && !end.implied) {
		struct ks_tl_count *count = &ends->by_life[ks_tl_size_class(obj->bytes_alloc)]
							  [ks_tl_life_class(end.life)];

		count->objects++;
		count->bytes += obj->bytes_alloc;
		if (obj->cpu != KS_OBJ_CPU_MAX && ev->cpu != KS_CPU_UNKNOWN)
			ends->by_cpus[ks_min(obj->cpu + 0, KS_TL_CPUS - 1)]
				     [ks_min(cpu + 0, KS_TL_CPUS - 1)]++;
	}
	return err;
}

static int on_event(void *ctx, const struct ks_engine *engine, const struct ks_event *ev,
		    const struct ks_match *match, bool counted)
{
	struct gather *g = ctx;
	const struct ks_obj *obj;

	if (ev->kind == KS_LOST)
		return 0;
	if (unlikely(!g->ready) && prepare(g, engine))
		return -ENOMEM;
	advance(g, ev->ts);
	if (match->level != g->level)
		return 0;
	if (match->op == KS_OP_FREE || match->reused) {
		obj = &engine->matcher.live[g->level].objs.items[match->slot];
		if (obj->counted && ks_account_in_window(&engine->account, ev->ts) &&
		    on_end(g, ev, match, obj))
			return -ENOMEM;
	}
	if (counted && (match->op == KS_OP_ALLOC || match->op == KS_OP_ALLOC_UNPAIRED))
		return on_alloc(g, ev, match);
	return 0;
}

/* === Internals: the end =================================================================== */

static int label_sites(struct gather *g, struct ks_places *places)
{
	const struct ks_map64 *sites = &g->keys[KS_TL_SITE].keys;
	struct ks_tracks *tracks = &g->tl->by[KS_TL_SITE];
	struct ks_arena *arena = &g->tl->arena;
	size_t i;

	for (i = 0; i < tracks->items.len; i++) {
		const struct ks_place *place = ks_places_get(places, (u32)sites->keys.items[i]);
		struct ks_track *track = &tracks->items.items[i];

		if (!place)
			return -ENOMEM;
		track->label = ks_arena_strndup(arena, place->label, strlen(place->label));
		track->func = ks_arena_strndup(arena, place->owner, strlen(place->owner));
		track->module = ks_arena_strndup(arena, place->module, strlen(place->module));
		track->path = ks_arena_strndup(arena, place->path, strlen(place->path));
		if (!track->label || !track->func || !track->module || !track->path)
			return -ENOMEM;
	}
	return 0;
}

static int label_stack(struct gather *g, const struct ks_engine *engine, struct ks_places *places,
		       u64 key, struct ks_track *track)
{
	const u32 *sites = ks_names_stack(engine->account.names, (u32)key, &track->frames_len);
	struct ks_arena *arena = &g->tl->arena;
	size_t i;

	track->site = (u32)(key >> 32);
	track->label = g->tl->by[KS_TL_SITE].items.items[track->site].label;
	track->func = track->module = track->path = "";
	track->frames = ks_arena_alloc(arena, (track->frames_len + 1) * sizeof(*track->frames));
	if (!track->frames)
		return -ENOMEM;
	for (i = 0; i < track->frames_len; i++) {
		const struct ks_place *place = ks_places_get(places, sites[i]);

		if (place)
			track->frames[i] =
				ks_arena_strndup(arena, place->label, strlen(place->label));
		if (!place || !track->frames[i])
			return -ENOMEM;
	}
	return 0;
}

static int label_stacks(struct gather *g, struct ks_engine *engine)
{
	struct ks_tracks *tracks = &g->tl->by[KS_TL_STACK];
	size_t i;

	for (i = 0; i < tracks->items.len; i++)
		if (label_stack(g, engine, &engine->account.frames, g->stacks.keys.items[i],
				&tracks->items.items[i]))
			return -ENOMEM;
	return 0;
}

static int label_tracks(struct gather *g, struct ks_places *places)
{
	size_t i;
	int dim;

	g->tl->total.label = "all";
	g->tl->total.func = g->tl->total.module = g->tl->total.path = "";
	for (dim = KS_TL_SITE + 1; dim < KEYED_DIMS; dim++) {
		for (i = 0; i < g->tl->by[dim].items.len; i++) {
			struct ks_track *track = &g->tl->by[dim].items.items[i];

			track->func = track->module = track->path = "";
			track->label = ks_account_label(&g->keys[dim], (u32)i, &g->tl->arena);
			if (!track->label)
				return -ENOMEM;
		}
	}
	return label_sites(g, places);
}

static struct ks_cell *cell_at(struct ks_track *track, u32 bucket)
{
	size_t low = 0, high = track->cells.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->cells.items[middle].bucket < bucket)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < track->cells.len && track->cells.items[low].bucket == bucket)
		return &track->cells.items[low];
	/* Time went back between the event and its neighbours: the last cell took it. */
	return &track->cells.items[track->cells.len - 1];
}

static void keep_object(struct ks_track *track, const struct ks_obj *obj, u32 bucket, u64 age)
{
	struct ks_cell *cell = cell_at(track, bucket);

	track->youngest = track->age_sum || track->oldest ? ks_min(track->youngest, age) : age;
	track->oldest = ks_max(track->oldest, age);
	track->age_sum += age;
	cell->kept++;
	cell->kept_bytes += obj->bytes_alloc;
}

/* What lives at the end goes to the cells that it was born in; sizes learn how many pages it holds. */
static int keep_living(struct gather *g, const struct ks_engine *engine)
{
	const struct ks_matcher *m = &engine->matcher;
	const struct ks_live *live = &m->live[g->level];
	u64 until = ks_min(m->last_ts, engine->account.until), end;
	struct ks_map64 pages;
	int dim, err = 0;
	size_t i;

	if (ks_map64_init(&pages))
		return -ENOMEM;
	end = until - ks_min(until, m->first_ts);
	for (i = 0; i < live->objs.len && !err; i++) {
		const struct ks_obj *obj = &live->objs.items[i];
		u64 born = ks_obj_ts(obj), age = end > born ? end - born : 0;
		u32 bucket = (u32)ks_min(born / g->tl->width, (u64)g->tl->buckets - 1);
		size_t known = pages.keys.len;

		if (obj->kind == KS_OBJ_DEAD || !obj->counted)
			continue;
		if (ks_map64_add(&pages, obj->ptr >> PAGE_SHIFT) == KS_NONE)
			err = -ENOMEM;
		keep_object(&g->tl->total, obj, bucket, age);
		for (dim = 0; dim < KS_TL_DIMS; dim++) {
			struct ks_track *track = track_of(g, &g->in_slot.items[i], dim);

			if (!track)
				continue;
			keep_object(track, obj, bucket, age);
			track->pages_held += dim == KS_TL_SIZE && pages.keys.len > known;
		}
	}
	ks_map64_deinit(&pages);
	return err;
}

static int finish(void *ctx, struct ks_engine *engine)
{
	struct gather *g = ctx;
	size_t i;
	int dim;

	if (!g->ready && prepare(g, engine))
		return -ENOMEM;
	keep_peak(g, &g->tl->total);
	for (dim = 0; dim < KS_TL_DIMS; dim++)
		for (i = 0; i < g->tl->by[dim].items.len; i++)
			keep_peak(g, &g->tl->by[dim].items.items[i]);
	if (label_tracks(g, &engine->account.places) || label_stacks(g, engine))
		return -ENOMEM;
	return keep_living(g, engine);
}

static const struct ks_observer observer = { .event = on_event, .finish = finish };

/* === Public =============================================================================== */

int ks_analyze_timeline(const char *path, const struct ks_analysis_opts *opts,
			struct ks_timeline **ret_timeline, struct ks_model **ret_model,
			struct ks_diag *diag)
{
	struct gather g = { .level = opts->level };
	struct ks_analysis_opts with = *opts;
	int dim, err = -ENOMEM;

	with.by = KS_BY_SITE;
	with.want_stacks = true;
	with.observer = &observer;
	with.observer_ctx = &g;
	g.tl = calloc(1, sizeof(*g.tl));
	if (g.tl) {
		ks_arena_init(&g.tl->arena);
		g.tl->ends = calloc(KS_TL_MAX_BUCKETS, sizeof(*g.tl->ends));
		if (g.tl->ends && !ks_map64_init(&g.link_numbers) && !ks_map64_init(&g.stacks))
			err = ks_analyze(path, &with, ret_model, diag);
		else
			ks_diag_nomem(diag, "adding up over time");
	}
	if (err) {
		ks_timeline_free(g.tl);
	} else {
		g.tl->has_time = strcmp((*ret_model)->clock, "none") != 0;
		*ret_timeline = g.tl;
	}
	for (dim = 0; dim < KEYED_DIMS; dim++)
		if (g.ready)
			ks_account_deinit(&g.keys[dim]);
	ks_map64_deinit(&g.link_numbers);
	ks_map64_deinit(&g.stacks);
	ks_vec_free(&g.in_slot);
	ks_vec_free(&g.last);
	return err;
}
