// SPDX-License-Identifier: LGPL-2.1-only
/* Members of the kernel's structs and values of its enums, looked up by name in its type information (BTF). */
#include "heap/btf-members.h"

#include <string.h>

#include <bpf/btf.h>

/* === Data ================================================================================= */

/* Enough for any kernel, and an end for a loop. */
enum {
	NESTING = 8,	    /* nameless structs in nameless structs */
	MODIFIERS_MAX = 32, /* of one type */
};

/* === Internals ============================================================================ */

static bool find_member(const struct btf *btf, u32 id, const char *name, u32 base, int depth,
			struct ks_btf_found *ret)
{
	const struct btf_type *type = ks_btf_resolve(btf, &id);
	const struct btf_member *member;
	const char *own;
	u32 i, bit;

	if (!type || !btf_is_composite(type) || depth > NESTING)
		return false;
	for (i = 0; i < btf_vlen(type); i++) {
		member = btf_members(type) + i;
		own = btf__name_by_offset(btf, member->name_off);
		bit = base + btf_member_bit_offset(type, i);
		if (own && !strcmp(own, name)) {
			*ret = (struct ks_btf_found){ member->type, bit,
						      btf_member_bitfield_size(type, i) };
			return true;
		}
		if (own && !*own && find_member(btf, member->type, name, bit, depth + 1, ret))
			return true;
	}
	return false;
}

/* The next of "one|two|three" into @word; false behind the last. */
static bool next_word(const char **list, char *word, size_t size)
{
	size_t len = strcspn(*list, "|");

	if (!len || len >= size)
		return false;
	memcpy(word, *list, len);
	word[len] = '\0';
	*list += len + ((*list)[len] == '|');
	return true;
}

/* === Public =============================================================================== */

const struct btf_type *ks_btf_resolve(const struct btf *btf, u32 *id)
{
	const struct btf_type *type = btf__type_by_id(btf, *id);
	int i;

	for (i = 0; type && i < MODIFIERS_MAX; i++) {
		if (!btf_is_mod(type) && !btf_is_typedef(type) && !btf_is_type_tag(type))
			return type;
		*id = type->type;
		type = btf__type_by_id(btf, *id);
	}
	return NULL;
}

bool ks_btf_find_member(const struct btf *btf, u32 id, const char *name, struct ks_btf_found *ret)
{
	return find_member(btf, id, name, 0, 0, ret);
}

bool ks_btf_member(const struct btf *btf, const char *type, const char *name, u32 *ret_offset)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	struct ks_btf_found found;

	if (id <= 0 || !ks_btf_find_member(btf, (u32)id, name, &found))
		return false;
	*ret_offset = found.bit / 8;
	return true;
}

void ks_btf_find_types(struct ks_btf_types *types)
{
	u32 count = btf__type_cnt(types->btf), id;
	const struct btf_type *type;
	const char *name;
	size_t i;

	memset(types->ids, 0, types->len * sizeof(*types->ids));
	for (id = 1; id < count; id++) {
		type = btf__type_by_id(types->btf, id);
		if (!btf_is_struct(type) && !btf_is_enum(type))
			continue;
		name = btf__name_by_offset(types->btf, type->name_off);
		for (i = 0; name && *name && i < types->len; i++)
			if (!types->ids[i] && !strcmp(name, types->names[i]))
				types->ids[i] = id;
	}
}

u32 ks_btf_id(const struct ks_btf_types *types, const char *name)
{
	size_t i;

	for (i = 0; i < types->len; i++)
		if (!strcmp(name, types->names[i]))
			return types->ids[i];
	return 0;
}

u32 ks_btf_size(const struct ks_btf_types *types, const char *name)
{
	u32 id = ks_btf_id(types, name);
	const struct btf_type *type = id ? btf__type_by_id(types->btf, id) : NULL;

	return type ? type->size : KS_NONE;
}

bool ks_btf_find_field(const struct ks_btf_types *types, const char *of, const char *members,
		       struct ks_btf_found *ret)
{
	char type[64], member[64];

	while (next_word(&of, type, sizeof(type))) {
		const char *list = members;
		u32 id = ks_btf_id(types, type);

		while (id && next_word(&list, member, sizeof(member)))
			if (ks_btf_find_member(types->btf, id, member, ret))
				return true;
	}
	return false;
}

bool ks_btf_enumerator(const struct ks_btf_types *types, const char *of, const char *name,
		       u32 *ret_value)
{
	u32 id = ks_btf_id(types, of);
	const struct btf_type *type = id ? btf__type_by_id(types->btf, id) : NULL;
	const char *own;
	int i;

	*ret_value = KS_NONE;
	for (i = 0; type && btf_is_enum(type) && i < btf_vlen(type); i++) {
		own = btf__name_by_offset(types->btf, btf_enum(type)[i].name_off);
		if (own && !strcmp(own, name)) {
			*ret_value = (u32)btf_enum(type)[i].val;
			return true;
		}
	}
	return false;
}
