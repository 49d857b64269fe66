// SPDX-License-Identifier: LGPL-2.1-only
/* Collects what such pointers lead to, and groups it by the operations beside the pointer. */
#include "heap/likeness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/code-names.h"
#include "heap/file-types.h"

/* === Data ================================================================================= */

enum { PLACE_FILE, PLACE_SEQ_FILE, PLACE_INODE };

static const struct place {
	const char *type, *field, *operations;
} places[] = {
	[PLACE_FILE] = { "file", "private_data", "f_op" },
	[PLACE_SEQ_FILE] = { "seq_file", "private", "op" },
	[PLACE_INODE] = { "inode", "i_private", "i_fop" },
};

/*
 * One in this number of a group must have its type by a field. Such fields lead to nearly all objects of a kind or to none of
 * them, so what few have is by an old pointer: one of these must not name hundreds of timers after what was there before.
 */
#define WITNESS_OF 10

/* An object behind such a pointer. */
struct sight {
	u64 operations;
	u32 place, slot, cache;
};

struct sights {
	KS_VEC(struct sight) items;
	bool failed;
};

struct ks_likeness {
	struct sights all; /* by place, operations, slot */
};

struct search {
	const struct ks_slots *slots;
	const struct ks_census *census;
	const struct ks_slot_index *index;
	const struct ks_typing *typing;
	u32 place, type, field, operations;
	struct sights of[KS_WORKERS_MAX];
};

/* === Internals ============================================================================ */

static u32 type_of(const struct ks_typing *typing, u32 cache, u32 slot)
{
	return typing->cache_type[cache] ? typing->cache_type[cache] : typing->of[slot];
}

static void look(void *arg, const struct ks_slab_view *view)
{
	struct search *s = arg;
	struct sights *sights = &s->of[view->worker];
	struct sight *sight;
	u32 i, slot, slab;

	for (i = 0; i < view->info->objects; i++) {
		const u8 *data = view->data + (size_t)i * view->cache->size;

		if (!ks_slot_used(s->slots, view->first + i) ||
		    type_of(s->typing, view->info->cache, view->first + i) != s->type)
			continue;
		slot = ks_slot_at(s->index, ks_u64_at(data, s->field), &slab);
		if (slot == KS_NONE || !ks_slot_used(s->slots, slot) ||
		    s->typing->cache_type[s->census->pages->slabs.items[slab].cache])
			continue;
		sight = ks_vec_push(&sights->items);
		if (!sight) {
			sights->failed = true;
			return;
		}
		*sight = (struct sight){ .operations = ks_u64_at(data, s->operations),
					 .place = s->place,
					 .slot = slot,
					 .cache = s->census->pages->slabs.items[slab].cache };
	}
}

/* Slabs that have objects of the type. */
static u64 *wanted_slabs(const struct search *s)
{
	const struct ks_pages *pages = s->census->pages;
	u64 *wanted = calloc(pages->slabs.len / 64 + 1, 8);
	size_t slab;
	u32 slot;

	for (slab = 0; wanted && slab < pages->slabs.len; slab++) {
		u32 cache = pages->slabs.items[slab].cache;
		bool any = s->typing->cache_type[cache] == s->type;

		for (slot = s->slots->first[slab];
		     !any && !s->typing->cache_type[cache] && slot < s->slots->first[slab + 1];
		     slot++)
			any = s->typing->of[slot] == s->type;
		if (any)
			wanted[slab / 64] |= 1ull << slab % 64;
	}
	return wanted;
}

static int by_likeness(const void *a, const void *b)
{
	const struct sight *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->operations != y->operations)
		return x->operations < y->operations ? -1 : 1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int gather(struct search *s, struct sights *all)
{
	size_t i, k;
	int err = 0;

	for (i = 0; i < KS_WORKERS_MAX; i++) {
		if (s->of[i].failed ||
		    ks_vec_reserve(&all->items, all->items.len + s->of[i].items.len))
			err = -ENOMEM;
		for (k = 0; !err && k < s->of[i].items.len; k++)
			all->items.items[all->items.len++] = s->of[i].items.items[k];
		ks_vec_free(&s->of[i].items);
	}
	return err;
}

static int look_at_place(struct ks_kernel *k, struct search *s, struct ks_likeness *alike,
			 struct ks_diag *diag)
{
	const struct place *place = &places[s->place];
	struct ks_types *types = s->typing->types;
	u64 *wanted;
	int err;

	s->type = ks_types_struct(types, place->type, strlen(place->type));
	if (!s->type)
		return 0;
	s->field = ks_types_member(types, s->type, place->field);
	s->operations = ks_types_member(types, s->type, place->operations);
	if (s->field == KS_NONE || s->operations == KS_NONE)
		return 0;
	wanted = wanted_slabs(s);
	err = wanted ? ks_slabs_walk(k, s->census, s->slots, wanted, look, s, diag) : -ENOMEM;
	free(wanted);
	if (!err)
		err = gather(s, &alike->all);
	return err;
}

/* The end of the group that begins at @from. */
static size_t group_end(const struct ks_likeness *alike, size_t from)
{
	const struct sight *items = alike->all.items.items;
	size_t i = from;

	while (i < alike->all.items.len && items[i].place == items[from].place &&
	       items[i].operations == items[from].operations)
		i++;
	return i;
}

/* The type that all of a group have that have one by a field; 0 = too few have, or they differ. */
static u32 agreed(const struct ks_likeness *alike, const struct ks_typing *typing, size_t from,
		  size_t to)
{
	size_t i, witnesses = 0;
	u32 type = 0, slot;

	for (i = from; i < to; i++) {
		slot = alike->all.items.items[i].slot;
		if (typing->known_by[slot] != KS_KNOWN_FIELD)
			continue;
		if (type && type != typing->of[slot])
			return 0;
		type = typing->of[slot];
		witnesses++;
	}
	return witnesses * WITNESS_OF >= to - from ? type : 0;
}

/* === Public =============================================================================== */

int ks_likeness_find(struct ks_kernel *k, const struct ks_census *census,
		     const struct ks_slots *slots, const struct ks_slot_index *index,
		     const struct ks_typing *typing, struct ks_likeness **ret_alike,
		     struct ks_diag *diag)
{
	struct search *s = calloc(1, sizeof(*s));
	struct ks_likeness *alike = calloc(1, sizeof(*alike));
	int err = s && alike ? 0 : -ENOMEM;
	u32 i;

	for (i = 0; !err && i < ARRAY_SIZE(places); i++) {
		*s = (struct search){ .slots = slots,
				      .census = census,
				      .index = index,
				      .typing = typing,
				      .place = i };
		err = look_at_place(k, s, alike, diag);
	}
	for (i = 0; s && i < KS_WORKERS_MAX; i++)
		ks_vec_free(&s->of[i].items);
	free(s);
	if (err) {
		ks_likeness_free(alike);
		return err;
	}
	if (alike->all.items.len)
		qsort(alike->all.items.items, alike->all.items.len, sizeof(*alike->all.items.items),
		      by_likeness);
	*ret_alike = alike;
	return 0;
}

void ks_likeness_free(struct ks_likeness *alike)
{
	if (!alike)
		return;
	ks_vec_free(&alike->all.items);
	free(alike);
}

void ks_likeness_each(const struct ks_likeness *alike, const struct ks_census *census,
		      const struct ks_typing *typing, void (*fn)(void *arg, u32 slot, u32 type),
		      void *arg)
{
	const struct sight *items = alike->all.items.items;
	size_t from, to, i;
	u32 type;

	for (from = 0; from < alike->all.items.len; from = to) {
		to = group_end(alike, from);
		type = agreed(alike, typing, from, to);
		for (i = from; type && i < to; i++)
			if (!typing->of[items[i].slot] &&
			    typing->types->items.items[type].size <=
				    census->caches->items.items[items[i].cache].object_size)
				fn(arg, items[i].slot, type);
	}
}

void ks_likeness_released(const struct ks_likeness *alike, struct ks_kernel *kernel,
			  const struct ks_symtab *symbols, const struct ks_census *census,
			  const struct ks_typing *typing,
			  void (*fn)(void *arg, u32 slot, u32 cache, u32 type), void *arg)
{
	const struct sight *items = alike->all.items.items;
	size_t from, to, i;
	u32 type;

	for (from = 0; from < alike->all.items.len && items[from].place == PLACE_FILE; from = to) {
		to = group_end(alike, from);
		type = ks_file_type(kernel, symbols, typing->types, items[from].operations);
		for (i = from; type && i < to; i++)
			if (typing->types->items.items[type].size <=
			    census->caches->items.items[items[i].cache].object_size)
				fn(arg, items[i].slot, items[i].cache, type);
	}
}

int ks_likeness_name(const struct ks_likeness *alike, struct ks_kernel *kernel,
		     const struct ks_symtab *symbols, struct ks_typing *typing)
{
	const struct sight *items = alike->all.items.items;
	char code[160], text[256];
	size_t from, to, i;
	u32 type;
	int err = 0;

	for (from = 0; !err && from < alike->all.items.len; from = to) {
		to = group_end(alike, from);
		ks_code_name(kernel, symbols, items[from].operations, code, sizeof(code));
		snprintf(text, sizeof(text), *code ? "%s.%s (%s)" : "%s.%s",
			 places[items[from].place].type, places[items[from].place].field, code);
		for (i = from; !err && i < to; i++) {
			if (typing->of[items[i].slot])
				continue;
			type = ks_types_name(typing->types, text, strlen(text));
			typing->of[items[i].slot] = type;
			typing->known_by[items[i].slot] = KS_KNOWN_HOLDER;
			err = type ? 0 : -ENOMEM;
		}
	}
	return err;
}
