// SPDX-License-Identifier: LGPL-2.1-only
/* Groups of profiles. */
#include "analysis/origins.h"

#include <errno.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/places.h"
#include "base/strbuf.h"

/* === Internals ============================================================================ */

static const char *name_of(const struct ks_place *place)
{
	return *place->func ? place->func : place->label;
}

static u32 list_of(struct ks_alike *alike, const struct ks_names *names, u32 stack)
{
	struct ks_strbuf text;
	size_t len, i;
	const u32 *frames = ks_names_stack(names, stack, &len);
	u32 list;

	ks_strbuf_init(&text);
	for (i = 0; i < len; i++) {
		const struct ks_site *frame = ks_sites_get(&names->frames, frames[i]);

		ks_strbuf_puts(&text, *frame->func ? frame->func : frame->text);
		ks_strbuf_puts(&text, "\n");
	}
	list = text.failed ? KS_NONE : ks_intern_add(&alike->lists, text.s, text.len);
	ks_strbuf_deinit(&text);
	return list;
}

/* === Public =============================================================================== */

int ks_alike_init(struct ks_alike *alike)
{
	memset(alike, 0, sizeof(*alike));
	return ks_intern_init(&alike->lists);
}

void ks_alike_deinit(struct ks_alike *alike)
{
	ks_intern_deinit(&alike->lists);
	ks_vec_free(&alike->first);
	ks_vec_free(&alike->first_alike);
}

int ks_alike_find(struct ks_alike *alike, const struct ks_names *names, u32 stack, u32 *ret_first)
{
	u32 *known, list;

	*ret_first = KS_NONE;
	if (stack == KS_NONE)
		return 0;
	while (alike->first_alike.len <= stack)
		if (!ks_vec_push(&alike->first_alike))
			return -ENOMEM;
	known = &alike->first_alike.items[stack];
	if (!*known) {
		list = list_of(alike, names, stack);
		if (list == KS_NONE || ks_vec_reserve(&alike->first, (size_t)list + 1))
			return -ENOMEM;
		if (list == alike->first.len)
			alike->first.items[alike->first.len++] = stack;
		*known = alike->first.items[list] + 1;
	}
	*ret_first = *known - 1;
	return 0;
}

u32 ks_origin_add(struct ks_intern *known, struct ks_origin origin)
{
	return ks_intern_add(known, (const char *)&origin, sizeof(origin));
}

struct ks_origin ks_origin_get(const struct ks_intern *known, u32 number)
{
	struct ks_origin origin;

	memcpy(&origin, ks_intern_get(known, number).s, sizeof(origin));
	return origin;
}

int ks_origin_fill(const struct ks_names *names, u32 stack, struct ks_places *frames,
		   struct ks_arena *arena, struct ks_group *group, struct ks_diag *diag)
{
	size_t len, i, own = 0;
	const u32 *ids = ks_names_stack(names, stack, &len);

	group->callers = ks_arena_alloc(arena, (len + 1) * sizeof(*group->callers));
	if (!group->callers)
		return ks_diag_nomem(diag, "gathering results");
	for (i = 0; i < len; i++) {
		const struct ks_place *place;
		int err = ks_places_get(frames, ids[i], &place, diag);
		const char *name;

		if (err)
			return err;
		name = name_of(place);
		group->callers[i] = ks_arena_strndup(arena, name, strlen(name));
		if (!group->callers[i])
			return ks_diag_nomem(diag, "gathering results");
		if (!own && *group->func && !strcmp(name, group->func))
			own = i + 1;
	}
	group->callers += own;
	group->callers_len = len - own;
	return 0;
}
