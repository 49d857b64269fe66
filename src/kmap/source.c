// SPDX-License-Identifier: LGPL-2.1-only
/* The objects of an access map as a source of events. */
#include "kmap/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"
#include "base/num.h"
#include "base/vec.h"
#include "kmap/framing.h"
#include "kmap/line.h"
#include "sym/sym.h"

/* === Data ================================================================================= */

enum { BATCH = 2048 };

/* An object, its places as numbers: of addresses until all are read, of sites from then on. */
struct item {
	u64 addr, size, requested;
	u64 begin, end; /* end: UINT64_MAX = alive */
	u64 order;	/* in the file */
	u32 site, free_site;
	u32 cache, comm, gfp;
	u32 pid;
	u16 cpu;
	u8 kind;      /* of the allocation */
	bool guessed; /* the map does not say */
};

struct kmap_source {
	struct ks_source base;
	struct ks_map64 ips;
	struct ks_map64 gfps;
	KS_VEC(u32) gfp_ids;	   /* by number in gfps */
	KS_VEC(struct item) items; /* in the order of their allocation */
	KS_VEC(u32) frees;	   /* numbers of items, in the order of their ends */
	size_t allocs_done, frees_done;
	struct ks_event batch[BATCH];
};

/* === Internals: objects =================================================================== */

static bool is_whole_pages(const struct item *item)
{
	return !((item->addr | item->size) & ((1u << KS_PAGE_SHIFT) - 1));
}

/* The kind of allocation that the object came of; KS_KINDS if of none. */
static enum ks_kind kind_of(const struct ks_kmap_object *object)
{
	static const char pages[] = "ALLOC_PAGES", cache[] = "KMEM_CACHE", kmalloc[] = "KMALLOC";
	const struct ks_slice *type = &object->type_name;

	if (!object->addr || (object->alloc_ip && !ks_kmap_is_code(object->alloc_ip)))
		return KS_KINDS;
	if (type->len >= sizeof(pages) - 1 && !memcmp(type->s, pages, sizeof(pages) - 1))
		return KS_PAGE_ALLOC;
	if (object->type == KS_KMAP_SLAB_PAGES || object->type == KS_KMAP_PAGE_TABLE ||
	    (object->type == KS_KMAP_STACK_PAGE && object->alloc_ip))
		return KS_PAGE_ALLOC;
	if (type->len >= sizeof(cache) - 1 && !memcmp(type->s, cache, sizeof(cache) - 1))
		return KS_CACHE_ALLOC;
	if (type->len >= sizeof(kmalloc) - 1 && !memcmp(type->s, kmalloc, sizeof(kmalloc) - 1))
		return KS_KMALLOC;
	return type->len ? KS_KINDS : KS_KMALLOC;
}

static u64 end_of(struct ks_map_info *quality, const struct ks_kmap_object *object)
{
	if (ks_kmap_is_live(object))
		return UINT64_MAX;
	quality->unseen += ks_kmap_is_implied(object);
	if (object->free_time && object->free_time >= object->alloc_time)
		return object->free_time;
	quality->timeless++;
	return object->alloc_time;
}

static u32 name_of(struct ks_intern *names, struct ks_slice name, u32 *missing)
{
	u32 id = ks_intern_add(names, name.s, name.len);

	*missing |= id == KS_NONE;
	return id;
}

/* Flags as a number, as a capture without the kernel's names has them. */
static u32 gfp_of(struct kmap_source *map, u32 mask, u32 *missing)
{
	u32 number = ks_map64_add(&map->gfps, mask);
	u32 *id;
	char text[16];

	if (number < map->gfp_ids.len)
		return map->gfp_ids.items[number];
	id = number == KS_NONE ? NULL : ks_vec_push(&map->gfp_ids);
	*missing |= !id;
	if (!id)
		return KS_NONE;
	snprintf(text, sizeof(text), "0x%x", mask);
	*id = name_of(&map->base.names.gfps, (struct ks_slice){ text, strlen(text) }, missing);
	return *id;
}

static u32 ip_of(struct kmap_source *map, u64 ip, u32 *missing)
{
	u32 number = ks_kmap_is_code(ip) ? ks_map64_add(&map->ips, ip) : KS_NONE;

	*missing |= number == KS_NONE && ks_kmap_is_code(ip);
	return number;
}

static int add_object(struct kmap_source *map, const struct ks_kmap_object *object)
{
	static const struct ks_slice no_slab = { "no-slab", 7 };
	struct ks_names *names = &map->base.names;
	struct ks_map_info *left = &map->base.info.map;
	enum ks_kind kind = kind_of(object);
	bool binary = !object->fields;
	struct item *item;
	u32 missing = 0;

	left->accesses += object->nr_accesses;
	if (kind == KS_KINDS) {
		left->not_allocated++;
		left->not_allocated_bytes = ks_add_sat(left->not_allocated_bytes, object->size);
		return 0;
	}
	item = map->items.len < KS_NONE ? ks_vec_push(&map->items) : NULL;
	if (!item)
		return -ENOMEM;
	*item = (struct item){
		.addr = object->addr,
		.size = ks_kmap_extent(object),
		.requested = object->size,
		.begin = object->alloc_time,
		.end = end_of(left, object),
		.order = map->items.len - 1,
		.site = ip_of(map, object->alloc_ip, &missing),
		.free_site = ip_of(map, object->free_ip, &missing),
		.cache = KS_NONE,
		.comm = name_of(&names->comms, object->comm, &missing),
		.gfp = binary ? gfp_of(map, object->gfp, &missing) : KS_NONE,
		.pid = object->pid < 0 ? KS_PID_UNKNOWN : (u32)object->pid,
		.cpu = binary ? object->cpu : KS_CPU_UNKNOWN,
		.kind = (u8)kind,
		.guessed = !object->type_name.len,
	};
	left->guessed += item->guessed;
	if (object->cache.len &&
	    (object->cache.len != no_slab.len || memcmp(object->cache.s, no_slab.s, no_slab.len)))
		item->cache = name_of(&names->caches, object->cache, &missing);
	return missing ? -ENOMEM : 0;
}

static int show_progress(const struct kmap_source *map, const struct ks_kmap_reader *reader,
			 struct ks_diag *diag)
{
	const struct ks_source_opts *opts = &map->base.opts;
	u64 done, total;

	if (!opts->progress)
		return 0;
	ks_kmap_reader_progress(reader, &done, &total);
	return opts->progress(opts->progress_ctx, done, total)
		       ? ks_diag_set(diag, -EINTR, "interrupted")
		       : 0;
}

static int read_objects(struct kmap_source *map, struct ks_kmap_reader *reader,
			struct ks_kmap_census *census, struct ks_diag *diag)
{
	enum ks_kmap_item item = KS_KMAP_OBJECT;
	struct ks_kmap_object object;
	struct ks_kmap_call call;
	u64 items = 0;
	int err = 0;

	while (!err && item != KS_KMAP_END) {
		err = ks_kmap_next(reader, &item, &object, &call, diag);
		if (!err && item == KS_KMAP_OBJECT && add_object(map, &object))
			err = ks_diag_nomem(diag, "reading an access map");
		if (!err && census)
			err = ks_kmap_census_take(census, item, &object, &call, diag);
		map->base.info.map.calls += !err && item == KS_KMAP_CALL;
		if (!err && !(++items & 0xffff))
			err = show_progress(map, reader, diag);
	}
	if (!err && census)
		ks_kmap_census_finish(census, reader);
	return err;
}

/*
 * A map that has no types has objects of all allocators, and memory of slabs twice: as pages, and as
 * what is in them. Whole pages are pages; but where some of them have no site, as pages do unless the
 * kernel was asked for their callers, those that do have one are of a slab.
 */
static void guess_pages(struct kmap_source *map)
{
	bool siteless = false;
	size_t i;

	for (i = 0; i < map->items.len; i++) {
		const struct item *item = &map->items.items[i];

		siteless |= item->guessed && item->site == KS_NONE && is_whole_pages(item);
	}
	for (i = 0; i < map->items.len; i++) {
		struct item *item = &map->items.items[i];

		if (item->guessed && is_whole_pages(item) && (!siteless || item->site == KS_NONE))
			item->kind = KS_PAGE_ALLOC;
	}
}

/* === Internals: sites ===================================================================== */

static int add_site(struct ks_sites *sites, struct ks_resolver *resolver, u64 ip, u32 *ret_site,
		    struct ks_diag *diag)
{
	struct ks_sym_query query = { .func = "", .module = "", .addr = ip };
	struct ks_sym_place place = { .func = "", .owner = "", .module = "" };
	char text[512];
	int err = resolver ? ks_resolver_lookup(resolver, &query, &place, diag) : 0;

	if (err)
		return err;
	if (!place.func[0])
		snprintf(text, sizeof(text), "%llx", (unsigned long long)ip);
	else if (place.module[0])
		snprintf(text, sizeof(text), "%.300s+0x%llx [%.100s]", place.func,
			 (unsigned long long)place.offset, place.module);
	else
		snprintf(text, sizeof(text), "%.300s+0x%llx", place.func,
			 (unsigned long long)place.offset);
	*ret_site = ks_sites_add_addr(sites, ip, text, strlen(text));
	return *ret_site == KS_NONE ? ks_diag_nomem(diag, "naming the sites of a map") : 0;
}

/* Where the kernel was may be said anywhere in the map, so sites get their names at its end. */
static int name_sites(struct kmap_source *map, const struct ks_kmap_info *info,
		      struct ks_diag *diag)
{
	struct ks_resolver *resolver = map->base.opts.resolver;
	size_t i, len = map->ips.keys.len;
	u32 *sites = calloc(len + 1, sizeof(*sites));
	int err = 0;

	if (!sites)
		return ks_diag_nomem(diag, "naming the sites of a map");
	if (resolver && info->anchor_name[0])
		map->base.info.map.other_kernel =
			ks_resolver_set_anchor(resolver, info->anchor_name, info->anchor) != 0;
	for (i = 0; i < len && !err; i++)
		err = add_site(&map->base.names.sites, resolver, map->ips.keys.items[i], &sites[i],
			       diag);
	for (i = 0; i < map->items.len && !err; i++) {
		struct item *item = &map->items.items[i];

		if (item->site != KS_NONE)
			item->site = sites[item->site];
		if (item->free_site != KS_NONE)
			item->free_site = sites[item->free_site];
	}
	free(sites);
	return err;
}

/* === Internals: order ===================================================================== */

/*
 * Clocks may be as coarse as jiffies: what begins and ends in one tick must still come in an order
 * in which each address is free when it is allocated.
 */
static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_frees(const void *a, const void *b, void *ctx)
{
	const struct item *items = ctx;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	if (items[x].end != items[y].end)
		return items[x].end < items[y].end ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int sort(struct kmap_source *map)
{
	size_t i;

	if (!map->items.len)
		return 0;
	qsort(map->items.items, map->items.len, sizeof(*map->items.items), compare_items);
	for (i = 0; i < map->items.len; i++) {
		u32 *number;

		if (map->items.items[i].end == UINT64_MAX)
			continue;
		number = ks_vec_push(&map->frees);
		if (!number)
			return -ENOMEM;
		*number = (u32)i;
	}
	if (map->frees.len)
		qsort_r(map->frees.items, map->frees.len, sizeof(*map->frees.items), compare_frees,
			map->items.items);
	return 0;
}

/* === Internals: events ==================================================================== */

static void fill_event(const struct item *item, bool is_free, struct ks_event *ev)
{
	static const u8 free_kinds[] = {
		[KS_KMALLOC] = KS_KFREE,
		[KS_CACHE_ALLOC] = KS_CACHE_FREE,
		[KS_PAGE_ALLOC] = KS_PAGE_FREE,
	};

	*ev = (struct ks_event){
		.ts = is_free ? item->end : item->begin,
		.ptr = item->kind == KS_PAGE_ALLOC ? item->addr >> KS_PAGE_SHIFT : item->addr,
		.site = is_free ? item->free_site : item->site,
		.cache = item->cache,
		.comm = is_free ? KS_NONE : item->comm,
		.gfp = is_free ? KS_NONE : item->gfp,
		.stack = KS_NONE,
		.pid = is_free ? KS_PID_UNKNOWN : item->pid,
		.node = -1,
		.cpu = is_free ? KS_CPU_UNKNOWN : item->cpu,
		.kind = is_free ? free_kinds[item->kind] : item->kind,
	};
	if (is_free)
		return;
	ev->bytes_req = item->requested;
	ev->bytes_alloc = item->size;
}

/* Whether the next free is due before the next allocation. */
static bool free_is_next(const struct kmap_source *map)
{
	const struct item *items = map->items.items;
	size_t alloc = map->allocs_done;
	u32 freed;

	if (map->frees_done == map->frees.len)
		return false;
	if (alloc == map->items.len)
		return true;
	freed = map->frees.items[map->frees_done];
	if (items[freed].end != items[alloc].begin)
		return items[freed].end < items[alloc].begin;
	return freed < alloc;
}

static int source_next(struct ks_source *base, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct kmap_source *map = ks_container_of(base, struct kmap_source, base);
	size_t count = 0;

	while (count < BATCH &&
	       (map->allocs_done < map->items.len || map->frees_done < map->frees.len)) {
		bool is_free = free_is_next(map);
		size_t number = is_free ? map->frees.items[map->frees_done++] : map->allocs_done++;

		fill_event(&map->items.items[number], is_free, &map->batch[count++]);
	}
	*ret_batch = (struct ks_batch){ map->batch, count };
	return 0;
}

static void source_progress(struct ks_source *base, u64 *ret_done, u64 *ret_total)
{
	const struct kmap_source *map = ks_container_of(base, struct kmap_source, base);

	*ret_done = map->allocs_done + map->frees_done;
	*ret_total = map->items.len + map->frees.len;
}

static void source_close(struct ks_source *base)
{
	struct kmap_source *map = ks_container_of(base, struct kmap_source, base);

	ks_map64_deinit(&map->ips);
	ks_map64_deinit(&map->gfps);
	ks_vec_free(&map->gfp_ids);
	ks_vec_free(&map->items);
	ks_vec_free(&map->frees);
	ks_source_free(base);
}

/* === Internals: what it is ================================================================ */

/* What a map can't say: stacks and nodes never, CPUs and flags in text. */
static void set_gives(struct ks_source *source, const struct ks_kmap_info *info)
{
	source->gives &= ~(unsigned int)(KS_GIVES_STACKS | KS_GIVES_NODES);
	if (info->form != KS_KMAP_BINARY)
		source->gives &= ~(unsigned int)(KS_GIVES_CPUS | KS_GIVES_GFP);
	ks_source_set_clock(source, !strcmp(info->time, "ns") ? KS_CLOCK_SECONDS : KS_CLOCK_TICKS);
}

/* === Public =============================================================================== */

int ks_kmap_source_new(struct ks_kmap_reader *reader, const struct ks_source_opts *opts,
		       struct ks_kmap_census *census, struct ks_source **ret_source,
		       struct ks_diag *diag)
{
	static const struct ks_source_ops ops = { .next = source_next,
						  .progress = source_progress,
						  .close = source_close };
	const struct ks_kmap_info *info = ks_kmap_reader_info(reader);
	struct kmap_source *map = ks_source_new(sizeof(*map), &ops, "access map", opts);
	int err = 0;

	if (!map)
		return ks_diag_nomem(diag, "reading an access map");
	set_gives(&map->base, info);
	if (ks_map64_init(&map->ips) || ks_map64_init(&map->gfps))
		err = ks_diag_nomem(diag, "reading an access map");
	if (!err)
		err = read_objects(map, reader, census, diag);
	if (!err)
		guess_pages(map);
	if (!err)
		err = name_sites(map, info, diag);
	if (!err && sort(map))
		err = ks_diag_nomem(diag, "reading an access map");
	if (err) {
		source_close(&map->base);
		return err;
	}
	map->base.info.binary.bad_records = ks_kmap_reader_quality(reader)->bad_lines;
	map->base.info.map.orphans = ks_kmap_reader_quality(reader)->orphan_accesses;
	map->base.opts = (struct ks_source_opts){ 0 }; /* the caller may be done with them */
	*ret_source = &map->base;
	return 0;
}

bool ks_kmap_probe(const void *head, size_t len)
{
	const char *p = head, *end = p + len, *newline;
	struct ks_kmap_dialect dialect;
	struct ks_kmap_parsed parsed;
	size_t good = 0, bad = 0;

	if (ks_kmap_is_header(head, len))
		return true;
	if (!ks_kmap_dialect_detect(head, len, &dialect))
		return false;
	for (; p < end && (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1)
		switch (ks_kmap_line_parse(&dialect, p, (size_t)(newline - p), &parsed)) {
		case KS_KMAP_LINE_BAD:
			bad++;
			break;
		case KS_KMAP_LINE_COMMENT:
			break;
		default:
			good++;
		}
	return good > bad || (dialect.csv && !bad);
}

bool ks_kmap_probe_accesses(const void *head, size_t len)
{
	static const char first[] = "alloc_index,";

	return len >= sizeof(first) - 1 && !memcmp(head, first, sizeof(first) - 1);
}

int ks_kmap_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag)
{
	struct ks_kmap_reader *reader;
	int err = ks_kmap_reader_new(input, NULL, 0, &reader, diag);

	if (err)
		return err;
	err = ks_kmap_source_new(reader, opts, NULL, ret_source, diag);
	ks_kmap_reader_free(reader);
	return err;
}
