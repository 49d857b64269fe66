// SPDX-License-Identifier: LGPL-2.1-only
/* The end of a timeline: what its groups are called, and which of them belong together. */
#include <errno.h>
#include <string.h>

#include "analysis/timeline-state.h"

/* === Internals ============================================================================ */

static const char *keep(struct ks_tl_gather *g, const char *s)
{
	return ks_arena_strndup(&g->tl->arena, s, strlen(s));
}

static int label_sites(struct ks_tl_gather *g, struct ks_places *places, struct ks_diag *diag)
{
	const struct ks_grouping *sites = &g->keys[KS_TL_SITE];
	struct ks_tracks *tracks = &g->tl->by[KS_TL_SITE];
	size_t i;

	for (i = 0; i < tracks->items.len; i++) {
		struct ks_track *track = &tracks->items.items[i];
		const struct ks_place *place;
		int err = ks_places_get(places, ks_grouping_site_of(sites, (u32)i), &place, diag);

		if (err)
			return err;
		track->label = keep(g, place->label);
		track->func = keep(g, place->owner);
		track->module = keep(g, place->module);
		track->path = keep(g, place->path);
		if (!track->label || !track->func || !track->module || !track->path)
			return ks_diag_nomem(diag, "adding up over time");
	}
	return 0;
}

static int label_stack(struct ks_tl_gather *g, struct ks_places *frames, u64 key,
		       struct ks_track *track, struct ks_diag *diag)
{
	const u32 *ids = ks_names_stack(g->names, (u32)key, &track->frames_len);
	size_t i;

	track->site = (u32)(key >> 32);
	track->label = g->tl->by[KS_TL_SITE].items.items[track->site].label;
	track->func = track->module = track->path = "";
	track->frames =
		ks_arena_alloc(&g->tl->arena, (track->frames_len + 1) * sizeof(*track->frames));
	if (!track->frames)
		return ks_diag_nomem(diag, "adding up over time");
	for (i = 0; i < track->frames_len; i++) {
		const struct ks_place *place;
		int err = ks_places_get(frames, ids[i], &place, diag);

		if (err)
			return err;
		track->frames[i] = keep(g, place->label);
		if (!track->frames[i])
			return ks_diag_nomem(diag, "adding up over time");
	}
	return 0;
}

static u64 link_key(u32 site, enum ks_tl_dim dim, u32 group)
{
	return ((u64)site * (KS_TL_PID + 1) + (u32)dim) << 32 | group;
}

static int add_link(struct ks_tl_gather *g, struct ks_map64 *known, u32 site, enum ks_tl_dim dim,
		    u32 group, const struct ks_tl_count *count)
{
	u32 number = ks_map64_add(known, link_key(site, dim, group));
	struct ks_tl_link *link;

	if (number == KS_NONE)
		return -ENOMEM;
	if (number == g->tl->links.len) {
		link = ks_vec_push(&g->tl->links);
		if (!link)
			return -ENOMEM;
		*link = (struct ks_tl_link){ .site = site, .group = group, .dim = dim };
	}
	g->tl->links.items[number].allocs += count->objects;
	g->tl->links.items[number].bytes += count->bytes;
	return 0;
}

static void hold(struct ks_tl_gather *g, const struct ks_map64 *known, u32 site, enum ks_tl_dim dim,
		 u32 group, u64 bytes)
{
	u32 number = ks_map64_find(known, link_key(site, dim, group));

	if (number == KS_NONE)
		return;
	g->tl->links.items[number].live++;
	g->tl->links.items[number].live_bytes += bytes;
}

/* Who holds what lives at the end. */
static void link_living(struct ks_tl_gather *g, const struct ks_map64 *known)
{
	size_t i;

	for (i = 0; i < g->in_slot.len + g->left.len; i++) {
		const struct ks_tl_birth *birth = i < g->in_slot.len
							  ? &g->in_slot.items[i]
							  : &g->left.items[i - g->in_slot.len];
		const struct kind *kind;
		const struct owner *owner;
		u64 bytes;

		if (birth->kind == KS_NONE)
			continue;
		kind = &g->kinds.items[birth->kind];
		owner = &g->owners.items[birth->owner];
		bytes = birth->bytes_alloc;
		hold(g, known, kind->track[0], KS_TL_CACHE, kind->track[1], bytes);
		hold(g, known, kind->track[0], KS_TL_SIZE, kind->track[2], bytes);
		hold(g, known, kind->track[0], KS_TL_COMM, owner->track[0], bytes);
		hold(g, known, kind->track[0], KS_TL_CPU, owner->track[1], bytes);
		hold(g, known, kind->track[0], KS_TL_PID, owner->pid, bytes);
	}
}

/* === Public =============================================================================== */

int ks_tl_label(struct ks_tl_gather *g, struct ks_places *places, struct ks_places *frames,
		struct ks_diag *diag)
{
	struct ks_tracks *stacks = &g->tl->by[KS_TL_STACK];
	size_t i;
	int dim, err;

	g->tl->total.label = "all";
	g->tl->total.func = g->tl->total.module = g->tl->total.path = "";
	for (dim = KS_TL_SITE + 1; dim < KEYED_DIMS; dim++) {
		for (i = 0; i < g->tl->by[dim].items.len; i++) {
			struct ks_track *track = &g->tl->by[dim].items.items[i];

			track->func = track->module = track->path = "";
			track->label = ks_grouping_label(&g->keys[dim], (u32)i, &g->tl->arena);
			if (!track->label)
				return ks_diag_nomem(diag, "adding up over time");
		}
	}
	for (i = 0; i < g->tl->pids.len; i++) {
		struct ks_tl_pid *pid = &g->tl->pids.items[i];

		pid->comm = keep(g, ks_intern_get(&g->names->comms, pid->comm_id).s);
		if (!pid->comm)
			return ks_diag_nomem(diag, "adding up over time");
	}
	err = label_sites(g, places, diag);
	for (i = 0; i < stacks->items.len && !err; i++)
		err = label_stack(g, frames, g->stacks.keys.items[i], &stacks->items.items[i],
				  diag);
	return err;
}

int ks_tl_link_groups(struct ks_tl_gather *g)
{
	struct ks_map64 known;
	int err = ks_map64_init(&known);
	size_t i;

	for (i = 0; i < g->kinds.len && !err; i++) {
		const struct kind *kind = &g->kinds.items[i];
		struct ks_tl_count count = { kind->allocs, kind->bytes };

		if (!kind->allocs)
			continue;
		err = add_link(g, &known, kind->track[0], KS_TL_CACHE, kind->track[1], &count);
		if (!err)
			err = add_link(g, &known, kind->track[0], KS_TL_SIZE, kind->track[2],
				       &count);
	}
	for (i = 0; i < g->pairs.len && !err; i++) {
		u32 site = (u32)(g->pair_keys.keys.items[i] >> 32);
		const struct owner *owner = &g->owners.items[(u32)g->pair_keys.keys.items[i]];

		err = add_link(g, &known, site, KS_TL_COMM, owner->track[0], &g->pairs.items[i]);
		if (!err)
			err = add_link(g, &known, site, KS_TL_CPU, owner->track[1],
				       &g->pairs.items[i]);
		if (!err)
			err = add_link(g, &known, site, KS_TL_PID, owner->pid, &g->pairs.items[i]);
	}
	if (!err)
		link_living(g, &known);
	ks_map64_deinit(&known);
	return err;
}
