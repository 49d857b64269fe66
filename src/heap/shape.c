// SPDX-License-Identifier: LGPL-2.1-only
/* Points for each type: for every pointer that leads to what its field says, and against every one that can't be. */
#include "heap/shape.h"

#include <string.h>

/* === Data ================================================================================= */

enum { RIGHT = 1, WRONG = -2 };

#define KERNEL_HALF 0xff00000000000000ull /* with four or five levels of page tables */

/* === Internals ============================================================================ */

static bool is_page(const struct ks_types *types, u32 type)
{
	const char *name = ks_type_text(types, type);

	return !strcmp(name, "page") || !strcmp(name, "folio");
}

static bool in_vmemmap(const struct ks_kernel *k, u64 addr)
{
	return addr >= k->vmemmap && addr < ks_kernel_page(k, ks_kernel_end(k));
}

/* What a pointer says that leads into a slab. */
static int judge_slot(const struct ks_shape *s, u32 type, const struct ks_type_field *field,
		      u32 slot, u32 slab, u32 inside)
{
	const struct ks_types *types = s->typing->types;
	u32 cache = s->census->pages->slabs.items[slab].cache;
	u32 there = s->typing->cache_type[cache] ? s->typing->cache_type[cache]
						 : s->typing->of[slot];

	/* A list or a tree of such objects, or a plain pointer to another one. */
	if (cache == s->cache && (!there || there == type) &&
	    ((field->to_home && inside == field->home) || (field->type == type && !inside)))
		return RIGHT;
	if (!there || inside || types->items.items[there].form != KS_FORM_STRUCT)
		return 0;
	return ks_type_begins_with(types, there, field->type) ? RIGHT : WRONG;
}

static int judge_field(const struct ks_shape *s, u32 type, const struct ks_type_field *field,
		       u64 value)
{
	const struct ks_types *types = s->typing->types;
	u32 slot, slab, inside;

	if (!value || types->items.items[field->type].form != KS_FORM_STRUCT)
		return 0;
	if (value < KERNEL_HALF)
		return WRONG;
	if (is_page(types, field->type))
		return in_vmemmap(s->kernel, value) ? RIGHT : WRONG;
	if (in_vmemmap(s->kernel, value))
		return WRONG;
	slot = ks_slot_inside(s->index, value, &slab, &inside);
	return slot == KS_NONE ? 0 : judge_slot(s, type, field, slot, slab, inside);
}

static int judge_type(const struct ks_shape *s, u32 type, const u8 *data, u32 size)
{
	const struct ks_types *types = s->typing->types;
	const struct ks_type *t = &types->items.items[type];
	const struct ks_type_field *field = types->fields.items + t->first_field;
	int points = 0, point;
	u32 i;

	for (i = 0; i < t->fields; i++, field++) {
		if (field->offset + 8 > size)
			continue;
		point = judge_field(s, type, field, ks_u64_at(data, field->offset));
		/* What is in a union may be something else. */
		if (point > 0 || !field->in_union)
			points += point;
	}
	return points;
}

/* === Public =============================================================================== */

u32 ks_shape_judge(const struct ks_shape *s, const u8 *data, u32 size)
{
	int best = 0, points;
	u32 found = 0, i;

	for (i = 0; i < s->candidates->count; i++) {
		points = judge_type(s, s->candidates->types[i], data, size);
		if (points == best)
			found = 0;
		if (points <= best)
			continue;
		best = points;
		found = s->candidates->types[i];
	}
	return found;
}
