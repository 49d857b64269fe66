// SPDX-License-Identifier: LGPL-2.1-only
/* Level 0: counters, and exact counts that correct them. */
#include "live/census-level.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "heap/census.h"
#include "heap/slot-index.h"
#include "heap/typing.h"

/* === Data ================================================================================= */

static const char large_name[] = "large kmalloc";
static const char unknown_name[] = "unknown";

/* One exact count while it is made. */
struct counting {
	struct ks_census_level *level;
	struct ks_live_snapshot *s;
	struct ks_census *census;
	struct ks_counters before, after; /* around it */
	struct ks_in_use use;
};

/* === Internals ============================================================================ */

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

static struct ks_known_cache *known(struct ks_census_level *level, const char *name)
{
	u32 number;

	/* The room first: a name without what is known of it would be one too many. */
	if (ks_vec_reserve(&level->caches, level->caches.len + 1))
		return NULL;
	number = ks_intern_add(&level->names, name, strlen(name));
	if (number == KS_NONE || (number == level->caches.len && !ks_vec_push(&level->caches)))
		return NULL;
	return &level->caches.items[number];
}

static struct ks_live_cell *cell_of(struct ks_live_snapshot *s, enum ks_live_part part,
				    enum ks_live_by by, const char *name, const char *cache)
{
	const char *names[KS_LIVE_BYS] = { 0 };

	names[KS_LIVE_BY_CACHE] = cache;
	if (name)
		names[by] = name;
	return ks_live_cell(s, part, names);
}

/* The number of the name that the struct kmem_cache at this address has. */
static u32 read_name(struct ks_census_level *level, u64 addr)
{
	struct ks_kernel *k = level->kernel;
	char name[128];
	u64 text;

	if (!k || ks_memory_word(k->memory, addr + k->layout.cache_name, &text) ||
	    ks_memory_string(k->memory, text, name, sizeof(name)) || !*name || !known(level, name))
		return KS_NONE;
	return ks_intern_find(&level->names, name, strlen(name));
}

/* In the middle of both, since the count was made between them. */
static u64 middle_of(const struct counting *c, const char *name, bool *ret_known)
{
	u32 before = ks_intern_find(&c->before.names, name, strlen(name));
	u32 after = ks_intern_find(&c->after.names, name, strlen(name));

	*ret_known = before != KS_NONE && after != KS_NONE;
	if (!*ret_known)
		return 0;
	return (c->before.items.items[before].active + c->after.items.items[after].active) / 2;
}

/* === Internals: an exact count ============================================================ */

static int add_caches(struct counting *c, const struct ks_layout *layout)
{
	const struct ks_census *census = c->census;
	size_t i;

	for (i = 0; i < census->rows.len; i++) {
		const struct ks_cache *cache = &census->caches->items.items[i];
		const struct ks_census_row *row = &census->rows.items[i];
		struct ks_live_cell *cell;

		if (!cache->valid || !row->slabs)
			continue;
		cell = cell_of(c->s, KS_LIVE_CACHES, 0, NULL, cache->name);
		if (!cell)
			return -ENOMEM;
		cell->objects += row->objects;
		cell->bytes += row->bytes;
		cell->slab_bytes += row->pages * 4096;
		cell->reclaimable = ks_cache_reclaimable(layout, cache);
	}
	return 0;
}

static int add_large(struct counting *c)
{
	const struct ks_pages *pages = c->census->pages;
	struct ks_live_cell *cell;
	size_t i;

	if (!pages->large.len)
		return 0;
	cell = cell_of(c->s, KS_LIVE_CACHES, 0, NULL, large_name);
	if (!cell)
		return -ENOMEM;
	for (i = 0; i < pages->large.len; i++) {
		cell->objects++;
		cell->bytes += pages->large.items[i].pages * 4096ull;
	}
	cell->slab_bytes = cell->bytes;
	return 0;
}

static int learn_addresses(struct counting *c)
{
	const struct ks_caches *caches = c->census->caches;
	size_t i;

	for (i = 0; i < caches->items.len; i++) {
		struct ks_known_cache *cache;

		if (!caches->items.items[i].valid)
			continue;
		cache = known(c->level, caches->items.items[i].name);
		if (!cache)
			return -ENOMEM;
		cache->addr = caches->items.items[i].addr;
		cache->size = caches->items.items[i].size;
	}
	return 0;
}

/* What the counters have too much, for the looks until the next count. */
static int learn(struct counting *c)
{
	size_t i;

	for (i = 0; i < c->level->caches.len; i++)
		c->level->caches.items[i] = (struct ks_known_cache){ 0 };
	for (i = 0; i < c->s->cells.len; i++) {
		const struct ks_live_cell *cell = &c->s->cells.items[i];
		const char *name =
			ks_intern_get(&c->s->names[KS_LIVE_BY_CACHE], cell->key[KS_LIVE_BY_CACHE])
				.s;
		struct ks_known_cache *cache;
		u64 active;

		if (cell->part != KS_LIVE_CACHES)
			continue;
		cache = known(c->level, name);
		if (!cache)
			return -ENOMEM;
		active = middle_of(c, name, &cache->counted);
		cache->waiting = active > cell->objects ? active - cell->objects : 0;
		cache->reclaimable = cell->reclaimable;
		cache->objects = cell->objects;
		cache->bytes = cell->bytes;
		cache->slab_bytes = cell->slab_bytes;
	}
	return 0;
}

/* Of objects that others ask for, one by one. */
static int type_wanted(struct counting *c, const struct ks_typing *typing, struct ks_diag *diag)
{
	const struct ks_slab *slabs = c->census->pages->slabs.items;
	size_t i;

	for (i = 0; c->use.index && i < c->level->wanted.len; i++) {
		u64 addr = c->level->wanted.items[i];
		u32 slab = 0, slot = ks_slot_at(c->use.index, addr, &slab), type = 0;
		struct ks_live_typed *typed = ks_vec_push(&c->s->typed);
		const char *name = "";

		if (slot < c->use.slots->count && ks_slot_used(c->use.slots, slot)) {
			type = typing->cache_type[slabs[slab].cache];
			if (!type)
				type = typing->of[slot];
		}
		if (type)
			name = ks_type_text(typing->types, type);
		if (typed)
			*typed = (struct ks_live_typed){
				addr, ks_arena_strndup(&c->s->names[0].arena, name, strlen(name))
			};
		if (!typed || !typed->type)
			return ks_diag_nomem(diag, "counting types");
	}
	c->level->wanted.len = 0;
	return 0;
}

static int add_types(struct counting *c, struct ks_diag *diag)
{
	struct ks_kernel *k = c->level->kernel;
	const char *symbols = *k->memory->facts.symbols ? k->memory->facts.symbols : NULL;
	struct ks_typing *typing = NULL;
	size_t i;
	int err = ks_typing_make(k, c->census, c->use.slots, symbols, &typing, diag);

	for (i = 0; !err && i < typing->rows.len; i++) {
		const struct ks_typing_row *row = &typing->rows.items[i];
		const struct ks_cache *cache = &c->census->caches->items.items[row->cache];
		struct ks_live_cell *cell =
			cell_of(c->s, KS_LIVE_TYPES, KS_LIVE_BY_TYPE,
				row->type ? ks_type_text(typing->types, row->type) : unknown_name,
				cache->name);

		if (!cell) {
			err = ks_diag_nomem(diag, "counting types");
			break;
		}
		cell->objects += row->objects;
		cell->bytes += row->bytes;
		cell->reclaimable = ks_cache_reclaimable(&k->layout, cache);
	}
	if (!err)
		err = type_wanted(c, typing, diag);
	ks_typing_free(typing);
	return err;
}

static int add_cgroups(struct counting *c)
{
	const struct ks_charges *charges = c->census->charges;
	const struct ks_layout *layout = &c->level->kernel->layout;
	size_t i;

	for (i = 0; i < charges->rows.len; i++) {
		const struct ks_charge *row = &charges->rows.items[i];
		const struct ks_cache *cache =
			row->cache == KS_NONE ? NULL : &c->census->caches->items.items[row->cache];
		struct ks_live_cell *cell = cell_of(c->s, KS_LIVE_CGROUPS, KS_LIVE_BY_CGROUP,
						    charges->paths.items[row->cgroup],
						    cache ? cache->name : large_name);

		if (!cell)
			return -ENOMEM;
		cell->objects += row->objects;
		cell->bytes += row->bytes;
		cell->reclaimable = cache && ks_cache_reclaimable(layout, cache);
	}
	return 0;
}

static void set_part(struct ks_live_snapshot *s, enum ks_live_part part, unsigned int by,
		     bool exact)
{
	s->parts[part] = (struct ks_live_part_info){
		.present = true,
		.tells = 1u << KS_LIVE_BY_CACHE | by,
		.at_ns = now_ns(),
		.exact = exact,
	};
}

/* Which places are in use, for types and for who follows objects. */
static int read_slots(struct counting *c, struct ks_diag *diag)
{
	struct ks_kernel *k = c->level->kernel;
	int err = ks_slots_read(k, c->census, &c->use.slots, diag);

	if (err || (!c->level->counted && !c->level->wanted.len))
		return err;
	err = ks_slot_index_new(k, c->census, c->use.slots, &c->use.index);
	if (!err)
		err = ks_slot_index_add_large(c->use.index, k, c->census, c->use.slots);
	if (err)
		return ks_diag_nomem(diag, "counting objects");
	if (c->level->counted)
		c->level->counted(c->level->followed_by, &c->use);
	return 0;
}

static int count(struct counting *c, bool types, struct ks_diag *diag)
{
	const struct ks_census_options options = { .charges = types };
	struct ks_kernel *k = c->level->kernel;
	struct ks_diag ignored;
	int err;

	/* A cache may have gone, and another be where it was. */
	ks_map64_clear(&c->level->addrs);
	c->level->numbers.len = 0;
	if (c->level->counting)
		c->level->counting(c->level->followed_by);
	c->use.at_ns = now_ns();
	c->level->no_counters = ks_counters_read(&c->before, &ignored);
	err = ks_census_take(k, &options, &c->census, diag);
	if (err)
		return err;
	if (!c->level->no_counters)
		c->level->no_counters = ks_counters_read(&c->after, &ignored);
	set_part(c->s, KS_LIVE_CACHES, 0, true);
	c->s->quality.torn = c->census->torn + c->census->waiting->torn;
	if (add_caches(c, &k->layout) || add_large(c) || learn(c) || learn_addresses(c))
		return ks_diag_nomem(diag, "counting objects");
	if (types || c->level->counted)
		err = read_slots(c, diag);
	if (err || !types)
		return err;
	set_part(c->s, KS_LIVE_CGROUPS, 1u << KS_LIVE_BY_CGROUP, true);
	if (add_cgroups(c))
		return ks_diag_nomem(diag, "counting objects");
	set_part(c->s, KS_LIVE_TYPES, 1u << KS_LIVE_BY_TYPE, true);
	return add_types(c, diag);
}

/* What the counters do not have stays as it was. */
static int add_uncounted(const struct ks_census_level *level, struct ks_live_snapshot *s)
{
	size_t i;

	for (i = 0; i < level->caches.len; i++) {
		const struct ks_known_cache *cache = &level->caches.items[i];
		struct ks_live_cell *cell;

		if (cache->counted || !cache->slab_bytes)
			continue;
		cell = cell_of(s, KS_LIVE_CACHES, 0, NULL, ks_intern_get(&level->names, (u32)i).s);
		if (!cell)
			return -ENOMEM;
		cell->objects = cache->objects;
		cell->bytes = cache->bytes;
		cell->slab_bytes = cache->slab_bytes;
		cell->reclaimable = cache->reclaimable;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_census_level_init(struct ks_census_level *level)
{
	*level = (struct ks_census_level){ 0 };
	return ks_map64_init(&level->addrs) || ks_intern_init(&level->names) ? -ENOMEM : 0;
}

void ks_census_level_deinit(struct ks_census_level *level)
{
	ks_kernel_free(level->kernel);
	ks_intern_deinit(&level->names);
	ks_vec_free(&level->caches);
	ks_vec_free(&level->wanted);
	ks_map64_deinit(&level->addrs);
	ks_vec_free(&level->numbers);
}

void ks_census_level_follow(struct ks_census_level *level, ks_counting_fn *counting,
			    ks_counted_fn *counted, void *arg)
{
	level->counting = counting;
	level->counted = counted;
	level->followed_by = arg;
}

void ks_census_level_unfollow(struct ks_census_level *level, const void *arg)
{
	if (level->followed_by == arg)
		ks_census_level_follow(level, NULL, NULL, NULL);
}

int ks_census_level_open(struct ks_census_level *level, struct ks_diag *diag)
{
	struct ks_memory *memory;
	int err;

	if (level->kernel)
		return 0;
	err = ks_memory_open_running(&memory, diag);
	return err ? err : ks_kernel_open(memory, NULL, &level->kernel, diag);
}

bool ks_in_use(const struct ks_in_use *use, u64 addr)
{
	u32 slab, offset, slot = ks_slot_inside(use->index, addr, &slab, &offset);

	if (slot == KS_NONE)
		return false;
	/* Those behind all slots are of large kmalloc(). */
	return slot >= use->slots->count || ks_slot_used(use->slots, slot);
}

const struct ks_known_cache *ks_census_level_find(struct ks_census_level *level, const char *name,
						  struct ks_diag *diag)
{
	u32 number = ks_intern_find(&level->names, name, strlen(name));
	struct ks_live_snapshot *s;
	int err;

	if (number >= level->caches.len || !level->caches.items[number].addr) {
		s = ks_live_snapshot_new(0);
		err = s ? ks_census_level_count(level, false, s, diag)
			: ks_diag_nomem(diag, "counting objects");
		ks_live_snapshot_put(s);
		if (err)
			return NULL;
		number = ks_intern_find(&level->names, name, strlen(name));
	}
	if (number < level->caches.len && level->caches.items[number].addr)
		return &level->caches.items[number];
	ks_diag_set(diag, -ENOENT, "the kernel has no slab cache of the name %s", name);
	return NULL;
}

const char *ks_census_level_cache(struct ks_census_level *level, u64 addr)
{
	u32 number = ks_map64_add(&level->addrs, addr);

	if (number == KS_NONE)
		return NULL;
	if (number == level->numbers.len) {
		u32 *slot = ks_vec_push(&level->numbers);

		if (!slot)
			return NULL;
		*slot = read_name(level, addr);
	}
	number = level->numbers.items[number];
	return number == KS_NONE ? NULL : ks_intern_get(&level->names, number).s;
}

int ks_census_level_counters(struct ks_census_level *level, struct ks_live_snapshot *s,
			     struct ks_diag *diag)
{
	struct ks_counters counters;
	size_t i;
	int err;

	if (ks_counters_init(&counters))
		return ks_diag_nomem(diag, "reading counters");
	err = ks_counters_read(&counters, diag);
	level->no_counters = err;
	for (i = 0; !err && i < counters.items.len; i++) {
		const struct ks_counter *counter = &counters.items.items[i];
		struct ks_str name = ks_intern_get(&counters.names, (u32)i);
		u32 number = ks_intern_find(&level->names, name.s, name.len);
		const struct ks_known_cache *cache =
			number < level->caches.len ? &level->caches.items[number] : NULL;
		struct ks_live_cell *cell;

		if (!counter->bytes)
			continue;
		cell = cell_of(s, KS_LIVE_CACHES, 0, NULL, name.s);
		if (!cell) {
			err = ks_diag_nomem(diag, "reading counters");
			break;
		}
		cell->objects = counter->active;
		if (cache)
			cell->objects -= ks_min(cache->waiting, cell->objects);
		cell->bytes = cell->objects * counter->size;
		cell->slab_bytes = counter->bytes;
		cell->reclaimable = cache && cache->reclaimable;
	}
	if (!err && add_uncounted(level, s))
		err = ks_diag_nomem(diag, "reading counters");
	if (!err)
		set_part(s, KS_LIVE_CACHES, 0, false);
	ks_counters_deinit(&counters);
	return err;
}

int ks_census_level_count(struct ks_census_level *level, bool types, struct ks_live_snapshot *s,
			  struct ks_diag *diag)
{
	struct counting c = { .level = level, .s = s };
	int err = ks_census_level_open(level, diag);

	if (err)
		return err;
	if (ks_counters_init(&c.before) || ks_counters_init(&c.after))
		err = ks_diag_nomem(diag, "counting objects");
	if (!err)
		err = count(&c, types, diag);
	ks_slot_index_free(c.use.index);
	ks_slots_free(c.use.slots);
	ks_census_free(c.census);
	ks_counters_deinit(&c.before);
	ks_counters_deinit(&c.after);
	return err;
}
