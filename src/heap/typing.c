// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Typing goes in rounds. In the first, all objects of caches with a known type vote for what their pointers lead
 * to; in the next, those that have got a type by that; until a round brings nothing new. In a round the strongest
 * vote for an object wins, and among equals the type with the lowest number, so that threads don't matter.
 */
#include "heap/typing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/alloc-tags.h"
#include "heap/btf-modules.h"
#include "heap/code-names.h"
#include "heap/contents.h"
#include "heap/likeness.h"
#include "heap/shape.h"

/* === Data ================================================================================= */

/* As long as the longest chain of objects that are known by nothing but each other. A broken one must end, too. */
enum { ROUNDS_MAX = 1000 };

/* A vote: how strong above bit 24, and below it the type, inverted. The largest wins. */
enum strength {
	ELSEWHERE = 1,
	START,
	SHAPE,
	ALIKE,
	SCALARS,
	POINTERS,
	OPEN_UNION,
	UNION,
	OPEN,
	EXACT,
	RELEASED
};

#define TYPE_BITS 24
#define TYPE_MASK ((1u << TYPE_BITS) - 1)

struct round {
	struct ks_kernel *kernel;
	const struct ks_census *census;
	const struct ks_slots *slots;
	struct ks_typing *typing;
	const struct ks_slot_index *index;
	u32 *votes;			  /* by slot */
	u32 *floors;			  /* by cache */
	struct ks_candidates *candidates; /* by cache: what a merged one may have */
	bool first;    /* objects of typed caches vote; later the newly typed ones */
	bool last;     /* nothing stronger will come */
	u8 *fresh;     /* by slot: typed in the last round */
	u64 *frontier; /* slabs that have fresh objects */
	u64 *voted;    /* slabs that have got votes since the last round was settled */
};

static const char *const names[KS_KNOWN_WAYS] = {
	[KS_KNOWN_NOT] = "unknown", [KS_KNOWN_CACHE] = "cache",	  [KS_KNOWN_SLAB] = "slab",
	[KS_KNOWN_FIELD] = "field", [KS_KNOWN_UNION] = "union",	  [KS_KNOWN_START] = "start",
	[KS_KNOWN_SHAPE] = "shape", [KS_KNOWN_MERGED] = "merged", [KS_KNOWN_TEXT] = "contents",
	[KS_KNOWN_LIKE] = "like",   [KS_KNOWN_HOLDER] = "holder", [KS_KNOWN_TAG] = "tag",
	[KS_KNOWN_FILE] = "file",
};

/* === Internals: votes ===================================================================== */

static u32 strength_of(const struct ks_type *type, const struct ks_cache *cache, u32 floor,
		       bool in_union)
{
	if (type->form == KS_FORM_POINTERS)
		return in_union ? 0 : POINTERS;
	if (type->form == KS_FORM_SCALARS)
		return in_union ? 0 : SCALARS;
	if (type->size > cache->object_size)
		return 0;
	/* Often an old pointer, to memory that was freed and is another's now. It counts where nothing else is known. */
	if (type->has_cache)
		return in_union || type->size <= floor ? 0 : ELSEWHERE;
	if (type->size > floor)
		return in_union ? UNION : EXACT;
	if (type->open)
		return in_union ? OPEN_UNION : OPEN;
	return in_union ? 0 : START;
}

/* In a merged cache: the one of its types that is, or begins with, what the field says; else 0. */
static u32 candidate_of(const struct round *r, u32 cache, u32 type)
{
	const struct ks_candidates *c = &r->candidates[cache];
	u32 found = 0, i;

	for (i = 0; i < c->count; i++) {
		if (!ks_type_begins_with(r->typing->types, c->types[i], type))
			continue;
		if (found)
			return 0;
		found = c->types[i];
	}
	return found;
}

static bool has_slab(const u64 *set, size_t slab)
{
	return __atomic_load_n(&set[slab / 64], __ATOMIC_RELAXED) >> slab % 64 & 1;
}

static void add_slab(u64 *set, size_t slab)
{
	if (!has_slab(set, slab))
		__atomic_fetch_or(&set[slab / 64], 1ull << slab % 64, __ATOMIC_RELAXED);
}

static void vote(const struct round *r, u32 slot, u32 slab, const struct ks_type_field *field)
{
	u32 cache = r->census->pages->slabs.items[slab].cache, strength, value, now;
	u32 type = field->type;

	if (r->typing->cache_type[cache] || r->typing->of[slot] || !ks_slot_used(r->slots, slot))
		return;
	if (r->candidates[cache].merged) {
		type = candidate_of(r, cache, type);
		strength = !type ? 0 : field->in_union ? UNION : EXACT;
	} else {
		strength = strength_of(&r->typing->types->items.items[type],
				       &r->census->caches->items.items[cache], r->floors[cache],
				       field->in_union);
	}
	if (!strength)
		return;
	value = strength << TYPE_BITS | (TYPE_MASK - type);
	add_slab(r->voted, slab);
	now = __atomic_load_n(&r->votes[slot], __ATOMIC_RELAXED);
	while (now < value && !__atomic_compare_exchange_n(&r->votes[slot], &now, value, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void vote_of_object(const struct round *r, u32 type, const u8 *data, u32 size)
{
	const struct ks_types *types = r->typing->types;
	const struct ks_type *t = &types->items.items[type];
	const struct ks_type_field *field = types->fields.items + t->first_field;
	const struct ks_type_field *end = field + t->fields;
	u32 slot, slab;
	u64 to;

	for (; field < end; field++) {
		if (field->offset + 8 > size)
			continue;
		to = ks_u64_at(data, field->offset) - field->inside;
		slot = ks_slot_at(r->index, to, &slab);
		if (slot != KS_NONE)
			vote(r, slot, slab, field);
	}
}

static void vote_of_slab(void *arg, const struct ks_slab_view *view)
{
	const struct round *r = arg;
	u32 cache_type = r->first ? r->typing->cache_type[view->info->cache] : 0, type, slot, i;

	for (i = 0; i < view->info->objects; i++) {
		slot = view->first + i;
		if (!ks_slot_used(r->slots, slot))
			continue;
		type = r->fresh[slot] ? r->typing->of[slot] : cache_type;
		if (type)
			vote_of_object(r, type, view->data + (size_t)i * view->cache->size,
				       view->cache->object_size);
	}
}

/* Objects of merged caches that have no type yet vote for themselves. */
static void judge_slab(void *arg, const struct ks_slab_view *view)
{
	const struct round *r = arg;
	const struct ks_shape shape = {
		.kernel = r->kernel,
		.census = r->census,
		.typing = r->typing,
		.index = r->index,
		.candidates = &r->candidates[view->info->cache],
		.cache = view->info->cache,
	};
	u32 i, slot, type;

	add_slab(r->voted, view->slab);
	for (i = 0; i < view->info->objects; i++) {
		slot = view->first + i;
		if (!ks_slot_used(r->slots, slot) || r->typing->of[slot])
			continue;
		type = ks_shape_judge(&shape, view->data + (size_t)i * view->cache->size,
				      view->cache->object_size);
		if (type)
			r->votes[slot] = (u32)SHAPE << TYPE_BITS | (TYPE_MASK - type);
	}
}

/* === Internals: rounds ==================================================================== */

static enum ks_known_by known_by_of(u32 strength)
{
	if (strength == START)
		return KS_KNOWN_START;
	if (strength == SHAPE)
		return KS_KNOWN_SHAPE;
	if (strength == ALIKE)
		return KS_KNOWN_LIKE;
	if (strength == RELEASED)
		return KS_KNOWN_FILE;
	return strength == UNION || strength == OPEN_UNION ? KS_KNOWN_UNION : KS_KNOWN_FIELD;
}

/* The winners in a slab get their type, and will vote in the next round. */
static int settle_slab(struct round *r, size_t slab, u64 *count)
{
	struct ks_typing *typing = r->typing;
	u32 slot, type, strength;
	int err;

	for (slot = r->slots->first[slab]; slot < r->slots->first[slab + 1]; slot++) {
		strength = r->votes[slot] >> TYPE_BITS;
		if (!strength || (strength == ELSEWHERE && !r->last))
			continue;
		type = TYPE_MASK - (r->votes[slot] & TYPE_MASK);
		typing->of[slot] = type;
		typing->known_by[slot] = (u8)known_by_of(strength);
		r->votes[slot] = 0;
		++*count;
		err = ks_types_expand(typing->types, type);
		if (err)
			return err;
		if (!typing->types->items.items[type].fields)
			continue;
		r->fresh[slot] = 1;
		add_slab(r->frontier, slab);
	}
	return 0;
}

/* Looks only at slabs where something has changed: a long chain has many rounds of one vote. */
static int settle(struct round *r, u64 *ret_count)
{
	size_t slabs = r->census->pages->slabs.len, slab;
	const u32 *first = r->slots->first;
	u64 count = 0;
	int err = 0;

	for (slab = 0; slab < slabs; slab++)
		if (has_slab(r->frontier, slab))
			memset(r->fresh + first[slab], 0, first[slab + 1] - first[slab]);
	memset(r->frontier, 0, (slabs / 64 + 1) * 8);
	for (slab = 0; !err && slab < slabs; slab++)
		if (has_slab(r->voted, slab))
			err = settle_slab(r, slab, &count);
	memset(r->voted, 0, (slabs / 64 + 1) * 8);
	*ret_count = count;
	return err;
}

/* All slabs are looked at when the next round is settled. */
static void vote_anywhere(struct round *r)
{
	memset(r->voted, 0xff, (r->census->pages->slabs.len / 64 + 1) * 8);
}

/* Arrays of charges are held by the slabs themselves. */
static int type_charges(struct round *r)
{
	const struct ks_pages *pages = r->census->pages;
	u32 type = ks_types_name(r->typing->types, "slabobj_ext[]", 13), slot, slab;
	size_t i;

	if (!type)
		return -ENOMEM;
	for (i = 0; i < pages->slabs.len; i++) {
		slot = ks_slot_at(r->index, pages->slabs.items[i].exts & ~7ull, &slab);
		if (slot == KS_NONE || !ks_slot_used(r->slots, slot) ||
		    r->typing->cache_type[pages->slabs.items[slab].cache])
			continue;
		r->typing->of[slot] = type;
		r->typing->known_by[slot] = KS_KNOWN_SLAB;
	}
	return 0;
}

static int type_caches(struct round *r)
{
	struct ks_typing *typing = r->typing;
	u32 i, k;
	int err;

	for (i = 0; i < r->census->caches->items.len; i++) {
		typing->cache_type[i] = ks_cache_type(typing->types, r->census->caches, i);
		r->floors[i] = ks_cache_floor(&r->census->caches->items.items[i]);
		r->candidates[i].merged = ks_cache_merged(&r->census->caches->items.items[i]);
		r->candidates[i].count =
			ks_cache_candidates(typing->types, r->census->caches, i, typing->aliases,
					    r->candidates[i].types, KS_CANDIDATES_MAX);
		for (k = 0; k < r->candidates[i].count; k++)
			typing->types->items.items[r->candidates[i].types[k]].has_cache = true;
		if (typing->cache_type[i])
			typing->types->items.items[typing->cache_type[i]].has_cache = true;
		err = typing->cache_type[i] ? ks_types_expand(typing->types, typing->cache_type[i])
					    : 0;
		if (err)
			return err;
	}
	return 0;
}

/* In the first round: the slabs of typed caches whose type has pointers. */
static void first_frontier(struct round *r)
{
	const struct ks_pages *pages = r->census->pages;
	size_t i;
	u32 type;

	for (i = 0; i < pages->slabs.len; i++) {
		type = r->typing->cache_type[pages->slabs.items[i].cache];
		if (type && r->typing->types->items.items[type].fields)
			add_slab(r->frontier, i);
	}
}

/* Until a round brings nothing new. */
static int run_rounds(struct round *r, struct ks_diag *diag)
{
	u64 count = 1;
	u32 rounds;
	int err = 0;

	for (rounds = 0; !err && count && rounds < ROUNDS_MAX; rounds++) {
		err = ks_slabs_walk(r->kernel, r->census, r->slots, r->frontier, vote_of_slab, r,
				    diag);
		if (!err && settle(r, &count))
			err = ks_diag_nomem(diag, "typing objects");
		r->first = false;
	}
	return err;
}

static int judge_merged(struct round *r, struct ks_diag *diag)
{
	const struct ks_pages *pages = r->census->pages;
	u32 i, k;
	size_t slab;
	u64 count;
	int err = 0;

	for (i = 0; i < r->census->caches->items.len; i++)
		for (k = 0; !err && k < r->candidates[i].count; k++)
			err = ks_types_expand(r->typing->types, r->candidates[i].types[k]);
	memset(r->frontier, 0, (pages->slabs.len / 64 + 1) * 8);
	for (slab = 0; slab < pages->slabs.len; slab++)
		if (r->candidates[pages->slabs.items[slab].cache].count)
			add_slab(r->frontier, slab);
	if (!err)
		err = ks_slabs_walk(r->kernel, r->census, r->slots, r->frontier, judge_slab, r,
				    diag);
	return err ? err : settle(r, &count);
}

static void vote_alike(void *arg, u32 slot, u32 type)
{
	const struct round *r = arg;

	r->votes[slot] = (u32)ALIKE << TYPE_BITS | (TYPE_MASK - type);
}

/* No old pointer is as sure as an open file, so this comes first. The first round takes these objects along. */
static void vote_released(void *arg, u32 slot, u32 cache, u32 type)
{
	const struct round *r = arg;

	if (r->typing->types->items.items[type].size > r->floors[cache])
		r->votes[slot] = (u32)RELEASED << TYPE_BITS | (TYPE_MASK - type);
}

static int type_files(struct round *r, const struct ks_symtab *symbols, struct ks_diag *diag)
{
	struct ks_likeness *alike;
	u64 count;
	int err;

	if (!symbols)
		return 0;
	err = ks_likeness_find(r->kernel, r->census, r->slots, r->index, r->typing, &alike, diag);
	if (err)
		return err;
	ks_likeness_released(alike, r->kernel, symbols, r->census, r->typing, vote_released, r);
	ks_likeness_free(alike);
	vote_anywhere(r);
	return settle(r, &count);
}

/* What is like another object gets its type, and votes. */
static int type_alike(struct round *r, struct ks_likeness **ret_alike, struct ks_diag *diag)
{
	int err = ks_likeness_find(r->kernel, r->census, r->slots, r->index, r->typing, ret_alike,
				   diag);
	u64 count;

	if (err)
		return err;
	vote_anywhere(r);
	ks_likeness_each(*ret_alike, r->census, r->typing, vote_alike, r);
	err = settle(r, &count);
	return err || !count ? err : run_rounds(r, diag);
}

/* What is known by nothing but a pointer to a struct that has a cache of its own. */
static int type_elsewhere(struct round *r, struct ks_diag *diag)
{
	u64 count;
	int err;

	r->last = true;
	vote_anywhere(r);
	err = settle(r, &count);
	return err || !count ? err : run_rounds(r, diag);
}

/* === Internals: the result ================================================================ */

/* What nothing else has named: the types that a merged cache may have. */
static int type_merged(struct round *r)
{
	const struct ks_pages *pages = r->census->pages;
	struct ks_typing *typing = r->typing;
	u32 *either = calloc(r->census->caches->items.len + 1, sizeof(*either)), slot, i;
	size_t slab;

	if (!either)
		return -ENOMEM;
	for (i = 0; i < r->census->caches->items.len; i++)
		either[i] = ks_cache_either(typing->types, r->census->caches, i, typing->aliases);
	for (slab = 0; slab < pages->slabs.len; slab++) {
		u32 type = either[pages->slabs.items[slab].cache];

		for (slot = r->slots->first[slab]; type && slot < r->slots->first[slab + 1];
		     slot++) {
			if (typing->of[slot])
				continue;
			typing->of[slot] = type;
			typing->known_by[slot] = KS_KNOWN_MERGED;
		}
	}
	free(either);
	return 0;
}

static int prepare(struct round *r, struct ks_slot_index **ret_index)
{
	size_t caches = r->census->caches->items.len, slabs = r->census->pages->slabs.len;
	struct ks_typing *t = r->typing;
	int err = ks_kernel_add_modules(r->kernel, NULL);

	if (!err)
		err = ks_types_new(r->kernel->btf, &t->types);
	if (!err)
		err = ks_aliases_read(r->kernel, r->census->caches, &t->aliases);
	if (!err)
		err = ks_slot_index_new(r->kernel, r->census, r->slots, ret_index);
	r->index = *ret_index;
	t->of = calloc(r->slots->count + 1, sizeof(*t->of));
	t->known_by = calloc(r->slots->count + 1, 1);
	t->cache_type = calloc(caches + 1, sizeof(*t->cache_type));
	r->votes = calloc(r->slots->count + 1, sizeof(*r->votes));
	r->fresh = calloc(r->slots->count + 1, 1);
	r->floors = calloc(caches + 1, sizeof(*r->floors));
	r->candidates = calloc(caches + 1, sizeof(*r->candidates));
	r->frontier = calloc(slabs / 64 + 1, 8);
	r->voted = calloc(slabs / 64 + 1, 8);
	if (!err && (!t->of || !t->known_by || !t->cache_type || !r->votes || !r->fresh ||
		     !r->floors || !r->candidates || !r->frontier || !r->voted))
		err = -ENOMEM;
	return err;
}

/* All that pointers and contents tell. */
static int type_by_all(struct round *r, const struct ks_symtab *symbols, struct ks_diag *diag)
{
	struct ks_likeness *alike = NULL;
	int err = type_charges(r);

	if (!err)
		err = type_files(r, symbols, diag);
	if (!err) {
		first_frontier(r);
		r->first = true;
		err = run_rounds(r, diag);
	}
	if (!err)
		err = judge_merged(r, diag);
	if (!err)
		err = run_rounds(r, diag);
	if (!err)
		err = type_alike(r, &alike, diag);
	if (!err)
		err = type_elsewhere(r, diag);
	if (!err)
		err = type_merged(r);
	if (!err && symbols)
		err = ks_contents_type(r->kernel, r->census, r->slots, symbols, r->typing, diag);
	if (!err)
		err = ks_likeness_name(alike, r->kernel, symbols, r->typing);
	ks_likeness_free(alike);
	if (!err)
		err = ks_alloc_tags_type(r->kernel, r->census, r->slots, r->typing, diag);
	return err ? err : ks_typing_add_up(r->typing, r->census, r->slots);
}

static int type_objects(struct round *r, const char *kallsyms, struct ks_diag *diag)
{
	struct ks_symtab *symbols = ks_code_names(kallsyms);
	int err;

	r->typing->no_functions = kallsyms && !symbols;
	err = type_by_all(r, symbols, diag);
	ks_code_names_free(symbols);
	return err;
}

static bool may_be_for_roots(struct ks_types *types, u32 type)
{
	return type && (type == ks_types_struct(types, "task_struct", 11) ||
			type == ks_types_struct(types, "vmap_area", 9));
}

/* Areas of vmalloc and tasks, also in merged caches; nothing else. */
static int type_for_roots(struct round *r, const char *kallsyms, struct ks_diag *diag)
{
	bool found;
	u32 i, k;
	int err;

	for (i = 0; i < r->census->caches->items.len; i++) {
		for (found = false, k = 0; k < r->candidates[i].count; k++)
			found |= may_be_for_roots(r->typing->types, r->candidates[i].types[k]);
		if (!found)
			r->candidates[i].count = 0;
	}
	err = judge_merged(r, diag);
	return err ? err : run_rounds(r, diag);
}

/* @more: what follows the types of caches. */
static int make(struct ks_kernel *k, const struct ks_census *c, const struct ks_slots *slots,
		const char *kallsyms,
		int (*more)(struct round *r, const char *kallsyms, struct ks_diag *diag),
		struct ks_typing **ret_typing, struct ks_diag *diag)
{
	struct ks_typing *typing = calloc(1, sizeof(*typing));
	struct round r = { .kernel = k, .census = c, .slots = slots, .typing = typing };
	struct ks_slot_index *index = NULL;
	int err = typing ? prepare(&r, &index) : -ENOMEM;

	if (!err)
		err = type_caches(&r);
	if (!err)
		err = more(&r, kallsyms, diag);
	ks_slot_index_free(index);
	free(r.votes);
	free(r.fresh);
	free(r.floors);
	free(r.candidates);
	free(r.frontier);
	free(r.voted);
	if (err) {
		ks_typing_free(typing);
		return err == -ENOMEM ? ks_diag_nomem(diag, "typing objects") : err;
	}
	*ret_typing = typing;
	return 0;
}

/* === Public =============================================================================== */

int ks_typing_make(struct ks_kernel *k, const struct ks_census *c, const struct ks_slots *slots,
		   const char *kallsyms, struct ks_typing **ret_typing, struct ks_diag *diag)
{
	return make(k, c, slots, kallsyms, type_objects, ret_typing, diag);
}

int ks_typing_make_for_roots(struct ks_kernel *k, const struct ks_census *c,
			     const struct ks_slots *slots, struct ks_typing **ret_typing,
			     struct ks_diag *diag)
{
	return make(k, c, slots, NULL, type_for_roots, ret_typing, diag);
}

void ks_typing_free(struct ks_typing *typing)
{
	if (!typing)
		return;
	ks_types_free(typing->types);
	ks_aliases_free(typing->aliases);
	ks_vec_free(&typing->rows);
	free(typing->of);
	free(typing->known_by);
	free(typing->cache_type);
	free(typing);
}

const char *ks_known_by_name(enum ks_known_by known_by)
{
	return names[known_by];
}
