// SPDX-License-Identifier: LGPL-2.1-only
/* What is known of a capture as a whole. */
#include "analysis/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"

/* === Internals ============================================================================ */

/* The plain counters, in the order of the file. */
static size_t counters_of(struct ks_facts *facts, u64 *ret[], size_t cap)
{
	u64 *all[] = { &facts->first_ts,       &facts->last_ts,		  &facts->lines,
		       &facts->lines_comment,  &facts->lines_other_event, &facts->lines_stack,
		       &facts->misuses_dropped };

	memcpy(ret, all, ks_min(sizeof(all), cap * sizeof(*ret)));
	return ARRAY_SIZE(all);
}

enum { COUNTERS = 8 };

/* Bits of a DB. */
enum { PTRS_HASHED = 1 << 0, SOME_TASKS = 1 << 1, HOOKS_SHIFT = 2 }; /* hooks: 4 bits */

enum { BULK_ALLOCS = 8 }; /* of hooks, as in struct ks_model */

/* Of the quality counters, those that every DB has. */
enum { QUALITIES_LEAST = KS_Q_SELF + 1 };

static void unpack_text(struct ks_bytes *b, char *to, size_t cap)
{
	size_t len = 0;
	const char *s = ks_bytes_string(b, &len);

	if (!s)
		return;
	len = ks_min(len, cap - 1);
	memcpy(to, s, len);
	to[len] = '\0';
}

/* By its name; an unknown one is as good as none. */
static enum ks_clock unpack_clock(struct ks_bytes *b)
{
	char name[16] = "";
	int clock;

	unpack_text(b, name, sizeof(name));
	for (clock = 0; clock < KS_CLOCKS; clock++)
		if (!strcmp(name, ks_clock_name((enum ks_clock)clock)))
			return (enum ks_clock)clock;
	return KS_CLOCK_NONE;
}

/* A DB of an older program has fewer counters, down to @least; more are a newer program's. */
static void unpack_counts(struct ks_bytes *b, u64 *to, u64 least, u64 known)
{
	u64 count = ks_bytes_varint(b), i;

	if (count < least || count > known) {
		b->overrun = true;
		return;
	}
	for (i = 0; i < count; i++)
		to[i] = ks_bytes_varint(b);
}

static int unpack_misuses(struct ks_facts *facts, struct ks_bytes *b)
{
	u64 count = ks_bytes_varint(b), i;

	for (i = 0; i < count && !b->overrun; i++) {
		struct ks_facts_misuse *item = ks_vec_push(&facts->misuses);

		if (!item)
			return -ENOMEM;
		item->what = (enum ks_quality)ks_bytes_varint(b);
		item->misuse.alloc_site = (u32)ks_bytes_varint(b) - 1;
		item->misuse.free_site = (u32)ks_bytes_varint(b) - 1;
		item->misuse.count = ks_bytes_varint(b);
		item->misuse.first_ts = ks_bytes_varint(b);
		item->misuse.ptr = ks_bytes_varint(b);
		if (item->what >= KS_QUALITIES)
			return KS_EBADINPUT;
	}
	return 0;
}

static int unpack_samples(struct ks_facts *facts, struct ks_bytes *b)
{
	u64 count = ks_bytes_varint(b), i;

	for (i = 0; i < count && !b->overrun; i++) {
		size_t len;
		const char *s = ks_bytes_string(b, &len);
		char **sample;

		if (!s)
			return KS_EBADINPUT;
		sample = ks_vec_push(&facts->unparsed);
		if (!sample)
			return -ENOMEM;
		*sample = strndup(s, len);
		if (!*sample)
			return -ENOMEM;
	}
	return 0;
}

static int label_site(struct ks_places *places, struct ks_arena *arena, u32 site,
		      const char **ret_label, struct ks_diag *diag)
{
	const struct ks_place *place;
	int err;

	*ret_label = "";
	if (site == KS_NONE)
		return 0;
	err = ks_places_get(places, site, &place, diag);
	if (err)
		return err;
	*ret_label = ks_arena_strndup(arena, place->label, strlen(place->label));
	return *ret_label ? 0 : ks_diag_nomem(diag, "gathering results");
}

static int fill_finding(const struct ks_facts_misuse *item, struct ks_places *places,
			struct ks_model *model, struct ks_diag *diag)
{
	struct ks_finding *finding = ks_vec_push(&model->findings);
	int err;

	if (!finding)
		return ks_diag_nomem(diag, "gathering results");
	finding->what = item->what;
	finding->count = item->misuse.count;
	finding->first_ts = item->misuse.first_ts;
	finding->ptr = item->misuse.ptr;
	err = label_site(places, &model->arena, item->misuse.alloc_site, &finding->alloc_site,
			 diag);
	if (!err)
		err = label_site(places, &model->arena, item->misuse.free_site, &finding->free_site,
				 diag);
	return err;
}

/*
 * Kernels that free without an event allocate without one, too: from bulk lists and sheaves, or in a page that
 * went to another cache. Then a second free, or one by the wrong function, is most likely of another object. Where
 * probes see all frees, as on 6.1, but not what is allocated in bulk, no end is unseen, and beginnings are.
 */
static bool is_explained(const struct ks_facts *facts, enum ks_quality what)
{
	if (what != KS_Q_SECOND_FREES && what != KS_Q_CACHE_FREE_OF_KMALLOC)
		return false;
	if (facts->hooks && !(facts->hooks & BULK_ALLOCS))
		return true;
	return facts->quality[KS_Q_IMPLIED_FREES] || facts->quality[KS_Q_PAGE_FREES] ||
	       facts->quality[KS_Q_CENSUS_FREES] || facts->quality[KS_Q_LOST_WINDOWS];
}

/* What the capture itself explains is no misuse, but a number. */
static void explain(const struct ks_facts *facts, struct ks_model *model)
{
	int q;

	for (q = 0; q < KS_QUALITIES; q++) {
		if (!is_explained(facts, (enum ks_quality)q))
			continue;
		model->quality[KS_Q_REUSED] += model->quality[q];
		model->quality[q] = 0;
	}
}

/* A second free is of another object than the first, or of the same: then it is a finding. */
static int fill_strays(const struct ks_facts *facts, const struct ks_names *names,
		       struct ks_model *model)
{
	bool proves = is_explained(facts, KS_Q_SECOND_FREES);
	size_t i;

	for (i = 0; i < facts->strays.len; i++) {
		const struct ks_facts_stray *stray = &facts->strays.items[i];
		const char *cache = "";
		struct ks_unseen_allocs *unseen = ks_vec_push(&model->unseen_allocs);

		if (unseen && stray->cache != KS_NONE)
			cache = names->caches.strs.items[stray->cache].s;
		if (unseen)
			unseen->cache = ks_arena_strndup(&model->arena, cache, strlen(cache));
		if (!unseen || !unseen->cache)
			return -ENOMEM;
		unseen->frees = stray->frees.before + stray->frees.again;
		unseen->least = proves ? stray->frees.again : 0;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_facts_init(struct ks_facts *facts, const struct ks_matcher *m,
		  const struct ks_source_info *info)
{
	size_t i, what;

	memset(facts, 0, sizeof(*facts));
	snprintf(facts->format, sizeof(facts->format), "%s", info->format);
	facts->clock = info->clock;
	facts->page_shift = info->page_shift;
	if (m) {
		memcpy(facts->events, m->events, sizeof(facts->events));
		memcpy(facts->quality, m->quality, sizeof(facts->quality));
		facts->first_ts = m->first_ts;
		facts->last_ts = m->last_ts;
	}
	facts->quality[KS_Q_UNPARSED] += info->text.unparsed + info->binary.bad_records;
	facts->quality[KS_Q_SELF] += info->binary.self_events;
	facts->quality[KS_Q_BULK_MISSED] += info->binary.bulk_missed;
	facts->quality[KS_Q_PROBES_MISSED] += info->binary.probes_missed;
	facts->quality[KS_Q_STACKS_ALONE] += info->stacks_alone;
	facts->quality[KS_Q_OVERWRITTEN] += info->overwritten;
	facts->quality[KS_Q_NOT_ALLOCATED] += info->map.not_allocated;
	facts->quality[KS_Q_GUESSED] += info->map.guessed;
	facts->quality[KS_Q_UNSEEN_FREES] += info->map.unseen;
	facts->quality[KS_Q_TIMELESS_FREES] += info->map.timeless;
	facts->quality[KS_Q_ACCESSES] += info->map.accesses + info->map.orphans + info->map.calls;
	facts->lines = info->text.lines;
	facts->lines_comment = info->text.comments;
	facts->lines_other_event = info->text.other_events + info->binary.other_events;
	facts->lines_stack = info->text.stack_lines;
	facts->ptrs_hashed = info->ptrs_hashed;
	facts->some_tasks = info->some_tasks;
	facts->hooks = info->hooks & 15;
	facts->host = info->host;
	for (what = 0; m && what < KS_QUALITIES; what++) {
		const struct ks_misuses *misuses = &m->misuses[what];

		facts->misuses_dropped += misuses->dropped;
		for (i = 0; i < misuses->items.len; i++) {
			struct ks_facts_misuse *item = ks_vec_push(&facts->misuses);

			if (!item)
				return -ENOMEM;
			item->what = (enum ks_quality)what;
			item->misuse = misuses->items.items[i];
		}
	}
	for (i = 0; m && i < m->strays.len; i++) {
		const struct ks_stray *frees = &m->strays.items[i];
		struct ks_facts_stray *stray;

		if (!frees->before && !frees->again)
			continue;
		stray = ks_vec_push(&facts->strays);
		if (!stray)
			return -ENOMEM;
		*stray = (struct ks_facts_stray){ (u32)i - 1, *frees };
	}
	for (i = 0; i < info->text.samples.len; i++) {
		char **sample = ks_vec_push(&facts->unparsed);

		if (!sample)
			return -ENOMEM;
		*sample = strdup(info->text.samples.items[i]);
		if (!*sample)
			return -ENOMEM;
	}
	return 0;
}

void ks_facts_deinit(struct ks_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->unparsed.len; i++)
		free(facts->unparsed.items[i]);
	ks_vec_free(&facts->unparsed);
	ks_vec_free(&facts->misuses);
	ks_vec_free(&facts->strays);
}

void ks_facts_pack(const struct ks_facts *facts, struct ks_strbuf *sb)
{
	struct ks_facts copy = *facts;
	u64 *counters[COUNTERS];
	size_t n = counters_of(&copy, counters, COUNTERS), qualities = KS_QUALITIES, i;

	ks_pack_string(sb, facts->format, strlen(facts->format));
	ks_pack_string(sb, ks_clock_name(facts->clock), strlen(ks_clock_name(facts->clock)));
	ks_pack_varint(sb, (facts->ptrs_hashed ? PTRS_HASHED : 0) |
				   (facts->some_tasks ? SOME_TASKS : 0) |
				   (u64)facts->hooks << HOOKS_SHIFT);
	for (i = 0; i < n; i++)
		ks_pack_varint(sb, *counters[i]);
	ks_pack_varint(sb, KS_KINDS);
	for (i = 0; i < KS_KINDS; i++)
		ks_pack_varint(sb, facts->events[i]);
	/* What is 0 is not worth a DB that older programs refuse. */
	while (qualities > QUALITIES_LEAST && !facts->quality[qualities - 1])
		qualities--;
	ks_pack_varint(sb, qualities);
	for (i = 0; i < qualities; i++)
		ks_pack_varint(sb, facts->quality[i]);
	ks_pack_varint(sb, facts->misuses.len);
	for (i = 0; i < facts->misuses.len; i++) {
		const struct ks_misuse *misuse = &facts->misuses.items[i].misuse;

		ks_pack_varint(sb, facts->misuses.items[i].what);
		ks_pack_varint(sb, (u32)(misuse->alloc_site + 1));
		ks_pack_varint(sb, (u32)(misuse->free_site + 1));
		ks_pack_varint(sb, misuse->count);
		ks_pack_varint(sb, misuse->first_ts);
		ks_pack_varint(sb, misuse->ptr);
	}
	ks_pack_varint(sb, facts->unparsed.len);
	for (i = 0; i < facts->unparsed.len; i++)
		ks_pack_string(sb, facts->unparsed.items[i], strlen(facts->unparsed.items[i]));
}

int ks_facts_unpack(struct ks_facts *facts, struct ks_bytes *b)
{
	u64 *counters[COUNTERS], flags;
	size_t n, i;
	int err;

	memset(facts, 0, sizeof(*facts));
	n = counters_of(facts, counters, COUNTERS);
	unpack_text(b, facts->format, sizeof(facts->format));
	facts->clock = unpack_clock(b);
	facts->page_shift = KS_PAGE_SHIFT;
	flags = ks_bytes_varint(b);
	facts->ptrs_hashed = flags & PTRS_HASHED;
	facts->some_tasks = flags & SOME_TASKS;
	facts->hooks = flags >> HOOKS_SHIFT & 15;
	for (i = 0; i < n; i++)
		*counters[i] = ks_bytes_varint(b);
	unpack_counts(b, facts->events, KS_KINDS, KS_KINDS);
	unpack_counts(b, facts->quality, QUALITIES_LEAST, KS_QUALITIES);
	err = unpack_misuses(facts, b);
	if (!err)
		err = unpack_samples(facts, b);
	return err ? err : b->overrun ? KS_EBADINPUT : 0;
}

void ks_facts_pack_strays(const struct ks_facts *facts, struct ks_strbuf *sb)
{
	size_t i;

	ks_pack_varint(sb, facts->strays.len);
	for (i = 0; i < facts->strays.len; i++) {
		const struct ks_facts_stray *stray = &facts->strays.items[i];

		ks_pack_varint(sb, (u32)(stray->cache + 1));
		ks_pack_varint(sb, stray->frees.before);
		ks_pack_varint(sb, stray->frees.again);
	}
}

int ks_facts_unpack_strays(struct ks_facts *facts, struct ks_bytes *b, size_t caches)
{
	u64 count, i;

	/* A DB of an older program ends here. */
	if (b->overrun || !ks_bytes_left(b))
		return b->overrun ? KS_EBADINPUT : 0;
	count = ks_bytes_varint(b);
	for (i = 0; i < count && !b->overrun; i++) {
		struct ks_facts_stray *stray = ks_vec_push(&facts->strays);
		u64 cache = ks_bytes_varint(b);

		if (!stray)
			return -ENOMEM;
		if (cache > caches)
			return KS_EBADINPUT;
		stray->cache = (u32)cache - 1;
		stray->frees.before = ks_bytes_varint(b);
		stray->frees.again = ks_bytes_varint(b);
	}
	return b->overrun ? KS_EBADINPUT : 0;
}

int ks_facts_fill(const struct ks_facts *facts, const struct ks_names *names,
		  struct ks_places *places, struct ks_model *model, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	model->format = ks_arena_strndup(&model->arena, facts->format, strlen(facts->format));
	model->clock = facts->clock;
	model->page_shift = facts->page_shift;
	model->kernel =
		ks_arena_strndup(&model->arena, facts->host.kernel, strlen(facts->host.kernel));
	model->arch = ks_arena_strndup(&model->arena, facts->host.arch, strlen(facts->host.arch));
	model->cpus = facts->host.cpus;
	if (!model->format || !model->kernel || !model->arch)
		return ks_diag_nomem(diag, "gathering results");
	memcpy(model->events, facts->events, sizeof(model->events));
	memcpy(model->quality, facts->quality, sizeof(model->quality));
	for (i = 0; i < KS_KINDS; i++)
		model->events_total += i == KS_LOST ? 0 : facts->events[i];
	model->first_ts = facts->first_ts;
	model->last_ts = facts->last_ts;
	model->lines = facts->lines;
	model->lines_comment = facts->lines_comment;
	model->lines_other_event = facts->lines_other_event;
	model->lines_stack = facts->lines_stack;
	model->ptrs_hashed = facts->ptrs_hashed;
	model->some_tasks = facts->some_tasks;
	model->hooks = facts->hooks;
	model->findings_dropped = facts->misuses_dropped;
	model->sites = names->sites.sites.len;
	model->caches = names->caches.strs.len;
	model->comms = names->comms.strs.len;
	explain(facts, model);
	if (fill_strays(facts, names, model))
		return ks_diag_nomem(diag, "gathering results");
	for (i = 0; i < facts->misuses.len && !err; i++)
		if (!is_explained(facts, facts->misuses.items[i].what))
			err = fill_finding(&facts->misuses.items[i], places, model, diag);
	for (i = 0; i < facts->unparsed.len && !err; i++) {
		const char **sample = ks_vec_push(&model->unparsed);

		if (sample)
			*sample = ks_arena_strndup(&model->arena, facts->unparsed.items[i],
						   strlen(facts->unparsed.items[i]));
		if (!sample || !*sample)
			err = ks_diag_nomem(diag, "gathering results");
	}
	return err;
}
