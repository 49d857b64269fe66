// SPDX-License-Identifier: LGPL-2.1-only
/* The facts of a snapshot's file: the kernel, the census, and the tables that objects refer to; and the roots. */
#include "heap/snapshot-format.h"

#include <errno.h>
#include <string.h>

#include "base/pack.h"

/* === Data ================================================================================= */

enum { NO_FUNCTIONS = 1 };
enum { CACHE_RECLAIMABLE = 1, CACHE_LARGE = 2 };

/* The numbers of a row of the census, in the order of the file. */
enum { SUMS = 8 + KS_WAITING_PLACES, NODE_SUMS = 5 };

/* Names are the kernel's or a user's: none is longer than a path. */
enum { NAME_MAX_LEN = 1 << 16 };

/* === Internals: packing =================================================================== */

static void put_text(struct ks_strbuf *out, const char *s)
{
	ks_pack_string(out, s, strlen(s));
}

static void list_sums(struct ks_census_row *row, u64 *sums[SUMS])
{
	u64 *all[SUMS] = { &row->slabs,
			   &row->pages,
			   &row->partial,
			   &row->room,
			   &row->used,
			   &row->waiting[KS_WAITING_CPU],
			   &row->waiting[KS_WAITING_SHEAF],
			   &row->waiting[KS_WAITING_BARN],
			   &row->aside,
			   &row->objects,
			   &row->bytes };

	memcpy(sums, all, sizeof(all));
}

static void list_node(struct ks_census_node *node, u64 *sums[NODE_SUMS])
{
	u64 *all[NODE_SUMS] = { &node->slabs, &node->pages, &node->used, &node->waiting,
				&node->bytes };

	memcpy(sums, all, sizeof(all));
}

static void pack_cache(const struct ks_heap_cache *cache, struct ks_strbuf *out)
{
	struct ks_census_row row = cache->census;
	u64 *sums[SUMS];
	u32 i;

	put_text(out, cache->name);
	ks_pack_varint(out, cache->size);
	ks_pack_varint(out, cache->object_size);
	ks_pack_varint(out, (cache->reclaimable ? CACHE_RECLAIMABLE : 0) |
				    (cache->large ? CACHE_LARGE : 0));
	list_sums(&row, sums);
	for (i = 0; i < SUMS; i++)
		ks_pack_varint(out, *sums[i]);
	/* Plus one, so that "not known" is 0. */
	ks_pack_varint(out, cache->slabinfo + 1);
	ks_pack_varint(out, cache->nr_merged);
	for (i = 0; i < cache->nr_merged; i++)
		put_text(out, cache->merged[i]);
}

static void pack_type(const struct ks_snapshot *s, const struct ks_heap_type *type,
		      struct ks_strbuf *out)
{
	u32 i;

	put_text(out, type->name);
	ks_pack_varint(out, type->size);
	ks_pack_varint(out, type->fields);
	for (i = 0; i < type->fields; i++) {
		ks_pack_varint(out, s->fields.items[type->first_field + i].offset);
		put_text(out, s->fields.items[type->first_field + i].name);
	}
}

/* Each object has one name at most: what is stored is how many objects without a name are in between. */
static void pack_labels(const struct ks_snapshot *s, struct ks_strbuf *out)
{
	u32 next = 0;
	size_t i;

	ks_pack_varint(out, s->labels.len);
	for (i = 0; i < s->labels.len; i++) {
		ks_pack_varint(out, s->labels.items[i].object - next);
		put_text(out, s->labels.items[i].name);
		next = s->labels.items[i].object + 1;
	}
}

static void pack_census(const struct ks_snapshot *s, struct ks_strbuf *out)
{
	struct ks_census_node node;
	u64 *sums[NODE_SUMS];
	size_t i, k;

	ks_pack_varint(out, KS_USES);
	for (i = 0; i < KS_USES; i++) {
		put_text(out, ks_page_use_name((enum ks_page_use)i));
		ks_pack_varint(out, s->kinds[i]);
	}
	ks_pack_varint(out, s->total);
	ks_pack_varint(out, KS_HEAP_QUALITIES);
	for (i = 0; i < KS_HEAP_QUALITIES; i++)
		ks_pack_varint(out, s->quality[i]);
	ks_pack_varint(out, s->nodes.len);
	for (i = 0; i < s->nodes.len; i++) {
		node = s->nodes.items[i];
		list_node(&node, sums);
		for (k = 0; k < NODE_SUMS; k++)
			ks_pack_varint(out, *sums[k]);
	}
}

/* === Internals: unpacking ================================================================= */

/* What the facts are read with. The first thing that is wrong stays. */
struct reading {
	struct ks_snapshot *s;
	struct ks_bytes *b;
	int err;
	const char *what;
};

static void wrong(struct reading *r, const char *what)
{
	if (!r->err)
		r->what = what;
	r->err = r->err ? r->err : KS_EBADINPUT;
}

static u64 get(struct reading *r, u64 max, const char *what)
{
	u64 v = ks_bytes_varint(r->b);

	if (r->b->overrun || v > max)
		wrong(r, what);
	return r->err ? 0 : v;
}

/* A number of things of at least @size bytes each: no more than there are bytes for. */
static u64 get_count(struct reading *r, size_t size, const char *what)
{
	return get(r, ks_bytes_left(r->b) / size, what);
}

static const char *get_text(struct reading *r, const char *what)
{
	size_t len = 0;
	const char *s = ks_bytes_string(r->b, &len), *copy;

	if (!s || len > NAME_MAX_LEN || memchr(s, 0, len))
		wrong(r, what);
	if (r->err)
		return "";
	copy = ks_arena_strndup(&r->s->arena, s, len);
	if (!copy)
		r->err = -ENOMEM;
	return copy ? copy : "";
}

/* Room for a number of elements that is known to be small enough. */
#define RESERVE(vec, count)                                               \
	do {                                                              \
		if (!r->err && (count) && ks_vec_reserve((vec), (count))) \
			r->err = -ENOMEM;                                 \
	} while (0)

static void get_kinds(struct reading *r)
{
	u64 count = get_count(r, 2, "kinds of memory"), i, k;

	for (i = 0; i < count && !r->err; i++) {
		const char *name = get_text(r, "kinds of memory");
		u64 pages = get(r, UINT64_MAX >> 12, "kinds of memory");

		for (k = 0; k < KS_USES && strcmp(name, ks_page_use_name((enum ks_page_use)k)); k++)
			;
		if (k == KS_USES)
			wrong(r, "a kind of memory that this program does not know");
		else
			r->s->kinds[k] = pages;
	}
}

/* A file of a newer program may have more of them. */
static void get_quality(struct reading *r)
{
	u64 count = get_count(r, 1, "counters"), i, value;

	for (i = 0; i < count && !r->err; i++) {
		value = get(r, UINT64_MAX, "counters");
		if (i < KS_HEAP_QUALITIES)
			r->s->quality[i] = value;
	}
}

static void get_nodes(struct reading *r)
{
	u64 count = get_count(r, NODE_SUMS, "nodes"), i, k;
	struct ks_census_node *node;
	u64 *sums[NODE_SUMS];

	RESERVE(&r->s->nodes, count);
	for (i = 0; i < count && !r->err; i++) {
		node = ks_vec_push(&r->s->nodes);
		list_node(node, sums);
		for (k = 0; k < NODE_SUMS; k++)
			*sums[k] = get(r, UINT64_MAX, "nodes");
		if (node->pages > UINT64_MAX >> 12)
			wrong(r, "nodes");
	}
}

static void get_merged(struct reading *r, struct ks_heap_cache *cache)
{
	u64 count = get_count(r, 1, "names of merged caches"), i;

	if (!count)
		return;
	cache->merged = ks_arena_alloc(&r->s->arena, (size_t)count * sizeof(*cache->merged));
	if (!cache->merged) {
		r->err = -ENOMEM;
		return;
	}
	for (i = 0; i < count; i++)
		cache->merged[i] = get_text(r, "names of merged caches");
	cache->nr_merged = (u32)count;
}

static void get_cache(struct reading *r, struct ks_heap_cache *cache)
{
	u64 *sums[SUMS], flags;
	int i;

	cache->name = get_text(r, "caches");
	cache->size = (u32)get(r, UINT32_MAX, "caches");
	cache->object_size = (u32)get(r, cache->size, "caches");
	flags = get(r, CACHE_RECLAIMABLE | CACHE_LARGE, "caches");
	cache->reclaimable = flags & CACHE_RECLAIMABLE;
	cache->large = flags & CACHE_LARGE;
	list_sums(&cache->census, sums);
	for (i = 0; i < SUMS; i++)
		*sums[i] = get(r, UINT64_MAX, "caches");
	cache->slabinfo = get(r, UINT64_MAX, "caches") - 1;
	if (!cache->size || cache->census.pages > UINT64_MAX >> 12)
		wrong(r, "the size of a cache");
	get_merged(r, cache);
}

static void get_caches(struct reading *r)
{
	u64 count = get_count(r, SUMS + 6, "caches"), i;

	if (count > UINT16_MAX)
		wrong(r, "too many caches");
	RESERVE(&r->s->caches, count);
	for (i = 0; i < count && !r->err; i++)
		get_cache(r, ks_vec_push(&r->s->caches));
}

static void get_fields(struct reading *r, struct ks_heap_type *type)
{
	u64 count = get_count(r, 2, "fields of types"), i;
	struct ks_heap_field *field;
	u32 last = 0;

	if (r->s->fields.len + count > UINT32_MAX)
		wrong(r, "too many fields");
	type->first_field = (u32)r->s->fields.len;
	type->fields = (u32)count;
	for (i = 0; i < count && !r->err; i++) {
		field = ks_vec_push(&r->s->fields);
		if (!field) {
			r->err = -ENOMEM;
			return;
		}
		field->offset = (u32)get(r, UINT32_MAX, "fields of types");
		field->name = get_text(r, "fields of types");
		if (field->offset < last)
			wrong(r, "the order of fields");
		last = field->offset;
	}
}

static void get_types(struct reading *r)
{
	u64 count = get_count(r, 3, "types"), i;
	struct ks_heap_type *type;

	if (!count || count > UINT32_MAX)
		wrong(r, "the number of types");
	RESERVE(&r->s->types, count);
	for (i = 0; i < count && !r->err; i++) {
		type = ks_vec_push(&r->s->types);
		type->name = get_text(r, "types");
		type->size = (u32)get(r, UINT32_MAX, "types");
		get_fields(r, type);
	}
}

static void get_cgroups(struct reading *r)
{
	u64 count = get_count(r, 1, "cgroups"), i;
	const char **path;

	if (count > UINT16_MAX)
		wrong(r, "too many cgroups");
	RESERVE(&r->s->cgroups, count);
	for (i = 0; i < count && !r->err; i++) {
		path = ks_vec_push(&r->s->cgroups);
		*path = get_text(r, "cgroups");
	}
}

/* The names of the ways in which types are known must be those of this program, in its order. */
static void get_ways(struct reading *r)
{
	u64 count = get_count(r, 1, "ways to know"), i;

	if (count > KS_KNOWN_WAYS)
		wrong(r, "a way to know a type that this program does not know");
	for (i = 0; i < count && !r->err; i++)
		if (strcmp(get_text(r, "ways to know"), ks_known_by_name((enum ks_known_by)i)))
			wrong(r, "a way to know a type that this program does not know");
}

static void get_labels(struct reading *r)
{
	u64 count = get_count(r, 2, "names of objects"), i, next = 0;
	struct ks_heap_label *label;

	RESERVE(&r->s->labels, count);
	for (i = 0; i < count && !r->err; i++) {
		label = ks_vec_push(&r->s->labels);
		next += get(r, UINT32_MAX, "names of objects");
		label->object = (u32)next;
		label->name = get_text(r, "names of objects");
		if (next >= r->s->count)
			wrong(r, "a name of an object that is not there");
		next++;
	}
}

static int end_reading(struct reading *r, const char **ret_what)
{
	if (r->b->overrun || ks_bytes_left(r->b))
		wrong(r, "the length");
	if (r->err == KS_EBADINPUT)
		*ret_what = r->what;
	return r->err;
}

/* === Public =============================================================================== */

void ks_hs_pack_facts(const struct ks_snapshot *s, struct ks_strbuf *out)
{
	size_t i;

	put_text(out, s->release);
	put_text(out, s->machine);
	put_text(out, s->host);
	put_text(out, s->boot);
	ks_pack_varint(out, s->taken_ns);
	ks_pack_varint(out, s->uptime_ns);
	ks_pack_varint(out, s->duration_ns);
	put_text(out, s->memory_by);
	ks_pack_varint(out, s->no_functions ? NO_FUNCTIONS : 0);
	pack_census(s, out);
	ks_pack_varint(out, s->caches.len);
	for (i = 0; i < s->caches.len; i++)
		pack_cache(&s->caches.items[i], out);
	ks_pack_varint(out, KS_KNOWN_WAYS);
	for (i = 0; i < KS_KNOWN_WAYS; i++)
		put_text(out, ks_known_by_name((enum ks_known_by)i));
	ks_pack_varint(out, s->types.len);
	for (i = 0; i < s->types.len; i++)
		pack_type(s, &s->types.items[i], out);
	ks_pack_varint(out, s->cgroups.len);
	for (i = 0; i < s->cgroups.len; i++)
		put_text(out, s->cgroups.items[i]);
	pack_labels(s, out);
}

int ks_hs_unpack_facts(struct ks_snapshot *s, struct ks_bytes *b, const char **ret_what)
{
	struct reading reading = { .s = s, .b = b }, *r = &reading;

	s->release = get_text(r, "the kernel");
	s->machine = get_text(r, "the kernel");
	s->host = get_text(r, "the kernel");
	s->boot = get_text(r, "the kernel");
	s->taken_ns = get(r, UINT64_MAX, "the time");
	s->uptime_ns = get(r, UINT64_MAX, "the time");
	s->duration_ns = get(r, UINT64_MAX, "the time");
	s->memory_by = get_text(r, "the kernel");
	s->no_functions = get(r, NO_FUNCTIONS, "flags") & NO_FUNCTIONS;
	get_kinds(r);
	s->total = get(r, UINT64_MAX, "the size of memory");
	get_quality(r);
	get_nodes(r);
	get_caches(r);
	get_ways(r);
	get_types(r);
	get_cgroups(r);
	get_labels(r);
	return end_reading(r, ret_what);
}

void ks_hs_pack_roots(const struct ks_snapshot *s, struct ks_strbuf *out)
{
	u64 addr = 0;
	size_t i;

	ks_pack_varint(out, KS_ROOT_KINDS);
	for (i = 0; i < KS_ROOT_KINDS; i++)
		ks_pack_varint(out, s->root_bytes[i]);
	ks_pack_varint(out, s->roots.len);
	for (i = 0; i < s->roots.len; i++) {
		const struct ks_heap_root *root = &s->roots.items[i];

		ks_pack_varint(out, root->kind);
		put_text(out, root->name);
		ks_pack_varint(out, ks_zigzag((s64)(root->addr - addr)));
		ks_pack_varint(out, s->root_first[i + 1] - s->root_first[i]);
		addr = root->addr;
	}
}

int ks_hs_unpack_roots(struct ks_snapshot *s, struct ks_bytes *b, u64 refs, const char **ret_what)
{
	struct reading reading = { .s = s, .b = b }, *r = &reading;
	u64 kinds = get(r, KS_ROOT_KINDS, "kinds of roots"), count, i, addr = 0, at = 0;

	for (i = 0; i < kinds; i++)
		s->root_bytes[i] = get(r, UINT64_MAX, "bytes of roots");
	count = get_count(r, 4, "roots");
	if (count >= UINT32_MAX)
		wrong(r, "too many roots");
	RESERVE(&s->roots, count);
	if (!r->err) {
		s->root_first = calloc((size_t)count + 1, sizeof(*s->root_first));
		r->err = s->root_first ? 0 : -ENOMEM;
	}
	for (i = 0; i < count && !r->err; i++) {
		struct ks_heap_root *root = ks_vec_push(&s->roots);

		root->kind = (enum ks_root_kind)get(r, KS_ROOT_KINDS - 1, "the kind of a root");
		root->name = get_text(r, "names of roots");
		addr += (u64)ks_unzigzag(get(r, UINT64_MAX, "addresses of roots"));
		root->addr = addr;
		s->root_first[i] = (u32)at;
		at += get(r, refs - at, "numbers of references of roots");
		s->root_first[i + 1] = (u32)at;
	}
	if (at != refs)
		wrong(r, "the number of references of roots");
	return end_reading(r, ret_what);
}
