// SPDX-License-Identifier: LGPL-2.1-only
/* Looks structs up by name, and their pointers through all that is nested in them. */
#include "heap/btf-types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "heap/btf-members.h"

/* === Data ================================================================================= */

enum {
	DEPTH_MAX = 12,
	ELEMENTS_MAX = 64, /* of an array that are looked at */
	FIELDS_MAX = 2048, /* pointers of one struct */
	STEPS_MAX =
		1
		<< 18, /* members of one struct, and of those in it: types that make no sense have more */
};

struct expansion {
	struct ks_types *types;
	u32 left;  /* fields that may still be added */
	u32 steps; /* that may still be gone */
	int err;
};

/* === Internals ============================================================================ */

static u32 add(struct ks_types *types, enum ks_type_form form, u32 key, const char *name,
	       size_t len)
{
	u32 number = ks_map64_find(&types->by_key, (u64)form << 32 | key);
	struct ks_type *type;

	if (number != KS_NONE)
		return number + 1;
	type = ks_vec_push(&types->items);
	if (!type)
		return 0;
	type->form = form;
	type->name = ks_intern_add(&types->names, name, len);
	if (type->name == KS_NONE ||
	    ks_map64_add(&types->by_key, (u64)form << 32 | key) == KS_NONE) {
		types->items.len--;
		return 0;
	}
	return (u32)types->items.len - 1;
}

/* Whether the last member is an array without a length, or a struct of which that holds. */
static bool is_open(const struct btf *btf, u32 id, int depth)
{
	const struct btf_type *type = ks_btf_resolve(btf, &id);

	if (!type || depth > DEPTH_MAX)
		return false;
	if (btf_is_array(type))
		return !btf_array(type)->nelems;
	if (!btf_is_composite(type) || !btf_vlen(type))
		return false;
	return is_open(btf, btf_members(type)[btf_vlen(type) - 1].type, depth + 1);
}

static u32 struct_type(struct ks_types *types, u32 id)
{
	const struct btf_type *btf = btf__type_by_id(types->btf, id);
	const char *name = btf__name_by_offset(types->btf, btf->name_off);
	u32 number;

	if (!name || !*name)
		return 0;
	number = add(types, KS_FORM_STRUCT, id, name, strlen(name));
	if (number && !types->items.items[number].btf) {
		types->items.items[number].btf = id;
		types->items.items[number].size = btf->size;
		types->items.items[number].open = is_open(types->btf, id, 0);
	}
	return number;
}

/* What a pointer to @id leads to: a struct, an array of pointers, an array of numbers; 0 = can't be said. */
static u32 pointee(struct ks_types *types, u32 id)
{
	const struct btf_type *type = ks_btf_resolve(types->btf, &id), *inner;
	char text[160];
	u32 to;

	if (!type)
		return 0;
	if (btf_is_struct(type))
		return struct_type(types, id);
	if (btf_is_int(type)) {
		snprintf(text, sizeof(text), "%s[]",
			 btf__name_by_offset(types->btf, type->name_off));
		return add(types, KS_FORM_SCALARS, id, text, strlen(text));
	}
	if (!btf_is_ptr(type))
		return 0;
	to = type->type;
	inner = ks_btf_resolve(types->btf, &to);
	if (!inner || !btf_is_struct(inner) || !inner->name_off)
		return 0;
	snprintf(text, sizeof(text), "%s *[]", btf__name_by_offset(types->btf, inner->name_off));
	return add(types, KS_FORM_POINTERS, to, text, strlen(text));
}

/* A struct that members are in. */
struct home {
	u32 id, offset;
	bool in_union;
};

static void add_field(struct expansion *e, u32 offset, u32 to, const struct home *home)
{
	u32 number = pointee(e->types, to);
	struct ks_type_field *field;

	if (!number || !e->left)
		return;
	e->left--;
	field = ks_vec_push(&e->types->fields);
	if (field)
		*field = (struct ks_type_field){
			.offset = offset,
			.type = number,
			.home = home->offset,
			.to_home = e->types->items.items[number].btf == home->id,
			.in_union = home->in_union,
		};
	else
		e->err = -ENOMEM;
}

static void expand(struct expansion *e, u32 id, u32 offset, const struct home *home, int depth)
{
	const struct btf_type *type = ks_btf_resolve(e->types->btf, &id), *element;
	struct home inner;
	u32 i, count, of;

	if (!type || depth > DEPTH_MAX || !e->left || !e->steps)
		return;
	e->steps--;
	if (btf_is_ptr(type)) {
		add_field(e, offset, type->type, home);
	} else if (btf_is_array(type)) {
		of = btf_array(type)->type;
		element = ks_btf_resolve(e->types->btf, &of);
		count = ks_min(btf_array(type)->nelems, (u32)ELEMENTS_MAX);
		if (!element || (!btf_is_ptr(element) && !btf_is_composite(element)))
			return;
		for (i = 0; i < count; i++)
			expand(e, of, offset + i * (btf_is_ptr(element) ? 8 : element->size), home,
			       depth + 1);
	} else if (btf_is_composite(type)) {
		inner = (struct home){ id, offset, home->in_union || btf_is_union(type) };
		for (i = 0; i < btf_vlen(type); i++)
			if (!btf_member_bitfield_size(type, i))
				expand(e, btf_members(type)[i].type,
				       offset + btf_member_bit_offset(type, i) / 8, &inner,
				       depth + 1);
	}
}

/* A member of a struct, also of a nameless one in it. */
static bool find_member(const struct btf *btf, u32 id, const char *name, u32 base, int depth,
			u32 *ret_offset, u32 *ret_type)
{
	const struct btf_type *type = ks_btf_resolve(btf, &id);
	const char *own;
	u32 i, at;

	if (!type || !btf_is_composite(type) || depth > DEPTH_MAX)
		return false;
	for (i = 0; i < btf_vlen(type); i++) {
		own = btf__name_by_offset(btf, btf_members(type)[i].name_off);
		at = base + btf_member_bit_offset(type, i) / 8;
		*ret_offset = at;
		*ret_type = btf_members(type)[i].type;
		if (!strcmp(own, name) || (!*own && find_member(btf, *ret_type, name, at, depth + 1,
								ret_offset, ret_type)))
			return true;
	}
	return false;
}

/* Pointers whose type says less than the kernel's code does: a long name of a dentry is inside of another struct. */
static void add_names(struct expansion *e, u32 dentry)
{
	u32 outer = ks_types_struct(e->types, "external_name", 13), at, name, inside, type;
	struct ks_type_field *field;

	if (!outer || !find_member(e->types->btf, dentry, "d_name", 0, 0, &at, &type) ||
	    !find_member(e->types->btf, type, "name", at, 0, &name, &type) ||
	    !find_member(e->types->btf, e->types->items.items[outer].btf, "name", 0, 0, &inside,
			 &type))
		return;
	field = ks_vec_push(&e->types->fields);
	if (field)
		*field = (struct ks_type_field){ .offset = name, .type = outer, .inside = inside };
	else
		e->err = -ENOMEM;
}

static int index_structs(struct ks_types *types)
{
	u32 count = btf__type_cnt(types->btf), id, before;
	const struct btf_type *type;
	const char *name;
	u32 *slot;

	for (id = 1; id < count; id++) {
		type = btf__type_by_id(types->btf, id);
		if (!btf_is_struct(type) || !type->name_off)
			continue;
		name = btf__name_by_offset(types->btf, type->name_off);
		before = (u32)types->structs.strs.len;
		if (ks_intern_add(&types->structs, name, strlen(name)) == KS_NONE)
			return -ENOMEM;
		if (types->structs.strs.len == before)
			continue; /* another of the name: the first is taken */
		slot = ks_vec_push(&types->struct_ids);
		if (!slot)
			return -ENOMEM;
		*slot = id;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_types_new(const struct btf *btf, struct ks_types **ret_types)
{
	struct ks_types *types = calloc(1, sizeof(*types));

	if (!types)
		return -ENOMEM;
	types->btf = btf;
	if (ks_intern_init(&types->names) || ks_intern_init(&types->structs) ||
	    ks_map64_init(&types->by_key) || !ks_vec_push(&types->items) ||
	    ks_intern_add(&types->names, "?", 1) == KS_NONE || index_structs(types)) {
		ks_types_free(types);
		return -ENOMEM;
	}
	*ret_types = types;
	return 0;
}

void ks_types_free(struct ks_types *types)
{
	if (!types)
		return;
	ks_intern_deinit(&types->names);
	ks_intern_deinit(&types->structs);
	ks_map64_deinit(&types->by_key);
	ks_vec_free(&types->items);
	ks_vec_free(&types->fields);
	ks_vec_free(&types->struct_ids);
	free(types);
}

u32 ks_types_struct(struct ks_types *types, const char *name, size_t len)
{
	u32 number = ks_intern_find(&types->structs, name, len);

	return number == KS_NONE ? 0 : struct_type(types, types->struct_ids.items[number]);
}

bool ks_type_begins_with(const struct ks_types *types, u32 type, u32 other)
{
	u32 id = types->items.items[type].btf, want = types->items.items[other].btf;
	const struct btf_type *btf;
	int depth;

	for (depth = 0; id && want && depth < DEPTH_MAX; depth++) {
		btf = ks_btf_resolve(types->btf, &id);
		if (id == want)
			return true;
		if (!btf || !btf_is_struct(btf) || !btf_vlen(btf) || btf_member_bit_offset(btf, 0))
			return false;
		id = btf_members(btf)[0].type;
	}
	return false;
}

u32 ks_types_member(const struct ks_types *types, u32 type, const char *path)
{
	u32 id = types->items.items[type].btf, offset = 0;
	char name[64];
	size_t len;

	for (; id && *path; path += len + (path[len] == '.')) {
		len = strcspn(path, ".");
		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		if (!find_member(types->btf, id, name, offset, 0, &offset, &id))
			return KS_NONE;
	}
	return id ? offset : KS_NONE;
}

u32 ks_types_name(struct ks_types *types, const char *name, size_t len)
{
	u32 key = ks_intern_add(&types->names, name, len);

	return key == KS_NONE ? 0 : add(types, KS_FORM_NAME, key, name, len);
}

int ks_types_expand(struct ks_types *types, u32 number)
{
	struct expansion e = { .types = types, .left = FIELDS_MAX, .steps = STEPS_MAX };
	const struct home none = { 0 };
	u32 first = (u32)types->fields.len;

	if (types->items.items[number].expanded)
		return 0;
	if (types->items.items[number].form == KS_FORM_STRUCT)
		expand(&e, types->items.items[number].btf, 0, &none, 0);
	if (!strcmp(ks_type_text(types, number), "dentry"))
		add_names(&e, types->items.items[number].btf);
	/* The list of types may have moved. */
	types->items.items[number].first_field = first;
	types->items.items[number].fields = (u32)types->fields.len - first;
	types->items.items[number].expanded = true;
	return e.err;
}
