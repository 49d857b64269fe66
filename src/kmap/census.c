// SPDX-License-Identifier: LGPL-2.1-only
/* An access map added up as its objects pass. */
#include "kmap/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "kmap/slab-pages.h"

/* === Data ================================================================================= */

/* Of one object. */
struct uses {
	u64 reads, writes, bytes_read, bytes_written, foreign, irq;
};

/* === Internals ============================================================================ */

/* The number of an index entry; its element is made when the number is new. NULL = no memory. */
#define find_or_push(index, vec, key)                                            \
	({                                                                       \
		u32 number_ = ks_map64_add((index), (key));                      \
		number_ == KS_NONE     ? NULL                                    \
		: number_ < (vec)->len ? &(vec)->items[number_]                  \
				       : (typeof((vec)->items))ks_vec_push(vec); \
	})

/* The pair of type and cache as one number, so that a site has a key of two. */
static u32 names_of(struct ks_kmap_census *census, const struct ks_kmap_object *object,
		    u32 *ret_type, u32 *ret_cache)
{
	u32 type = object->type, cache;

	/* Known types have their own numbers: they were interned first, in order. */
	if (type == KS_KMAP_TYPES)
		type = ks_intern_add(&census->types, object->type_name.s, object->type_name.len);
	cache = ks_intern_add(&census->caches, object->cache.s, object->cache.len);
	if (type == KS_NONE || cache == KS_NONE)
		return KS_NONE;
	*ret_type = type;
	*ret_cache = cache;
	return ks_map64_add(&census->name_index, (u64)type << 32 | cache);
}

/* The site of a variable is where it is. One of a processor may say whose copy it is. */
static u64 site_ip(const struct ks_kmap_object *object)
{
	if (!ks_kmap_is_variable(object->type))
		return object->alloc_ip;
	return object->type == KS_KMAP_PERCPU && object->alloc_ip % 64 == 0 ? object->alloc_ip
									    : object->addr;
}

/*
 * Sites are found by their ip and names in two steps, since a key has 64 bits: the number of the
 * ip, then of the pair. Variables have other types than what code allocates.
 */
static struct ks_kmap_site *look_up_site(struct ks_kmap_census *census,
					 const struct ks_kmap_object *object)
{
	bool variable = ks_kmap_is_variable(object->type);
	u32 ip = ks_map64_add(variable ? &census->variables : &census->codes, site_ip(object));
	u32 type, cache;
	u32 names = names_of(census, object, &type, &cache);
	struct ks_kmap_site *site;

	if (ip == KS_NONE || names == KS_NONE)
		return NULL;
	site = find_or_push(&census->site_index, &census->sites, (u64)ip << 32 | names);
	if (site && !site->stat.objects) {
		site->ip = site_ip(object);
		site->type = type;
		site->cache = cache;
	}
	return site;
}

static bool is_of_site(const struct ks_kmap_census *census, const struct ks_kmap_site *site,
		       const struct ks_kmap_object *object)
{
	const struct ks_str *cache = &census->caches.strs.items[site->cache];

	return site->ip == site_ip(object) && site->type == object->type &&
	       cache->len == object->cache.len &&
	       ks_same_bytes(cache->s, object->cache.s, cache->len);
}

static struct ks_kmap_site *find_site(struct ks_kmap_census *census,
				      const struct ks_kmap_object *object)
{
	u64 hash = ks_hash_u64(object->alloc_ip, object->cache.len);
	u32 *memo = &census->site_memo[ks_hash_range(hash, KS_KMAP_SITE_MEMO)];
	struct ks_kmap_site *site;

	if (*memo && is_of_site(census, &census->sites.items[*memo - 1], object))
		return &census->sites.items[*memo - 1];
	site = look_up_site(census, object);
	if (site)
		*memo = (u32)(site - census->sites.items) + 1;
	return site;
}

static struct ks_kmap_edge *look_up_edge(struct ks_kmap_census *census, u32 site, u64 ip)
{
	u32 code = ks_map64_add(&census->codes, ip);
	struct ks_kmap_edge *edge;

	if (code == KS_NONE)
		return NULL;
	edge = find_or_push(&census->edge_index, &census->edges, (u64)site << 32 | code);
	if (edge) {
		edge->site = site;
		edge->code = code;
	}
	return edge;
}

static struct ks_kmap_edge *find_edge(struct ks_kmap_census *census, u32 site, u64 ip)
{
	u32 *memo = &census->edge_memo[ks_hash_range(ks_hash_u64(ip, site), KS_KMAP_EDGE_MEMO)];
	struct ks_kmap_edge *edge;

	if (*memo) {
		edge = &census->edges.items[*memo - 1];
		if (edge->site == site && census->codes.keys.items[edge->code] == ip)
			return edge;
	}
	edge = look_up_edge(census, site, ip);
	if (edge)
		*memo = (u32)(edge - census->edges.items) + 1;
	return edge;
}

/* What no code allocated, like a global, belongs to no task; and an interrupt is none. */
static bool is_foreign(const struct ks_kmap_object *object, const struct ks_kmap_access *access)
{
	return access->pid != object->pid && access->pid >= 0 && ks_kmap_is_code(object->alloc_ip);
}

static void add_bytes(struct ks_kmap_edge *edge, struct uses *uses,
		      const struct ks_kmap_access *access)
{
	edge->bytes_read = ks_add_sat(edge->bytes_read, access->bytes_read);
	edge->bytes_written = ks_add_sat(edge->bytes_written, access->bytes_written);
	uses->bytes_read = ks_add_sat(uses->bytes_read, access->bytes_read);
	uses->bytes_written = ks_add_sat(uses->bytes_written, access->bytes_written);
}

/* Adds the accesses to the edges; their sums come back. */
static int add_accesses(struct ks_kmap_census *census, u32 site,
			const struct ks_kmap_object *object, struct uses *uses)
{
	size_t i;

	for (i = 0; i < object->nr_accesses; i++) {
		const struct ks_kmap_access *access = &object->accesses[i];
		struct ks_kmap_edge *edge = find_edge(census, site, access->ip);
		u64 both = ks_add_sat(access->reads, access->writes);

		if (!edge)
			return -ENOMEM;
		edge->reads = ks_add_sat(edge->reads, access->reads);
		edge->writes = ks_add_sat(edge->writes, access->writes);
		if (object->has_bytes)
			add_bytes(edge, uses, access);
		/* One instruction may have several lines in an object, one for each pid. */
		if (both && edge->last_object != census->nr_objects) {
			edge->last_object = census->nr_objects;
			edge->objects++;
		}
		uses->reads = ks_add_sat(uses->reads, access->reads);
		uses->writes = ks_add_sat(uses->writes, access->writes);
		if (is_foreign(object, access)) {
			edge->foreign = ks_add_sat(edge->foreign, both);
			uses->foreign = ks_add_sat(uses->foreign, both);
		} else if (access->pid == -1) {
			edge->irq = ks_add_sat(edge->irq, both);
			uses->irq = ks_add_sat(uses->irq, both);
		}
	}
	census->nr_accesses += object->nr_accesses;
	return 0;
}

/* Of @size bytes, those that no access can have reached: it moved @moved bytes, if that is known. */
static u64 beyond(u64 size, bool accessed, bool has_bytes, u64 moved)
{
	if (!accessed)
		return size;
	return has_bytes && moved < size ? size - moved : 0;
}

/* What the object's counts say of its bytes. */
static void add_uses(struct ks_kmap_stat *stat, const struct uses *uses,
		     const struct ks_kmap_object *object)
{
	bool read = uses->reads > 0, written = uses->writes > 0, has_bytes = object->has_bytes;
	u64 size = object->size, moved = ks_add_sat(uses->bytes_read, uses->bytes_written);

	stat->reads = ks_add_sat(stat->reads, uses->reads);
	stat->writes = ks_add_sat(stat->writes, uses->writes);
	stat->bytes_read = ks_add_sat(stat->bytes_read, uses->bytes_read);
	stat->bytes_written = ks_add_sat(stat->bytes_written, uses->bytes_written);
	stat->foreign = ks_add_sat(stat->foreign, uses->foreign);
	stat->irq = ks_add_sat(stat->irq, uses->irq);
	if (ks_kmap_may_be_users(object)) {
		stat->user_bytes = ks_add_sat(stat->user_bytes, size);
		return;
	}
	if (!read && !written) {
		stat->cold_objects++;
		stat->cold_bytes = ks_add_sat(stat->cold_bytes, size);
		stat->unread_bytes = ks_add_sat(stat->unread_bytes, size);
		stat->unwritten_bytes = ks_add_sat(stat->unwritten_bytes, size);
		return;
	}
	stat->cold_bytes = ks_add_sat(stat->cold_bytes, beyond(size, true, has_bytes, moved));
	stat->unread_bytes =
		ks_add_sat(stat->unread_bytes, beyond(size, read, has_bytes, uses->bytes_read));
	stat->unwritten_bytes = ks_add_sat(stat->unwritten_bytes,
					   beyond(size, written, has_bytes, uses->bytes_written));
	if (written && !read)
		stat->write_only_bytes = ks_add_sat(stat->write_only_bytes, size);
	if (uses->reads == 1) {
		stat->read_once_objects++;
		stat->read_once_bytes = ks_add_sat(stat->read_once_bytes, size);
	}
}

/* A clock that went backwards, or an end that was not recorded, gives no lifetime. */
static int add_life(struct ks_kmap_site *site, const struct ks_kmap_object *object)
{
	struct ks_kmap_stat *stat = &site->stat;
	u64 life = object->free_time - object->alloc_time;

	if (ks_kmap_is_live(object)) {
		stat->live_objects++;
		stat->live_bytes = ks_add_sat(stat->live_bytes, object->size);
		stat->live_begin = ks_u128_add(stat->live_begin,
					       ks_u128_mul(object->size, object->alloc_time));
		ks_kmap_life_add_live(&site->life, object->alloc_time);
		return 0;
	}
	stat->implied += ks_kmap_is_implied(object);
	if (object->free_time < object->alloc_time)
		return 0;
	stat->lifetime_min = stat->ended ? ks_min(stat->lifetime_min, life) : life;
	stat->lifetime_max = ks_max(stat->lifetime_max, life);
	stat->lifetime_sum = ks_u128_add(stat->lifetime_sum, ks_u128_of(life));
	stat->area = ks_u128_add(stat->area, ks_u128_mul(object->size, life));
	stat->ended++;
	return ks_kmap_life_add(&site->life, object->alloc_time, object->free_time);
}

static void note_times(struct ks_kmap_census *census, const struct ks_kmap_object *object)
{
	census->first_time = ks_min(census->first_time, object->alloc_time);
	census->last_time = ks_max(census->last_time, object->alloc_time);
	census->last_time = ks_max(census->last_time, object->free_time);
}

/* More accesses first; then by address and time, so that ties do not depend on the file's order. */
static bool is_hotter(const struct ks_kmap_hot *a, const struct ks_kmap_hot *b)
{
	u64 x = ks_add_sat(a->reads, a->writes), y = ks_add_sat(b->reads, b->writes);

	if (x != y)
		return x > y;
	return a->addr != b->addr ? a->addr < b->addr : a->alloc_time < b->alloc_time;
}

static int add_hot(struct ks_kmap_census *census, u32 site, const struct ks_kmap_object *object,
		   const struct uses *uses)
{
	struct ks_kmap_hot hot = {
		.addr = object->addr,
		.size = object->size,
		.alloc_time = object->alloc_time,
		.reads = uses->reads,
		.writes = uses->writes,
		.site = site,
		.pid = object->pid,
	};
	size_t i = census->nr_hot;

	if (i == KS_KMAP_HOTTEST && !is_hotter(&hot, &census->hot[i - 1]))
		return 0;
	hot.comm = ks_intern_add(&census->comms, object->comm.s, object->comm.len);
	if (hot.comm == KS_NONE)
		return -ENOMEM;
	if (i < KS_KMAP_HOTTEST)
		census->nr_hot++;
	else
		i--;
	for (; i && is_hotter(&hot, &census->hot[i - 1]); i--)
		census->hot[i] = census->hot[i - 1];
	census->hot[i] = hot;
	if (census->nr_hot == KS_KMAP_HOTTEST)
		census->hot_floor = ks_add_sat(census->hot[KS_KMAP_HOTTEST - 1].reads,
					       census->hot[KS_KMAP_HOTTEST - 1].writes);
	return 0;
}

static int add_object(struct ks_kmap_census *census, const struct ks_kmap_object *object)
{
	struct ks_kmap_site *site = find_site(census, object);
	struct uses uses = { 0 };
	u64 accesses;
	u32 number;

	if (!site)
		return -ENOMEM;
	number = (u32)(site - census->sites.items);
	census->nr_objects++;
	if (add_accesses(census, number, object, &uses) ||
	    (census->has_spots &&
	     ks_kmap_spots_add(&census->spots, number, &census->codes, object)) ||
	    (census->has_spread && ks_kmap_spread_add(&census->spread, number, object)))
		return -ENOMEM;
	site->stat.objects++;
	site->stat.bytes = ks_add_sat(site->stat.bytes, object->size);
	site->stat.slot_bytes = ks_add_sat(site->stat.slot_bytes, object->slot);
	if (object->slot > object->size)
		site->stat.waste = ks_add_sat(site->stat.waste, object->slot - object->size);
	add_uses(&site->stat, &uses, object);
	site->largest = ks_max(site->largest, object->size);
	if (add_life(site, object))
		return -ENOMEM;
	note_times(census, object);
	if (ks_kmap_is_code(object->free_ip)) {
		struct ks_kmap_edge *edge = find_edge(census, number, object->free_ip);

		if (!edge)
			return -ENOMEM;
		edge->frees++;
	}
	accesses = ks_add_sat(uses.reads, uses.writes);
	return accesses && accesses >= census->hot_floor ? add_hot(census, number, object, &uses)
							 : 0;
}

/* What is left out, since its objects are in the map themselves. */
static void count_slab_pages(struct ks_kmap_census *census, const struct ks_kmap_object *object)
{
	size_t i;

	census->slab_page_objects++;
	census->slab_page_bytes = ks_add_sat(census->slab_page_bytes, object->size);
	for (i = 0; i < object->nr_accesses; i++)
		census->slab_page_accesses +=
			ks_add_sat(object->accesses[i].reads, object->accesses[i].writes);
}

static int add_call(struct ks_kmap_census *census, const struct ks_kmap_call *call)
{
	u32 from = ks_map64_add(&census->codes, call->from);
	u32 to = ks_map64_add(&census->codes, call->to);
	struct ks_kmap_calls *calls = NULL;

	if (from != KS_NONE && to != KS_NONE)
		calls = find_or_push(&census->call_index, &census->calls, (u64)from << 32 | to);
	if (!calls)
		return -ENOMEM;
	calls->from = from;
	calls->to = to;
	calls->count = ks_add_sat(calls->count, call->count);
	calls->returns =
		ks_add_sat(calls->returns, call->has_returns ? call->returns : call->count);
	return 0;
}

static int init_tables(struct ks_kmap_census *census)
{
	u32 type;

	if (ks_map64_init(&census->codes) || ks_map64_init(&census->variables) ||
	    ks_map64_init(&census->site_index) || ks_map64_init(&census->edge_index) ||
	    ks_map64_init(&census->call_index) || ks_map64_init(&census->name_index) ||
	    ks_intern_init(&census->types) || ks_intern_init(&census->caches) ||
	    ks_intern_init(&census->comms))
		return -ENOMEM;
	for (type = 0; type < KS_KMAP_TYPES; type++) {
		const char *name = ks_kmap_type_name(type);

		if (ks_intern_add(&census->types, name, strlen(name)) == KS_NONE)
			return -ENOMEM;
	}
	census->first_time = UINT64_MAX;
	return 0;
}

/* Bytes times time of all objects, where the live ones last until the end of the map. */
static struct ks_u128 area_of(const struct ks_kmap_census *census, const struct ks_kmap_stat *stat)
{
	struct ks_u128 live = ks_u128_mul(stat->live_bytes, census->last_time);

	return ks_u128_add(stat->area, ks_u128_sub(live, stat->live_begin));
}

/* === Public =============================================================================== */

int ks_kmap_census_new(unsigned int flags, struct ks_kmap_census **ret_census, struct ks_diag *diag)
{
	bool spots = flags & KS_KMAP_WITH_SPOTS, spread = flags & KS_KMAP_WITH_SPREAD;
	struct ks_kmap_census *census = calloc(1, sizeof(*census));
	bool failed = !census || init_tables(census);

	if (!failed) {
		census->slab_pages = flags & KS_KMAP_WITH_SLAB_PAGES;
		census->has_spots = spots && !ks_kmap_spots_init(&census->spots);
		census->has_spread = spread && !ks_kmap_spread_init(&census->spread);
		failed = census->has_spots != spots || census->has_spread != spread;
	}
	if (failed) {
		ks_kmap_census_free(census);
		return ks_diag_nomem(diag, "adding up an access map");
	}
	*ret_census = census;
	return 0;
}

void ks_kmap_census_free(struct ks_kmap_census *census)
{
	size_t i;

	if (!census)
		return;
	ks_map64_deinit(&census->codes);
	ks_map64_deinit(&census->variables);
	ks_map64_deinit(&census->site_index);
	ks_map64_deinit(&census->edge_index);
	ks_map64_deinit(&census->call_index);
	ks_map64_deinit(&census->name_index);
	ks_intern_deinit(&census->types);
	ks_intern_deinit(&census->caches);
	ks_intern_deinit(&census->comms);
	for (i = 0; i < census->sites.len; i++)
		ks_kmap_life_free(&census->sites.items[i].life);
	ks_vec_free(&census->sites);
	ks_vec_free(&census->edges);
	ks_vec_free(&census->calls);
	if (census->has_spots)
		ks_kmap_spots_deinit(&census->spots);
	if (census->has_spread)
		ks_kmap_spread_deinit(&census->spread);
	free(census);
}

int ks_kmap_census_take(struct ks_kmap_census *census, enum ks_kmap_item item,
			const struct ks_kmap_object *object, const struct ks_kmap_call *call,
			struct ks_diag *diag)
{
	int err = 0;

	if (unlikely(item == KS_KMAP_OBJECT && object->type == KS_KMAP_SLAB_PAGES &&
		     !census->slab_pages))
		count_slab_pages(census, object);
	else if (likely(item == KS_KMAP_OBJECT))
		err = add_object(census, object);
	else if (item == KS_KMAP_CALL)
		err = add_call(census, call);
	return err ? ks_diag_nomem(diag, "adding up an access map") : 0;
}

void ks_kmap_census_finish(struct ks_kmap_census *census, const struct ks_kmap_reader *reader)
{
	census->quality = *ks_kmap_reader_quality(reader);
	census->info = *ks_kmap_reader_info(reader);
}

int ks_kmap_census_read(struct ks_kmap_reader *reader, unsigned int flags,
			int (*progress)(void *ctx), void *ctx, struct ks_kmap_census **ret_census,
			struct ks_diag *diag)
{
	struct ks_kmap_census *census;
	struct ks_kmap_object object;
	struct ks_kmap_call call;
	enum ks_kmap_item item = KS_KMAP_OBJECT;
	u64 items = 0;
	int err = ks_kmap_census_new(flags, &census, diag);

	if (err)
		return err;
	while (!err && item != KS_KMAP_END) {
		err = ks_kmap_next(reader, &item, &object, &call, diag);
		if (!err)
			err = ks_kmap_census_take(census, item, &object, &call, diag);
		if (!err && progress && !(++items & 0xffff) && progress(ctx))
			err = ks_diag_set(diag, -EINTR, "interrupted");
	}
	/* Other kernel sides have another caller for pages: one inside of the slab allocator. */
	if (!err && !census->slab_pages && ks_kmap_reader_info(reader)->form == KS_KMAP_BINARY &&
	    ks_kmap_leave_out_slab_pages(census))
		err = ks_diag_nomem(diag, "adding up an access map");
	if (err) {
		ks_kmap_census_free(census);
		return err;
	}
	ks_kmap_census_finish(census, reader);
	*ret_census = census;
	return 0;
}

u64 ks_kmap_mean_bytes(const struct ks_kmap_census *census, const struct ks_kmap_stat *stat)
{
	u64 span = census->last_time > census->first_time ? census->last_time - census->first_time
							  : 0;

	if (!span)
		return stat->live_bytes;
	return ks_u128_div(ks_u128_add(area_of(census, stat), ks_u128_of(span / 2)), span);
}

double ks_kmap_weight(const struct ks_kmap_census *census, const struct ks_kmap_site *site)
{
	u64 time = ks_kmap_life_time(&site->life, census->last_time);
	struct ks_u128 area = area_of(census, &site->stat);

	return time ? ks_u128_double(area) / (double)time : (double)site->largest;
}

void ks_kmap_stat_add(struct ks_kmap_stat *to, const struct ks_kmap_stat *from)
{
	if (from->ended) {
		to->lifetime_min = to->ended ? ks_min(to->lifetime_min, from->lifetime_min)
					     : from->lifetime_min;
		to->lifetime_max = ks_max(to->lifetime_max, from->lifetime_max);
	}
	to->objects += from->objects;
	to->bytes = ks_add_sat(to->bytes, from->bytes);
	to->slot_bytes = ks_add_sat(to->slot_bytes, from->slot_bytes);
	to->waste = ks_add_sat(to->waste, from->waste);
	to->user_bytes = ks_add_sat(to->user_bytes, from->user_bytes);
	to->live_objects += from->live_objects;
	to->live_bytes = ks_add_sat(to->live_bytes, from->live_bytes);
	to->implied += from->implied;
	to->ended += from->ended;
	to->lifetime_sum = ks_u128_add(to->lifetime_sum, from->lifetime_sum);
	to->reads = ks_add_sat(to->reads, from->reads);
	to->writes = ks_add_sat(to->writes, from->writes);
	to->bytes_read = ks_add_sat(to->bytes_read, from->bytes_read);
	to->bytes_written = ks_add_sat(to->bytes_written, from->bytes_written);
	to->foreign = ks_add_sat(to->foreign, from->foreign);
	to->irq = ks_add_sat(to->irq, from->irq);
	to->cold_objects += from->cold_objects;
	to->cold_bytes = ks_add_sat(to->cold_bytes, from->cold_bytes);
	to->unread_bytes = ks_add_sat(to->unread_bytes, from->unread_bytes);
	to->unwritten_bytes = ks_add_sat(to->unwritten_bytes, from->unwritten_bytes);
	to->write_only_bytes = ks_add_sat(to->write_only_bytes, from->write_only_bytes);
	to->read_once_objects += from->read_once_objects;
	to->read_once_bytes = ks_add_sat(to->read_once_bytes, from->read_once_bytes);
	to->area = ks_u128_add(to->area, from->area);
	to->live_begin = ks_u128_add(to->live_begin, from->live_begin);
}
