// SPDX-License-Identifier: LGPL-2.1-only
/* Names the fields that references are in. By the same fields it is known what large kmalloc() is used for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/field-index.h"
#include "heap/take.h"

/* === Data ================================================================================= */

/* Which words of which types have references: a byte each. */
struct marks {
	u32 *first; /* by type, and one more for the end */
	u8 *used;
	u64 *large; /* a bit for each object */
};

/* === Internals: fields ==================================================================== */

static bool has_fields(const struct ks_taking *t, u32 type)
{
	return t->typing->types->items.items[t->type_of[type]].form == KS_FORM_STRUCT;
}

/* How many words the largest object of each type has. */
static int make_marks(const struct ks_taking *t, struct marks *m)
{
	const struct ks_snapshot *s = t->snapshot;
	u64 sum = 0;
	u32 i, words;

	m->first = calloc(s->types.len + 1, sizeof(*m->first));
	m->large = calloc(s->count / 64 + 1ul, sizeof(*m->large));
	if (!m->first || !m->large)
		return -ENOMEM;
	for (i = 0; i < s->count; i++) {
		const struct ks_heap_cache *cache = &s->caches.items[s->cache[i]];

		if (cache->large)
			m->large[i / 64] |= 1ull << i % 64;
		words = ks_min(cache->object_size / 8 + 1, (u32)UINT16_MAX + 1);
		if (has_fields(t, s->type[i]))
			m->first[s->type[i]] = ks_max(m->first[s->type[i]], words);
	}
	for (i = 0; i <= s->types.len; i++) {
		words = m->first[i];
		m->first[i] = (u32)sum;
		sum += words;
	}
	m->used = calloc((u32)sum + 1ul, 1);
	return m->used ? 0 : -ENOMEM;
}

static void mark(const struct ks_snapshot *s, struct marks *m)
{
	u32 i, ref, first;

	for (i = 0; i < s->count; i++) {
		first = m->first[s->type[i]];
		if (first == m->first[s->type[i] + 1])
			continue;
		for (ref = s->ref_first[i]; ref < s->ref_first[i + 1]; ref++)
			m->used[first + s->refs.items[ref].at] = 1;
	}
}

static int add_field(struct ks_taking *t, u32 type, u32 offset, struct ks_strbuf *path)
{
	struct ks_snapshot *s = t->snapshot;
	enum ks_path kind = ks_types_path(t->typing->types, t->type_of[type], offset, path);
	struct ks_heap_field *field;

	if (kind == KS_PATH_NONE)
		return 0;
	/* Links of trees are numbers by type, and pointers all the same. */
	if (kind == KS_PATH_OTHER && !ks_field_is_link(ks_strbuf_str(path)))
		ks_strbuf_puts(path, "?");
	field = ks_vec_push(&s->fields);
	if (!field || path->failed)
		return -ENOMEM;
	field->offset = offset;
	field->name = ks_arena_strndup(&s->arena, ks_strbuf_str(path), path->len);
	s->types.items[type].fields++;
	return field->name ? 0 : -ENOMEM;
}

static int name_fields(struct ks_taking *t, const struct marks *m)
{
	struct ks_snapshot *s = t->snapshot;
	struct ks_strbuf path = { 0 };
	u32 type, word;
	int err = 0;

	for (type = 0; !err && type < s->types.len; type++) {
		s->types.items[type].first_field = (u32)s->fields.len;
		for (word = m->first[type]; !err && word < m->first[type + 1]; word++)
			if (m->used[word])
				err = add_field(t, type, (word - m->first[type]) * 8, &path);
	}
	ks_strbuf_deinit(&path);
	return err;
}

/* === Internals: large kmalloc() =========================================================== */

/* The type of what a pointer at this place leads to, in typing's numbers; 0 = not known. */
static u32 pointee(const struct ks_types *types, u32 type, u32 offset)
{
	const struct ks_type *t = &types->items.items[type];
	u32 i;

	for (i = 0; i < t->fields; i++) {
		const struct ks_type_field *field = &types->fields.items[t->first_field + i];

		if (field->offset == offset && !field->inside && !field->in_union)
			return field->type;
	}
	return 0;
}

/* The number of a type in the snapshot, which gets it if it has not. 0: no memory. */
static u32 add_type(struct ks_taking *t, u32 from)
{
	const struct ks_type *type = &t->typing->types->items.items[from];
	struct ks_snapshot *s = t->snapshot;
	struct ks_heap_type *to;
	u32 i;

	for (i = 1; i < s->types.len; i++)
		if (t->type_of[i] == from)
			return i;
	to = ks_vec_push(&s->types);
	if (!to)
		return 0;
	to->name = ks_arena_strndup(&s->arena, ks_type_text(t->typing->types, from),
				    strlen(ks_type_text(t->typing->types, from)));
	to->size = type->form == KS_FORM_STRUCT ? type->size : 0;
	t->type_of[i] = from;
	return to->name ? i : 0;
}

static int type_large(struct ks_taking *t, u32 object, u32 from, u32 size)
{
	const struct ks_type *type = &t->typing->types->items.items[from];
	struct ks_snapshot *s = t->snapshot;
	u32 number;

	if (!from || type->size > size || (type->form == KS_FORM_STRUCT && !type->open))
		return 0;
	number = add_type(t, from);
	if (!number)
		return -ENOMEM;
	s->type[object] = number;
	s->known_by[object] = KS_KNOWN_FIELD;
	return 0;
}

/* What is at the other end of a typed object's field, and larger than any cache's objects. */
static int type_all_large(struct ks_taking *t, const struct marks *m)
{
	struct ks_snapshot *s = t->snapshot;
	u32 i, r, to;
	int err = 0;

	for (i = 0; !err && i < s->count; i++) {
		for (r = s->ref_first[i]; !err && r < s->ref_first[i + 1]; r++) {
			to = s->refs.items[r].to;
			if (likely(!(m->large[to / 64] >> to % 64 & 1)) || s->type[to] ||
			    s->refs.items[r].inside || !has_fields(t, s->type[i]))
				continue;
			err = type_large(t, to,
					 pointee(t->typing->types, t->type_of[s->type[i]],
						 s->refs.items[r].at * 8u),
					 s->caches.items[s->cache[to]].size);
		}
	}
	return err;
}

/* === Public =============================================================================== */

int ks_take_fields(struct ks_taking *t)
{
	struct marks m = { 0 };
	int err = make_marks(t, &m);

	if (!err) {
		mark(t->snapshot, &m);
		err = name_fields(t, &m);
	}
	if (!err)
		err = type_all_large(t, &m);
	free(m.first);
	free(m.used);
	free(m.large);
	return err;
}
