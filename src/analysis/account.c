// SPDX-License-Identifier: LGPL-2.1-only
/* Accounting by group. */
#include "analysis/account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

/* Keys of kmalloc's size classes among the keys of named caches. */
#define KMALLOC_CLASS (1ull << 63)
#define UNNAMED	      (1ull << 62)

/* === Internals ============================================================================ */

/* Both levels get the same group numbers, so that one number serves wherever it is met. */
static u32 group_of_key(struct ks_account *acc, u64 key)
{
	u32 group = ks_map64_add(&acc->keys, key);
	int level;

	if (group == KS_NONE)
		return KS_NONE;
	for (level = 0; level < KS_LEVELS; level++)
		while (acc->tally[level].groups.len <= group)
			if (!ks_vec_push(&acc->tally[level].groups))
				return KS_NONE;
	return group;
}

/* Functions and modules: names are numbers in acc->strings; KS_NONE stands for an unknown one. */
static u32 group_of_name(struct ks_account *acc, const char *name)
{
	u32 id = KS_NONE;

	if (*name) {
		id = ks_intern_add(&acc->strings, name, strlen(name));
		if (id == KS_NONE)
			return KS_NONE;
	}
	return group_of_key(acc, id);
}

static u32 new_site_group(struct ks_account *acc, u32 site)
{
	const struct ks_place *place;

	if (acc->by == KS_BY_SITE)
		return group_of_key(acc, site);
	place = ks_places_get(&acc->places, site);
	if (!place)
		return KS_NONE;
	if (acc->by == KS_BY_MODULE)
		return group_of_name(acc,
				     *place->module || !*place->func ? place->module : "kernel");
	return group_of_name(acc, place->owner);
}

static const char *number_label(struct ks_arena *arena, const char *format, u64 value)
{
	char text[64];
	int len = snprintf(text, sizeof(text), format, (unsigned long long)value);

	return ks_arena_strndup(arena, text, (size_t)len);
}

static const char *string_label(struct ks_arena *arena, const struct ks_intern *in, u64 key)
{
	struct ks_str s = ks_intern_get(in, (u32)key);

	if (key >= in->strs.len)
		return "unknown";
	return ks_arena_strndup(arena, s.s, s.len);
}

static const char *cache_label(struct ks_account *acc, struct ks_arena *arena, u64 key)
{
	if (key & KMALLOC_CLASS)
		return number_label(arena, "kmalloc of %llu bytes", key & ~KMALLOC_CLASS);
	if (key & UNNAMED)
		return number_label(arena, "unnamed cache of %llu bytes", key & ~UNNAMED);
	return string_label(arena, &acc->names->caches, key);
}

static const char *label_of(struct ks_account *acc, struct ks_arena *arena, u64 key)
{
	switch (acc->by) {
	case KS_BY_FUNCTION:
	case KS_BY_MODULE:
		return string_label(arena, &acc->strings, key);
	case KS_BY_CACHE:
		return cache_label(acc, arena, key);
	case KS_BY_COMM:
		return string_label(arena, &acc->names->comms, key);
	case KS_BY_GFP:
		return string_label(arena, &acc->names->gfps, key);
	case KS_BY_PID:
		return key == KS_PID_UNKNOWN ? "unknown" : number_label(arena, "%llu", key);
	case KS_BY_CPU:
		return key == KS_CPU_UNKNOWN ? "unknown" : number_label(arena, "%llu", key);
	case KS_BY_NODE:
		return key == (u32)-1 ? "any" : number_label(arena, "%llu", key);
	case KS_BY_SIZE:
		return number_label(arena, "%llu", key);
	case KS_BY_SITE:
	case KS_BY_STACK:
	case KS_BY_SAMPLE:
		break;
	}
	return "?";
}

static int fill_site(struct ks_account *acc, u32 site, struct ks_arena *arena,
		     struct ks_group *group)
{
	const struct ks_place *place = ks_places_get(&acc->places, site);
	const struct ks_site *raw = ks_sites_get(&acc->names->sites, site);

	if (!place)
		return -ENOMEM;
	group->label = ks_arena_strndup(arena, place->label, strlen(place->label));
	group->func = ks_arena_strndup(arena, place->func, strlen(place->func));
	group->module = ks_arena_strndup(arena, place->module, strlen(place->module));
	group->path = ks_arena_strndup(arena, place->path, strlen(place->path));
	group->inlined = ks_arena_strndup(arena, place->inlined, strlen(place->inlined));
	group->text = ks_arena_strndup(arena, raw->text, strlen(raw->text));
	group->offset = place->offset;
	group->addr = raw->addr;
	if (!group->label || !group->func || !group->module || !group->path || !group->inlined ||
	    !group->text)
		return -ENOMEM;
	return 0;
}

static int fill_origin(struct ks_account *acc, u32 number, struct ks_arena *arena,
		       struct ks_group *group)
{
	struct ks_origin origin = ks_origin_get(&acc->strings, number);

	if (fill_site(acc, origin.site, arena, group) ||
	    ks_origin_fill(acc->names, origin.stack, &acc->frames, arena, group))
		return -ENOMEM;
	if (acc->by == KS_BY_SAMPLE)
		group->cache = cache_label(acc, arena, origin.cache);
	return group->cache ? 0 : -ENOMEM;
}

static u64 cache_key(const struct ks_group_key *key)
{
	if (key->kind == KS_KMALLOC)
		return key->bytes_alloc | KMALLOC_CLASS;
	if (key->cache == KS_NONE && key->kind == KS_CACHE_ALLOC)
		return key->bytes_alloc | UNNAMED;
	return key->cache;
}

static u32 group_of_origin(struct ks_account *acc, const struct ks_group_key *key)
{
	struct ks_origin origin = {
		.cache = acc->by == KS_BY_SAMPLE ? cache_key(key) : 0,
		.site = key->site,
	};
	u32 number;

	if (ks_alike_find(&acc->alike, acc->names, key->stack, &origin.stack))
		return KS_NONE;
	number = ks_origin_add(&acc->strings, origin);
	return number == KS_NONE ? KS_NONE : group_of_key(acc, number);
}

static bool is_named(const struct ks_intern *names, u32 id, const char *name)
{
	return id != KS_NONE && !strcmp(ks_intern_get(names, id).s, name);
}

/* The function, or "function+0xoffset", with or without the module that follows. */
static bool is_site(const struct ks_place *place, const char *site)
{
	size_t len = strlen(site);

	return !strcmp(place->func, site) ||
	       (!strncmp(place->label, site, len) &&
		(!place->label[len] || !strncmp(place->label + len, " [", 2)));
}

/* === Public =============================================================================== */

int ks_account_init(struct ks_account *acc, enum ks_by by, const struct ks_filter *filter,
		    const struct ks_names *names, struct ks_resolver *resolver)
{
	memset(acc, 0, sizeof(*acc));
	acc->by = by;
	acc->filter = *filter;
	acc->names = names;
	acc->until = UINT64_MAX;
	ks_places_init(&acc->places, &names->sites, resolver, filter->branch);
	ks_places_init(&acc->frames, &names->frames, resolver, NULL);
	if (ks_map64_init(&acc->keys) || ks_intern_init(&acc->strings) ||
	    ks_alike_init(&acc->alike)) {
		ks_account_deinit(acc);
		return -ENOMEM;
	}
	return 0;
}

void ks_account_deinit(struct ks_account *acc)
{
	int level;

	for (level = 0; level < KS_LEVELS; level++)
		ks_vec_free(&acc->tally[level].groups);
	ks_vec_free(&acc->group_of_site);
	ks_map64_deinit(&acc->keys);
	ks_intern_deinit(&acc->strings);
	ks_alike_deinit(&acc->alike);
	ks_places_deinit(&acc->places);
	ks_places_deinit(&acc->frames);
}

struct ks_stat ks_tally_total(const struct ks_tally *tally)
{
	struct ks_stat sum = { .peak_bytes = tally->total.peak_bytes,
			       .peak_ts = tally->total.peak_ts,
			       .first_ts = UINT64_MAX };
	size_t i;

	for (i = 0; i < tally->groups.len; i++) {
		const struct ks_stat *stat = &tally->groups.items[i];

		if (!stat->allocs && !stat->failed)
			continue;
		sum.allocs += stat->allocs;
		sum.frees += stat->frees;
		sum.implied_frees += stat->implied_frees;
		sum.failed += stat->failed;
		sum.total_bytes += stat->total_bytes;
		sum.total_req += stat->total_req;
		sum.live_objs += stat->live_objs;
		sum.live_bytes += stat->live_bytes;
		sum.live_req += stat->live_req;
		sum.first_ts = ks_min(sum.first_ts, stat->first_ts);
		sum.last_ts = ks_max(sum.last_ts, stat->last_ts);
	}
	if (sum.first_ts == UINT64_MAX)
		sum.first_ts = 0;
	return sum;
}

void ks_account_set_start(struct ks_account *acc, u64 first_ts)
{
	acc->since = ks_when_in_trace(&acc->filter.since, first_ts, 0);
	acc->until = ks_when_in_trace(&acc->filter.until, first_ts, UINT64_MAX);
}

int ks_account_passes_shape(struct ks_account *acc, const struct ks_group_key *key)
{
	const struct ks_filter *filter = &acc->filter;
	const struct ks_place *place;

	if (filter->malloc_only != filter->cache_only &&
	    key->kind != (filter->malloc_only ? KS_KMALLOC : KS_CACHE_ALLOC))
		return 0;
	if (filter->cache && !is_named(&acc->names->caches, key->cache, filter->cache))
		return 0;
	if (!filter->branch && !filter->site)
		return 1;
	place = ks_places_get(&acc->places, key->site);
	if (!place)
		return -ENOMEM;
	if (filter->site && !is_site(place, filter->site))
		return 0;
	return !filter->branch || place->in_branch;
}

bool ks_account_passes_task(const struct ks_account *acc, const struct ks_group_key *key)
{
	const struct ks_filter *filter = &acc->filter;

	return (!filter->by_cpu || key->cpu == filter->cpu) &&
	       (!filter->by_pid || key->pid == filter->pid) &&
	       (!filter->comm || is_named(&acc->names->comms, key->comm, filter->comm));
}

u32 ks_account_new_site(struct ks_account *acc, u32 site)
{
	size_t at = (u32)(site + 1);
	u32 *group;

	while (acc->group_of_site.len <= at) {
		group = ks_vec_push(&acc->group_of_site);
		if (!group)
			return KS_NONE;
		*group = KS_NONE;
	}
	group = &acc->group_of_site.items[at];
	*group = new_site_group(acc, site);
	return *group;
}

u32 ks_account_group(struct ks_account *acc, const struct ks_group_key *key)
{
	switch (acc->by) {
	case KS_BY_SITE:
	case KS_BY_FUNCTION:
	case KS_BY_MODULE:
		return ks_account_site(acc, key->site);
	case KS_BY_CACHE:
		return group_of_key(acc, cache_key(key));
	case KS_BY_SIZE:
		return group_of_key(acc, key->bytes_alloc);
	case KS_BY_PID:
		return group_of_key(acc, key->pid);
	case KS_BY_COMM:
		return group_of_key(acc, key->comm);
	case KS_BY_CPU:
		return group_of_key(acc, key->cpu);
	case KS_BY_NODE:
		return group_of_key(acc, (u32)key->node);
	case KS_BY_GFP:
		return group_of_key(acc, key->gfp);
	case KS_BY_STACK:
	case KS_BY_SAMPLE:
		return group_of_origin(acc, key);
	}
	return KS_NONE;
}

void ks_account_other(struct ks_account *acc, enum ks_level level, u32 group, bool failed, u64 req,
		      u64 bytes, u64 ts)
{
	struct ks_tally *tally = &acc->tally[level];

	if (failed)
		ks_stat_failed(&tally->groups.items[group], ts);
	else
		ks_stat_alloc_unpaired(&tally->groups.items[group], req, bytes, ts);
}

int ks_account_error(const struct ks_account *acc, struct ks_diag *diag)
{
	const struct ks_diag *why = acc->places.diag.err ? &acc->places.diag : &acc->frames.diag;

	if (!why->err)
		return ks_diag_nomem(diag, "accounting events");
	if (diag)
		*diag = *why;
	return why->err;
}

const char *ks_account_label(struct ks_account *acc, u32 group, struct ks_arena *arena)
{
	return label_of(acc, arena, acc->keys.keys.items[group]);
}

int ks_account_fill(struct ks_account *acc, enum ks_level level, struct ks_model *model)
{
	const struct ks_tally *tally = &acc->tally[level];
	struct ks_sums *sums = ks_vec_push(&model->accounts);
	size_t i;

	if (!sums)
		return -ENOMEM;
	sums->by = acc->by;
	model->level = level;
	for (i = 0; i < KS_LEVELS; i++)
		model->levels[i] = ks_tally_total(&acc->tally[i]);
	for (i = 0; i < tally->groups.len; i++) {
		u64 key = acc->keys.keys.items[i];
		struct ks_group *group;

		if (!tally->groups.items[i].allocs && !tally->groups.items[i].failed)
			continue;
		group = ks_vec_push(&sums->groups);
		if (!group)
			return -ENOMEM;
		group->stat = tally->groups.items[i];
		group->func = group->module = group->path = group->inlined = group->text =
			group->cache = "";
		if (acc->by == KS_BY_SITE) {
			if (fill_site(acc, (u32)key, &model->arena, group))
				return -ENOMEM;
		} else if (acc->by >= KS_BY_STACK) {
			if (fill_origin(acc, (u32)key, &model->arena, group))
				return -ENOMEM;
		} else {
			group->label = label_of(acc, &model->arena, key);
			if (!group->label)
				return -ENOMEM;
		}
	}
	return 0;
}
