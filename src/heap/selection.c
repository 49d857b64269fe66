// SPDX-License-Identifier: LGPL-2.1-only
/* Marks the objects of a type, of a cache, or the one at an address. */
#include "heap/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

static bool is_cache(const struct ks_heap_cache *cache, const char *name)
{
	u32 i;

	if (!strcmp(cache->name, name))
		return true;
	for (i = 0; i < cache->nr_merged; i++)
		if (!strcmp(cache->merged[i], name))
			return true;
	return false;
}

static void add(struct ks_selection *selection, const struct ks_snapshot *s, u32 object)
{
	if (!selection->objects++)
		selection->first = object;
	selection->bytes += s->caches.items[s->cache[object]].size;
	selection->set[object / 64] |= 1ull << object % 64;
}

/* Objects of the type; where no type has the name, those of the cache. */
static int add_named(struct ks_selection *selection, const struct ks_snapshot *s, const char *name)
{
	u8 *caches = calloc(s->caches.len + 1, 1), *types = calloc(s->types.len + 1, 1);
	bool any = false;
	size_t i;
	u32 object;

	for (i = 1; types && i < s->types.len; i++)
		any |= types[i] = !strcmp(s->types.items[i].name, name);
	for (i = 0; caches && !any && i < s->caches.len; i++)
		caches[i] = is_cache(&s->caches.items[i], name);
	for (object = 0; caches && types && object < s->count; object++)
		if (types[s->type[object]] || caches[s->cache[object]])
			add(selection, s, object);
	any = caches && types;
	free(caches);
	free(types);
	return any ? 0 : -ENOMEM;
}

/* === Public =============================================================================== */

bool ks_selection_address(const char *text, u64 *ret_addr)
{
	const char *digits = strncmp(text, "0x", 2) ? text : text + 2;
	size_t len = strspn(digits, "0123456789abcdefABCDEF");

	if (digits[len] || !len || len > 16 || (digits == text && len < 12))
		return false;
	*ret_addr = strtoull(digits, NULL, 16);
	return true;
}

int ks_selection_make(const struct ks_snapshot *s, const char *text,
		      struct ks_selection **ret_selection, struct ks_diag *diag)
{
	struct ks_selection *selection = calloc(1, sizeof(*selection));
	int err = 0;
	u64 addr;
	u32 object;

	if (selection)
		selection->set = calloc(s->count / 64 + 1ul, sizeof(*selection->set));
	if (!selection || !selection->set) {
		err = -ENOMEM;
	} else if (ks_selection_address(text, &addr)) {
		selection->by_address = true;
		object = ks_snapshot_find(s, addr);
		if (object != KS_NONE)
			add(selection, s, object);
	} else {
		err = add_named(selection, s, strncmp(text, "struct ", 7) ? text : text + 7);
	}
	if (!err && selection->objects) {
		*ret_selection = selection;
		return 0;
	}
	if (err)
		ks_diag_nomem(diag, "choosing objects");
	else
		err = ks_diag_set(diag, -ENOENT,
				  selection->by_address
					  ? "%s: no object is there"
					  : "%s: no object is of such a type or cache",
				  text);
	ks_selection_free(selection);
	return err;
}

void ks_selection_free(struct ks_selection *selection)
{
	if (!selection)
		return;
	free(selection->set);
	free(selection);
}
