// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Which struct the objects of a site are: that which the result of the allocation is assigned to, if it has the size;
 * for a cache with a name of its own, what most of its objects are, or what the cache is named after.
 */
#include "kmap/site-types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/cache-structs.h"

/* === Data ================================================================================= */

/* task_struct ends in registers, of which objects have more or less than the struct says. */
#define REGISTERS_MAX 4096

/* Objects of a merged cache are of the size of its largest member. */
#define MERGED_MAX 64

struct typer {
	struct ks_kmap_site_types *types;
	const struct ks_kmap_census *census;
	const struct ks_kmap_places *places;
	struct ks_debug_set *debug;
	struct ks_diag *diag;
};

/* === Internals ============================================================================ */

static const char *cache_of(const struct ks_kmap_census *census, const struct ks_kmap_site *site)
{
	const char *name = ks_intern_get(&census->caches, site->cache).s;

	return strncmp(name, "kmalloc", 7) && strcmp(name, "no-slab") ? name : "";
}

static const struct ks_kmap_extent *extent_of(const struct typer *t, size_t site)
{
	static const struct ks_kmap_extent none = { 0 };

	return site < t->census->spots.extents.len ? &t->census->spots.extents.items[site] : &none;
}

/* Whether objects of these sizes can be the struct; for kmalloc also an array of them, or one with a tail. */
static bool fits(const struct typer *t, size_t site, const struct ks_debug_struct *layout,
		 bool assigned, bool *ret_array)
{
	const struct ks_kmap_extent *extent = extent_of(t, site);
	bool is_cache = cache_of(t->census, &t->census->sites.items[site])[0];

	*ret_array = false;
	if (!layout->size || !extent->objects)
		return false;
	if (extent->least == layout->size && extent->most == layout->size)
		return true;
	if (is_cache)
		return (extent->most >= layout->size && extent->most - layout->size < MERGED_MAX) ||
		       (assigned && extent->most < layout->size &&
			extent->most + REGISTERS_MAX >= layout->size);
	if (!assigned || extent->least < layout->size)
		return false;
	*ret_array = extent->most % layout->size == 0 && extent->least % layout->size == 0;
	return true;
}

/* The number of a layout of that name; KS_NONE with *ret_err 0 where the file does not have it. */
static u32 get_layout(struct typer *t, struct ks_debug_types *debug, const char *name, int *ret_err)
{
	u32 known = ks_intern_find(&t->types->names, name, strlen(name));
	struct ks_debug_struct *layout, **slot;

	*ret_err = 0;
	if (known != KS_NONE)
		return known;
	*ret_err = ks_debug_layout(debug, name, &layout, t->diag);
	if (*ret_err || !layout)
		return KS_NONE;
	slot = ks_vec_push(&t->types->layouts);
	if (slot)
		*slot = layout;
	else
		ks_debug_struct_free(layout);
	known = slot ? ks_intern_add(&t->types->names, name, strlen(name)) : KS_NONE;
	if (known == KS_NONE)
		*ret_err = ks_diag_nomem(t->diag, "naming fields");
	return known;
}

/* "alloc_pipe_info+0xaf" as the places have it. */
static bool split_site(const char *label, char *function, size_t size, u64 *ret_offset)
{
	const char *plus = strrchr(label, '+');
	size_t len = plus ? (size_t)(plus - label) : 0;

	if (!plus || strncmp(plus, "+0x", 3) || len >= size)
		return false;
	memcpy(function, label, len);
	function[len] = '\0';
	*ret_offset = strtoull(plus + 1, NULL, 16);
	return true;
}

static int find_debug(struct typer *t, size_t site, struct ks_debug_types **ret_debug)
{
	const u32 *labels = t->places->sites[site];
	const char *module = ks_kmap_label(t->places, labels[KS_KMAP_MODULE]);
	const char *file = ks_kmap_label(t->places, labels[KS_KMAP_FILE]);
	char name[80] = "";

	/* Objects of no known code have the name of their kind for all of these. */
	if (module[0] == '[' && strlen(module) < sizeof(name) &&
	    ks_kmap_is_code(t->census->sites.items[site].ip))
		snprintf(name, sizeof(name), "%.*s", (int)strlen(module) - 2, module + 1);
	return ks_debug_set_find(t->debug, strcmp(name, "unknown") ? name : "",
				 file[0] == '[' ? NULL : file, ret_debug, t->diag);
}

/* What the call's result is assigned to. */
static int type_by_code(struct typer *t, size_t site, struct ks_debug_types *debug)
{
	struct ks_kmap_site_type *type = &t->types->sites[site];
	bool assigned = false;
	const char *name;
	char function[256];
	u64 offset;
	u32 layout;
	int err;

	if (!split_site(ks_kmap_label(t->places, t->places->sites[site][KS_KMAP_SITE]), function,
			sizeof(function), &offset))
		return 0;
	name = ks_debug_result(debug, function, offset, &assigned);
	layout = name ? get_layout(t, debug, name, &err) : KS_NONE;
	if (!name || err || layout == KS_NONE ||
	    !fits(t, site, t->types->layouts.items[layout], assigned, &type->array))
		return name ? err : 0;
	type->layout = layout;
	type->typed = KS_KMAP_TYPED_SITE;
	return 0;
}

static int type_by_cache(struct typer *t, size_t site, struct ks_debug_types *debug,
			 const char *cache)
{
	struct ks_kmap_site_type *type = &t->types->sites[site];
	unsigned int i;
	char name[128];
	u32 layout;
	int err = 0;

	for (i = 0; !err && ks_cache_struct(cache, i, name, sizeof(name)); i++) {
		layout = *name ? get_layout(t, debug, name, &err) : KS_NONE;
		/* Of task_struct alone objects may be smaller. */
		if (err || layout == KS_NONE ||
		    !fits(t, site, t->types->layouts.items[layout], !strcmp(name, "task_struct"),
			  &type->array))
			continue;
		type->layout = layout;
		type->typed = KS_KMAP_TYPED_CACHE;
		break;
	}
	return err;
}

static int type_site(struct typer *t, size_t site)
{
	const char *cache = cache_of(t->census, &t->census->sites.items[site]);
	struct ks_debug_types *debug = NULL;
	int err = find_debug(t, site, &debug);

	if (err || !debug)
		return err;
	err = type_by_code(t, site, debug);
	if (err || !cache[0] || t->types->sites[site].layout != KS_NONE)
		return err;
	return type_by_cache(t, site, debug, cache);
}

/* What most objects of the cache are, by the sites whose type is known. */
static u32 type_of_cache(const struct typer *t, u32 cache)
{
	u64 most = 0, objects;
	u32 best = KS_NONE, layout;
	size_t i;

	for (layout = 0; layout < t->types->layouts.len; layout++) {
		objects = 0;
		for (i = 0; i < t->census->sites.len; i++)
			if (t->census->sites.items[i].cache == cache &&
			    t->types->sites[i].layout == layout)
				objects += extent_of(t, i)->objects;
		if (objects > most) {
			most = objects;
			best = layout;
		}
	}
	return best;
}

/* All objects of a cache are of one type. */
static void spread_over_caches(struct typer *t)
{
	size_t i;

	for (i = 0; i < t->census->sites.len; i++) {
		const struct ks_kmap_site *site = &t->census->sites.items[i];
		u32 layout = cache_of(t->census, site)[0] ? type_of_cache(t, site->cache) : KS_NONE;

		if (layout == KS_NONE || t->types->sites[i].layout == layout)
			continue;
		t->types->sites[i] = (struct ks_kmap_site_type){ .layout = layout,
								 .typed = KS_KMAP_TYPED_CACHE };
	}
}

/* === Public =============================================================================== */

int ks_kmap_site_types_init(struct ks_kmap_site_types *types, const struct ks_kmap_census *census,
			    const struct ks_kmap_places *places, struct ks_debug_set *debug,
			    struct ks_diag *diag)
{
	struct typer t = { types, census, places, debug, diag };
	size_t i;
	int err = 0;

	*types = (struct ks_kmap_site_types){ 0 };
	types->sites = calloc(census->sites.len + 1, sizeof(*types->sites));
	if (!types->sites || ks_intern_init(&types->names)) {
		ks_kmap_site_types_deinit(types);
		return ks_diag_nomem(diag, "naming fields");
	}
	for (i = 0; i < census->sites.len; i++)
		types->sites[i].layout = KS_NONE;
	for (i = 0; debug && i < census->sites.len && !err; i++)
		if (extent_of(&t, i)->objects)
			err = type_site(&t, i);
	if (err) {
		ks_kmap_site_types_deinit(types);
		return err;
	}
	spread_over_caches(&t);
	return 0;
}

void ks_kmap_site_types_deinit(struct ks_kmap_site_types *types)
{
	size_t i;

	for (i = 0; i < types->layouts.len; i++)
		ks_debug_struct_free(types->layouts.items[i]);
	ks_vec_free(&types->layouts);
	ks_intern_deinit(&types->names);
	free(types->sites);
	types->sites = NULL;
}
