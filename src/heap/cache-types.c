// SPDX-License-Identifier: LGPL-2.1-only
/*
 * From the name of a cache to a struct, by guesses. A guess must fit: the struct exists in this kernel, and has the size of the cache's objects.
 */
#include "heap/cache-types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "sym/cache-structs.h"

/* === Data ================================================================================= */

static const u32 classes[] = { 8,     16,    32,     64,     96,     128,    192,
			       256,   512,   1024,   2048,   4096,   8192,   16384,
			       32768, 65536, 131072, 262144, 524288, 1048576 };

/* === Internals ============================================================================ */

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_anonymous(const char *name)
{
	return starts_with(name, "kmalloc-") || starts_with(name, "dma-kmalloc-") ||
	       starts_with(name, "memdup_user-");
}

/*
 * A struct of the size of the objects. task_struct alone ends in registers, for which the struct has a page, and objects
 * have more or less, depending on the CPU.
 */
static bool fits(const struct ks_types *types, u32 type, const struct ks_cache *cache)
{
	u32 size = types->items.items[type].size;

	if (!strcmp(ks_type_text(types, type), "task_struct"))
		return size <= cache->object_size + 4096;
	return size == cache->object_size ||
	       (size < cache->object_size &&
		(types->items.items[type].open || cache->object_size - size < 64));
}

static u32 try_name(struct ks_types *types, const struct ks_cache *cache, const char *name,
		    size_t len)
{
	u32 type = ks_types_struct(types, name, len);

	return type && fits(types, type, cache) ? type : 0;
}

static u32 type_of_name(struct ks_types *types, const struct ks_cache *cache, const char *name)
{
	const char *cut = strrchr(name, '-');
	char text[128];
	unsigned int i;
	u32 type = 0;

	for (i = 0; !type && ks_cache_struct(name, i, text, sizeof(text)); i++)
		type = *text ? try_name(types, cache, text, strlen(text)) : 0;
	/* "bio-184", "msg_msg-64" */
	if (!type && cut && cut[1] >= '0' && cut[1] <= '9') {
		type = ks_types_struct(types, name, (size_t)(cut - name));
		if (type && types->items.items[type].size > cache->object_size)
			type = 0;
	}
	return type;
}

/* A merged cache has the size of its largest member: any struct that fits will do. */
static u32 type_of_alias(struct ks_types *types, const struct ks_cache *cache, const char *name)
{
	u32 type, size;

	for (size = cache->object_size; size + 64 > cache->object_size && size >= 8; size -= 8) {
		struct ks_cache like = *cache;

		like.object_size = size;
		type = type_of_name(types, &like, name);
		if (type)
			return type;
	}
	return 0;
}

/* === Public =============================================================================== */

u32 ks_cache_type(struct ks_types *types, const struct ks_caches *caches, u32 number)
{
	const struct ks_cache *cache = &caches->items.items[number];
	u32 type = 0;

	if (!cache->valid || is_anonymous(cache->name))
		return 0;
	/* Of merged caches the objects may be of any of their types. */
	if (cache->users > 1)
		return 0;
	type = type_of_name(types, cache, cache->name);
	return type ? type : ks_types_name(types, cache->name, strlen(cache->name));
}

u32 ks_cache_either(struct ks_types *types, const struct ks_caches *caches, u32 number,
		    const struct ks_aliases *aliases)
{
	const struct ks_cache *cache = &caches->items.items[number];
	struct ks_strbuf text;
	u32 type = 0, found;
	size_t i;

	if (!ks_cache_merged(cache))
		return 0;
	ks_strbuf_init(&text);
	for (i = 0; i < aliases->items.len; i++) {
		if (aliases->items.items[i].cache != number)
			continue;
		found = type_of_alias(types, cache, aliases->items.items[i].name);
		ks_strbuf_printf(&text, "%s%s", text.len ? " | " : "",
				 found ? ks_type_text(types, found) : aliases->items.items[i].name);
	}
	if (!text.len)
		ks_strbuf_printf(&text, "%s and %u more", cache->name, cache->users - 1);
	if (!text.failed)
		type = ks_types_name(types, text.s, text.len);
	ks_strbuf_deinit(&text);
	return type;
}

u32 ks_cache_candidates(struct ks_types *types, const struct ks_caches *caches, u32 number,
			const struct ks_aliases *aliases, u32 *candidates, u32 max)
{
	const struct ks_cache *cache = &caches->items.items[number];
	u32 count = 0, type, k;
	size_t i;

	for (i = 0; ks_cache_merged(cache) && i < aliases->items.len && count < max; i++) {
		if (aliases->items.items[i].cache != number)
			continue;
		type = type_of_alias(types, cache, aliases->items.items[i].name);
		for (k = 0; k < count && candidates[k] != type; k++)
			;
		if (type && k == count)
			candidates[count++] = type;
	}
	return count;
}

bool ks_cache_merged(const struct ks_cache *cache)
{
	return cache->valid && cache->users > 1 && !is_anonymous(cache->name);
}

u32 ks_cache_floor(const struct ks_cache *cache)
{
	size_t i;

	if (!is_anonymous(cache->name))
		return cache->object_size - ks_min(cache->object_size, 64u);
	for (i = 1; i < ARRAY_SIZE(classes); i++)
		if (classes[i] == cache->object_size)
			return classes[i - 1];
	return 0;
}
