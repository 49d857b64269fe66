// SPDX-License-Identifier: LGPL-2.1-only
/* The census in a capture: packing, unpacking, and looking up an address. */
#include "trace/slab-census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/pack.h"

/* === Data ================================================================================= */

enum {
	VERSION = 1,
	HAS_OBJECTS = 1,
	HAS_LARGE = 2,
	ALLOCS_END = 4,
	HAS_TASKS = 8,
	HAS_TYPES = 16,
	RECLAIMABLE = 1, /* of a cache */
	PARTLY_USED = 1, /* of a slab */
	MAX_PAGES = 1 << 20,
};

/* === Internals: packing =================================================================== */

static void pack_cache(struct ks_strbuf *sb, const struct ks_slab_cache *cache)
{
	const u64 numbers[] = {
		cache->object_size, cache->stride,  cache->pad,	  cache->pages,
		cache->slabs,	    cache->objects, cache->bytes, cache->waiting,
	};
	size_t i;

	ks_pack_string(sb, cache->name, strlen(cache->name));
	ks_pack_string(sb, cache->aliases, strlen(cache->aliases));
	ks_pack_varint(sb, cache->reclaimable ? RECLAIMABLE : 0);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		ks_pack_varint(sb, numbers[i]);
}

static bool bit_at(const struct ks_slab_census *census, u32 bit)
{
	return census->bits.items[bit / 64] >> bit % 64 & 1;
}

static bool all_used(const struct ks_slab_census *census, const struct ks_slab_place *slab)
{
	u32 i;

	for (i = 0; i < slab->objects; i++)
		if (!bit_at(census, slab->first + i))
			return false;
	return true;
}

/* Most slabs are full, or alike: the number of objects and one bit that says so compress to next to nothing. */
static void pack_slab(struct ks_strbuf *sb, const struct ks_slab_census *census,
		      const struct ks_slab_place *slab)
{
	bool partly = !all_used(census, slab);
	u8 byte = 0;
	u32 i;

	ks_pack_varint(sb, slab->cache == KS_NONE ? 0 : (u64)slab->cache + 1);
	ks_pack_varint(sb, slab->pages);
	ks_pack_varint(sb, (u64)slab->objects << 1 | (partly ? PARTLY_USED : 0));
	for (i = 0; partly && i < slab->objects; i++) {
		byte |= (u8)(bit_at(census, slab->first + i) << i % 8);
		if (i % 8 == 7 || i + 1 == slab->objects) {
			ks_strbuf_add(sb, &byte, 1);
			byte = 0;
		}
	}
}

static void pack_slabs(struct ks_strbuf *sb, const struct ks_slab_census *census)
{
	u64 frame, before = 0;
	size_t i;

	ks_pack_varint(sb, census->page_shift);
	ks_pack_varint(sb, census->slabs.len);
	for (i = 0; i < census->slabs.len; i++) {
		frame = census->slabs.items[i].addr >> census->page_shift;
		ks_pack_varint(sb, frame - before);
		before = frame;
		pack_slab(sb, census, &census->slabs.items[i]);
	}
}

static void pack_types(struct ks_strbuf *sb, const struct ks_slab_census *census)
{
	size_t i;

	ks_pack_varint(sb, census->types.len);
	for (i = 0; i < census->types.len; i++) {
		const struct ks_slab_type *type = &census->types.items[i];

		ks_pack_string(sb, type->name, strlen(type->name));
		ks_pack_varint(sb, type->cache);
		ks_pack_varint(sb, type->objects);
		ks_pack_varint(sb, type->bytes);
	}
}

/* === Internals: unpacking ================================================================= */

static const char *unpack_string(struct ks_bytes *b, struct ks_slab_census *census)
{
	size_t len = 0;
	const char *s = ks_bytes_string(b, &len);

	return ks_arena_strndup(&census->arena, s ? s : "", s ? len : 0);
}

static u32 unpack_u32(struct ks_bytes *b)
{
	u64 v = ks_bytes_varint(b);

	b->overrun |= v > UINT32_MAX;
	return (u32)v;
}

static int unpack_caches(struct ks_bytes *b, struct ks_slab_census *census)
{
	u64 count = ks_bytes_varint(b);

	while (count-- && !b->overrun) {
		struct ks_slab_cache *cache = ks_vec_push(&census->caches);

		if (!cache)
			return -ENOMEM;
		cache->name = unpack_string(b, census);
		cache->aliases = unpack_string(b, census);
		if (!cache->name || !cache->aliases)
			return -ENOMEM;
		cache->reclaimable = ks_bytes_varint(b) & RECLAIMABLE;
		cache->object_size = unpack_u32(b);
		cache->stride = unpack_u32(b);
		cache->pad = unpack_u32(b);
		cache->pages = unpack_u32(b);
		cache->slabs = ks_bytes_varint(b);
		cache->objects = ks_bytes_varint(b);
		cache->bytes = ks_bytes_varint(b);
		cache->waiting = ks_bytes_varint(b);
	}
	return 0;
}

/* What ks_slab_census_at() relies on. */
static bool slab_is_sound(const struct ks_slab_census *census, u64 cache, u32 pages, u32 objects)
{
	u64 room = (u64)pages << census->page_shift;
	const struct ks_slab_cache *c;

	if (!pages || pages > MAX_PAGES || cache > census->caches.len)
		return false;
	if (!cache)
		return objects <= 1;
	c = &census->caches.items[cache - 1];
	return !objects || (c->stride && c->pad <= room && objects <= (room - c->pad) / c->stride);
}

static int unpack_slab(struct ks_bytes *b, struct ks_slab_census *census, u64 frame)
{
	u64 cache = ks_bytes_varint(b), state;
	u32 pages = unpack_u32(b), objects, i;
	struct ks_slab_place *slab;
	const u8 *used = NULL;

	state = ks_bytes_varint(b);
	objects = (u32)(state >> 1);
	if (b->overrun || state >> 33 || !slab_is_sound(census, cache, pages, objects) ||
	    frame > UINT64_MAX >> census->page_shift) {
		b->overrun = true;
		return 0;
	}
	if (state & PARTLY_USED) {
		used = ks_bytes_take(b, ((u64)objects + 7) / 8);
		if (!used)
			return 0;
	}
	slab = ks_slab_census_add(census, frame << census->page_shift,
				  cache ? (u32)(cache - 1) : KS_NONE, objects, pages);
	if (!slab)
		return -ENOMEM;
	for (i = 0; i < objects; i++)
		if (!used || used[i / 8] >> i % 8 & 1)
			ks_slab_census_use(census, slab, i);
	return 0;
}

static int unpack_slabs(struct ks_bytes *b, struct ks_slab_census *census)
{
	u64 count, frame = 0;
	int err = 0;

	census->page_shift = unpack_u32(b);
	if (census->page_shift > 20)
		b->overrun = true;
	count = ks_bytes_varint(b);
	while (count-- && !b->overrun && !err) {
		u64 step = ks_bytes_varint(b);

		if (step > UINT64_MAX - frame || (!step && census->slabs.len))
			b->overrun = true;
		frame += step;
		err = unpack_slab(b, census, frame);
	}
	return err;
}

static int unpack_types(struct ks_bytes *b, struct ks_slab_census *census)
{
	u64 count = ks_bytes_varint(b);

	while (count-- && !b->overrun) {
		struct ks_slab_type *type = ks_vec_push(&census->types);

		if (!type)
			return -ENOMEM;
		type->name = unpack_string(b, census);
		if (!type->name)
			return -ENOMEM;
		type->cache = unpack_u32(b);
		type->objects = ks_bytes_varint(b);
		type->bytes = ks_bytes_varint(b);
		b->overrun |= type->cache >= census->caches.len;
	}
	return 0;
}

static int unpack(struct ks_bytes *b, struct ks_slab_census *census, enum ks_census_when *ret_when)
{
	u64 version = ks_bytes_varint(b), when = ks_bytes_varint(b), how = ks_bytes_varint(b),
	    flags = ks_bytes_varint(b), count, i;
	int err;

	if (version != VERSION || when >= KS_CENSUS_WHENS || !how || how >= KS_CENSUS_HOWS)
		return KS_EBADINPUT;
	*ret_when = (enum ks_census_when)when;
	census->how = (enum ks_census_how)how;
	census->has_objects = flags & HAS_OBJECTS;
	census->has_large = flags & HAS_LARGE;
	census->from = ks_bytes_varint(b);
	census->to = ks_bytes_varint(b);
	census->wall_ns = ks_bytes_varint(b);
	count = ks_bytes_varint(b);
	for (i = 0; i < count && !b->overrun; i++) {
		u64 bytes = ks_bytes_varint(b);

		if (i < KS_CENSUS_MEMORIES)
			census->memory[i] = bytes;
	}
	err = unpack_caches(b, census);
	if (!err && census->has_objects)
		err = unpack_slabs(b, census);
	if (!err && flags & ALLOCS_END)
		census->allocs_end = ks_bytes_varint(b);
	if (!err && flags & HAS_TASKS) {
		census->tasks = ks_task_cgroups_new();
		err = census->tasks ? ks_task_cgroups_unpack(b, census->tasks) : -ENOMEM;
	}
	if (!err && flags & HAS_TYPES)
		err = unpack_types(b, census);
	return err ? err : b->overrun || census->to < census->from ? KS_EBADINPUT : 0;
}

/* === Public =============================================================================== */

struct ks_slab_census *ks_slab_census_new(void)
{
	struct ks_slab_census *census = calloc(1, sizeof(*census));

	if (census)
		ks_arena_init(&census->arena);
	return census;
}

void ks_slab_census_free(struct ks_slab_census *census)
{
	if (!census)
		return;
	ks_vec_free(&census->caches);
	ks_vec_free(&census->types);
	ks_vec_free(&census->slabs);
	ks_vec_free(&census->bits);
	ks_task_cgroups_free(census->tasks);
	ks_arena_deinit(&census->arena);
	free(census);
}

struct ks_slab_place *ks_slab_census_add(struct ks_slab_census *census, u64 addr, u32 cache,
					 u32 objects, u32 pages)
{
	u64 end = (u64)census->bits_len + objects;
	struct ks_slab_place *slab;

	while (census->bits.len * 64 < end)
		if (end > UINT32_MAX || !ks_vec_push(&census->bits))
			return NULL;
	slab = ks_vec_push(&census->slabs);
	if (!slab)
		return NULL;
	*slab = (struct ks_slab_place){ addr, cache, objects, census->bits_len, pages };
	census->bits_len = (u32)end;
	return slab;
}

enum ks_census_says ks_slab_census_at(const struct ks_slab_census *census, u64 addr, u32 *ret_cache)
{
	size_t low = 0, high = census->slabs.len;
	const struct ks_slab_cache *cache;
	const struct ks_slab_place *slab;
	u64 inside, object;

	if (ret_cache)
		*ret_cache = KS_NONE;
	if (!census->has_objects)
		return KS_CENSUS_SAYS_UNKNOWN;
	while (low < high) { /* the first slab behind the address */
		size_t middle = low + (high - low) / 2;

		if (census->slabs.items[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	slab = low ? &census->slabs.items[low - 1] : NULL;
	if (!slab || (addr - slab->addr) >> census->page_shift >= slab->pages)
		return KS_CENSUS_SAYS_NONE;
	if (ret_cache)
		*ret_cache = slab->cache;
	if (!slab->objects)
		return KS_CENSUS_SAYS_UNKNOWN;
	inside = addr - slab->addr;
	if (slab->cache == KS_NONE) {
		object = 0;
		if (inside)
			return KS_CENSUS_SAYS_UNKNOWN;
	} else {
		cache = &census->caches.items[slab->cache];
		if (inside < cache->pad || (inside - cache->pad) % cache->stride)
			return KS_CENSUS_SAYS_UNKNOWN;
		object = (inside - cache->pad) / cache->stride;
		if (object >= slab->objects)
			return KS_CENSUS_SAYS_UNKNOWN;
	}
	return bit_at(census, slab->first + (u32)object) ? KS_CENSUS_SAYS_USED
							 : KS_CENSUS_SAYS_FREE;
}

void ks_slab_census_pack(const struct ks_slab_census *census, enum ks_census_when when,
			 struct ks_strbuf *sb)
{
	const u64 head[] = {
		VERSION,
		when,
		census->how,
		(census->has_objects ? HAS_OBJECTS : 0) | (census->has_large ? HAS_LARGE : 0) |
			(census->allocs_end ? ALLOCS_END : 0) | (census->tasks ? HAS_TASKS : 0) |
			(census->types.len ? HAS_TYPES : 0),
		census->from,
		census->to,
		census->wall_ns,
		KS_CENSUS_MEMORIES,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(head); i++)
		ks_pack_varint(sb, head[i]);
	for (i = 0; i < KS_CENSUS_MEMORIES; i++)
		ks_pack_varint(sb, census->memory[i]);
	ks_pack_varint(sb, census->caches.len);
	for (i = 0; i < census->caches.len; i++)
		pack_cache(sb, &census->caches.items[i]);
	if (census->has_objects)
		pack_slabs(sb, census);
	if (census->allocs_end)
		ks_pack_varint(sb, census->allocs_end);
	if (census->tasks)
		ks_task_cgroups_pack(census->tasks, sb);
	if (census->types.len)
		pack_types(sb, census);
}

int ks_slab_census_unpack(const void *data, size_t len, struct ks_slab_census **ret_census,
			  enum ks_census_when *ret_when, struct ks_diag *diag)
{
	struct ks_slab_census *census = ks_slab_census_new();
	enum ks_census_when when;
	struct ks_bytes bytes;
	int err;

	if (!census)
		return ks_diag_nomem(diag, "reading a census");
	ks_bytes_init(&bytes, data, len);
	err = unpack(&bytes, census, &when);
	if (err) {
		ks_slab_census_free(census);
		return err == -ENOMEM ? ks_diag_nomem(diag, "reading a census")
				      : ks_diag_set(diag, err,
						    "the census in the file is damaged, or of a "
						    "newer kmemscope");
	}
	*ret_census = census;
	*ret_when = when;
	return 0;
}
