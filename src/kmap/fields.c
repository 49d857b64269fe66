// SPDX-License-Identifier: LGPL-2.1-only
/* Accesses by field: the spots of all sites of a type, laid over its members. */
#include "kmap/fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "kmap/site-types.h"

/* === Data ================================================================================= */

struct maker {
	struct ks_kmap_fields *fields;
	const struct ks_kmap_census *census;
	const struct ks_kmap_places *places;
	struct ks_kmap_site_types types;
	u32 *struct_of; /* number of the struct, by site */
	u32 *order;	/* spots by site */
	u64 *own;	/* writes to each field in one object of the site in hand */
	struct ks_intern names;
	bool failed;
};

/* === Internals: structs =================================================================== */

static u32 find_struct(struct maker *m, const char *name, enum ks_kmap_typed typed, u32 layout)
{
	u32 number = ks_intern_add(&m->names, name, strlen(name));
	struct ks_kmap_struct *type;

	if (number == KS_NONE || number < m->fields->structs.len)
		return number;
	type = ks_vec_push(&m->fields->structs);
	if (!type)
		return KS_NONE;
	type->name = ks_arena_strndup(&m->fields->strings, name, strlen(name));
	type->typed = typed;
	if (layout != KS_NONE) {
		type->layout = m->types.layouts.items[layout];
		m->types.layouts.items[layout] = NULL; /* it has its owner now */
		type->size = type->layout->size;
	}
	return type->name ? number : KS_NONE;
}

/* Objects of unknown type: those of a cache with a name, or those of a site, are alike. */
static u32 struct_of_site(struct maker *m, size_t site)
{
	const struct ks_kmap_site_type *type = &m->types.sites[site];
	const struct ks_kmap_site *info = &m->census->sites.items[site];
	const char *cache = ks_intern_get(&m->census->caches, info->cache).s;
	const char *label = ks_kmap_label(m->places, m->places->sites[site][KS_KMAP_SITE]);
	bool bare = label[0] != '['; /* those of no code have brackets: "[STACK_PAGE]" */
	char text[320];

	if (type->layout != KS_NONE)
		return find_struct(m, ks_intern_get(&m->types.names, type->layout).s, type->typed,
				   type->layout);
	/* Where nobody knows who allocated, the cache is all there is. */
	if (cache[0] && ((strncmp(cache, "kmalloc", 7) && strcmp(cache, "no-slab")) || !info->ip))
		snprintf(text, sizeof(text), "[cache %s]", cache);
	else
		snprintf(text, sizeof(text), "%s%s%s", bare ? "[" : "", label, bare ? "]" : "");
	return find_struct(m, text, KS_KMAP_UNTYPED, KS_NONE);
}

static void add_site(struct maker *m, size_t site)
{
	const struct ks_kmap_extent *extent = &m->census->spots.extents.items[site];
	struct ks_kmap_struct *type;
	u32 number = struct_of_site(m, site);

	m->struct_of[site] = number;
	if (number == KS_NONE) {
		m->failed = true;
		return;
	}
	type = &m->fields->structs.items[number];
	type->objects += extent->objects;
	type->aligned += extent->aligned;
	type->lines += extent->lines;
	type->bytes += extent->bytes;
	if (!type->layout)
		type->size = ks_max(type->size, extent->most);
}

/* === Internals: fields ==================================================================== */

static struct ks_kmap_field *add_field(struct maker *m, struct ks_kmap_struct *type, u32 offset,
				       u32 size)
{
	struct ks_kmap_field *field = ks_vec_push(&type->fields);

	if (!field) {
		m->failed = true;
		return NULL;
	}
	field->offset = offset;
	field->size = size;
	field->name = field->type = "";
	return field;
}

static void add_fields_of_layout(struct maker *m, struct ks_kmap_struct *type)
{
	size_t i;

	for (i = 0; i < type->layout->fields.len; i++) {
		const struct ks_debug_field *from = &type->layout->fields.items[i];
		struct ks_kmap_field *field = add_field(m, type, from->offset, from->size);

		if (!field)
			return;
		field->name = ks_debug_string(type->layout, from->name);
		field->type = ks_debug_string(type->layout, from->type);
		field->member = from->member;
	}
}

static int by_offset(const void *pa, const void *pb)
{
	const struct ks_kmap_field *a = pa, *b = pb;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/* An operation on more than this is no access to a field. */
#define FIELD_MAX 16

/* Without a layout, what was accessed by loads and stores is a field; those that overlap are one. */
static void merge_fields(struct maker *m, struct ks_kmap_struct *type)
{
	struct ks_kmap_field *items = type->fields.items;
	size_t i, len = 0;

	if (!type->fields.len)
		return;
	qsort(items, type->fields.len, sizeof(*items), by_offset);
	for (i = 0; i < type->fields.len; i++) {
		struct ks_kmap_field *last = len ? &items[len - 1] : NULL;

		if (last && items[i].offset < last->offset + last->size)
			last->size =
				ks_max(last->offset + last->size, items[i].offset + items[i].size) -
				last->offset;
		else
			items[len++] = items[i];
	}
	type->fields.len = len;
	for (i = 0; i < len; i++) {
		char text[24];

		snprintf(text, sizeof(text), "0x%x", items[i].offset);
		items[i].name = ks_arena_strndup(&m->fields->strings, text, strlen(text));
		items[i].member = (u32)i;
		m->failed |= !items[i].name;
	}
}

static void make_fields(struct maker *m)
{
	const struct ks_kmap_spots *spots = &m->census->spots;
	size_t i;

	for (i = 0; i < m->fields->structs.len && !m->failed; i++)
		if (m->fields->structs.items[i].layout)
			add_fields_of_layout(m, &m->fields->structs.items[i]);
	for (i = 0; i < spots->spots.len && !m->failed; i++) {
		const struct ks_kmap_spot *spot = &spots->spots.items[i];
		struct ks_kmap_struct *type = &m->fields->structs.items[m->struct_of[spot->site]];

		if (!type->layout && !spot->varies && spot->length && spot->length <= FIELD_MAX)
			add_field(m, type, spot->offset, spot->length);
	}
	for (i = 0; i < m->fields->structs.len && !m->failed; i++)
		if (!m->fields->structs.items[i].layout)
			merge_fields(m, &m->fields->structs.items[i]);
}

/* === Internals: accesses ================================================================== */

static void add_user(struct maker *m, struct ks_kmap_field *field, u32 function, u64 reads,
		     u64 writes)
{
	struct ks_kmap_user *user;
	size_t i;

	for (i = 0; i < field->users.len; i++)
		if (field->users.items[i].function == function)
			break;
	user = i < field->users.len ? &field->users.items[i] : ks_vec_push(&field->users);
	if (!user) {
		m->failed = true;
		return;
	}
	user->function = function;
	user->reads = ks_add_sat(user->reads, reads);
	user->writes = ks_add_sat(user->writes, writes);
}

static void set_cpu(u64 *cpus, u16 cpu)
{
	cpus[cpu / 64 % KS_KMAP_CPU_WORDS] |= 1ull << cpu % 64;
}

/* The part of a struct that accesses reach; of an array, in its element. */
static void reach_of(const struct maker *m, const struct ks_kmap_spot *spot,
		     const struct ks_kmap_struct *type, u64 *ret_start, u64 *ret_end)
{
	bool array = m->types.sites[spot->site].array;

	*ret_start = array ? spot->offset % type->size : spot->offset;
	*ret_end = *ret_start + ks_max(spot->length, 1u);
	/* An operation on more than an element reaches all of each. */
	if (array && *ret_end > type->size) {
		*ret_start = 0;
		*ret_end = type->size;
	}
}

/* Calls @each for the fields that a spot reaches, with how many bytes of them. Returns whether there are any. */
typedef void each_fn(struct maker *m, size_t field, struct ks_kmap_field *at, u64 bytes, bool range,
		     const void *ctx);

static bool for_fields(struct maker *m, const struct ks_kmap_spot *spot,
		       struct ks_kmap_struct *type, each_fn *each, const void *ctx)
{
	u64 start, end;
	size_t lo = 0, hi = type->fields.len, i;
	bool any = false;

	reach_of(m, spot, type, &start, &end);
	/* No field is longer than the struct, but unions may be long: those before may reach into it, too. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (type->fields.items[mid].offset < end)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (i = 0; i < lo; i++) {
		struct ks_kmap_field *field = &type->fields.items[i];
		u64 from = ks_max((u64)field->offset, start);
		u64 to = ks_min((u64)field->offset + field->size, end);

		if (from >= to)
			continue;
		any = true;
		each(m, i, field, to - from,
		     !spot->length || start < field->offset ||
			     end > (u64)field->offset + field->size,
		     ctx);
	}
	return any;
}

static void count_spot(struct maker *m, size_t number, struct ks_kmap_field *field, u64 bytes,
		       bool range, const void *ctx)
{
	const struct ks_kmap_spot *spot = ctx;

	field->reads = ks_add_sat(field->reads, spot->reads);
	field->writes = ks_add_sat(field->writes, spot->writes);
	field->bytes_read = ks_add_sat(field->bytes_read, spot->reads * bytes);
	field->bytes_written = ks_add_sat(field->bytes_written, spot->writes * bytes);
	if (range)
		field->ranges += spot->reads + spot->writes;
	else
		m->own[number] += spot->writes_most;
}

static void count_use(struct maker *m, size_t number, struct ks_kmap_field *field, u64 bytes,
		      bool range, const void *ctx)
{
	const struct ks_kmap_use *use = ctx;

	if (use->reads)
		set_cpu(field->reader_cpus, use->cpu);
	if (use->writes)
		set_cpu(field->writer_cpus, use->cpu);
	field->in_interrupt |= use->context != KS_KMAP_IN_ANY;
	add_user(m, field, m->places->codes[use->code][KS_KMAP_FUNCTION], use->reads, use->writes);
}

static int by_site(const void *pa, const void *pb, void *ctx)
{
	const struct ks_kmap_spots *spots = ctx;
	u32 a = *(const u32 *)pa, b = *(const u32 *)pb;
	u32 x = spots->spots.items[a].site, y = spots->spots.items[b].site;

	if (x != y)
		return x < y ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void count_struct(struct maker *m, const struct ks_kmap_spot *spot,
			 struct ks_kmap_struct *type)
{
	u64 both = ks_add_sat(spot->reads, spot->writes);

	type->reads = ks_add_sat(type->reads, spot->reads);
	type->writes = ks_add_sat(type->writes, spot->writes);
	if (spot->varies)
		type->varying = ks_add_sat(type->varying, both);
	else if (!for_fields(m, spot, type, count_spot, spot))
		type->beyond = ks_add_sat(type->beyond, both);
}

/* Which writes were to one object is known by site: of several sites the most counts. */
static void close_site(struct maker *m, struct ks_kmap_struct *type)
{
	size_t i;

	for (i = 0; i < type->fields.len; i++) {
		struct ks_kmap_field *field = &type->fields.items[i];

		field->writes_most = ks_max(field->writes_most, m->own[i]);
		m->own[i] = 0;
	}
}

static void count_all(struct maker *m)
{
	const struct ks_kmap_spots *spots = &m->census->spots;
	struct ks_kmap_struct *type = NULL;
	size_t i;

	for (i = 0; i < spots->spots.len; i++)
		m->order[i] = (u32)i;
	if (spots->spots.len)
		qsort_r(m->order, spots->spots.len, sizeof(*m->order), by_site, (void *)spots);
	for (i = 0; i < spots->spots.len; i++) {
		const struct ks_kmap_spot *spot = &spots->spots.items[m->order[i]];

		if (!i || spots->spots.items[m->order[i - 1]].site != spot->site) {
			if (type)
				close_site(m, type);
			type = &m->fields->structs.items[m->struct_of[spot->site]];
		}
		count_struct(m, spot, type);
	}
	if (type)
		close_site(m, type);
	for (i = 0; i < spots->uses.len && !m->failed; i++) {
		const struct ks_kmap_use *use = &spots->uses.items[i];
		const struct ks_kmap_spot *spot = &spots->spots.items[use->spot];

		type = &m->fields->structs.items[m->struct_of[spot->site]];
		if (!spot->varies)
			for_fields(m, spot, type, count_use, use);
	}
}

/* === Internals: order ===================================================================== */

static int by_accesses(const void *pa, const void *pb)
{
	const struct ks_kmap_struct *a = pa, *b = pb;
	u64 x = ks_add_sat(a->reads, a->writes), y = ks_add_sat(b->reads, b->writes);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int by_use(const void *pa, const void *pb, void *ctx)
{
	const struct ks_kmap_user *a = pa, *b = pb;
	const struct ks_kmap_places *places = ctx;
	u64 x = ks_add_sat(a->reads, a->writes), y = ks_add_sat(b->reads, b->writes);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(ks_kmap_label(places, a->function), ks_kmap_label(places, b->function));
}

static void sort_all(struct maker *m)
{
	struct ks_kmap_fields *fields = m->fields;
	size_t i, j;

	for (i = 0; i < fields->structs.len; i++) {
		struct ks_kmap_struct *type = &fields->structs.items[i];

		for (j = 0; j < type->fields.len; j++)
			if (type->fields.items[j].users.len)
				qsort_r(type->fields.items[j].users.items,
					type->fields.items[j].users.len,
					sizeof(*type->fields.items[j].users.items), by_use,
					(void *)m->places);
		if (type->typed == KS_KMAP_UNTYPED)
			fields->untyped += type->reads + type->writes;
	}
	if (fields->structs.len)
		qsort(fields->structs.items, fields->structs.len, sizeof(*fields->structs.items),
		      by_accesses);
}

static void make(struct maker *m)
{
	const struct ks_kmap_spots *spots = &m->census->spots;
	size_t i, most = 0;

	m->struct_of = calloc(m->census->sites.len + 1, sizeof(*m->struct_of));
	m->order = calloc(spots->spots.len + 1, sizeof(*m->order));
	m->failed = !m->struct_of || !m->order || ks_intern_init(&m->names);
	for (i = 0; i < spots->extents.len && !m->failed; i++)
		if (spots->extents.items[i].objects)
			add_site(m, i);
	if (!m->failed)
		make_fields(m);
	for (i = 0; i < m->fields->structs.len; i++)
		most = ks_max(most, m->fields->structs.items[i].fields.len);
	m->own = calloc(most + 1, sizeof(*m->own));
	m->failed |= !m->own;
	if (!m->failed)
		count_all(m);
	if (!m->failed)
		sort_all(m);
	m->fields->unplaced = spots->unplaced;
}

/* === Public =============================================================================== */

const char *ks_kmap_typed_name(enum ks_kmap_typed typed)
{
	static const char *const names[KS_KMAP_TYPEDS] = { "unknown", "site", "cache" };

	return names[typed];
}

int ks_kmap_fields_new(const struct ks_kmap_census *census, const struct ks_kmap_places *places,
		       struct ks_debug_set *debug, struct ks_kmap_fields **ret_fields,
		       struct ks_diag *diag)
{
	struct maker m = { .census = census, .places = places };
	int err;

	m.fields = calloc(1, sizeof(*m.fields));
	if (!m.fields)
		return ks_diag_nomem(diag, "adding up fields");
	ks_arena_init(&m.fields->strings);
	err = ks_kmap_site_types_init(&m.types, census, places, debug, diag);
	if (err) {
		ks_kmap_fields_free(m.fields);
		return err;
	}
	make(&m);
	free(m.struct_of);
	free(m.order);
	free(m.own);
	ks_intern_deinit(&m.names);
	ks_kmap_site_types_deinit(&m.types);
	if (m.failed) {
		ks_kmap_fields_free(m.fields);
		return ks_diag_nomem(diag, "adding up fields");
	}
	*ret_fields = m.fields;
	return 0;
}

void ks_kmap_fields_free(struct ks_kmap_fields *fields)
{
	size_t i, j;

	if (!fields)
		return;
	for (i = 0; i < fields->structs.len; i++) {
		struct ks_kmap_struct *type = &fields->structs.items[i];

		for (j = 0; j < type->fields.len; j++)
			ks_vec_free(&type->fields.items[j].users);
		ks_vec_free(&type->fields);
		ks_debug_struct_free(type->layout);
	}
	ks_vec_free(&fields->structs);
	ks_arena_deinit(&fields->strings);
	free(fields);
}
