// SPDX-License-Identifier: LGPL-2.1-only
/* From an offset in a struct to the name of what is there. */
#include <errno.h>

#include <bpf/btf.h>

#include "heap/btf-members.h"
#include "heap/btf-types.h"

/* === Data ================================================================================= */

enum { DEPTH_MAX = 16 };

struct search {
	const struct btf *btf;
	struct ks_strbuf *path;
	bool pointers; /* nothing else will do */
};

/* === Internals ============================================================================ */

static bool descend(const struct search *s, u32 id, u32 offset, int depth);

/* Whether a member reaches to @offset; an array without a length at the end of a struct always does. */
static bool covers(const struct btf *btf, const struct btf_type *type, u32 member, u32 offset)
{
	u32 at = btf_member_bit_offset(type, member) / 8, id = btf_members(type)[member].type;
	const struct btf_type *of;
	s64 size;

	if (offset < at || btf_member_bitfield_size(type, member))
		return false;
	size = btf__resolve_size(btf, id);
	of = ks_btf_resolve(btf, &id);
	if (of && btf_is_array(of) && !btf_array(of)->nelems)
		return true;
	return size > 0 && offset - at < (u64)size;
}

static bool in_members(const struct search *s, const struct btf_type *type, u32 offset, int depth)
{
	u32 i, before = (u32)s->path->len;
	const char *name;

	for (i = 0; i < btf_vlen(type); i++) {
		if (!covers(s->btf, type, i, offset))
			continue;
		name = btf__name_by_offset(s->btf, btf_members(type)[i].name_off);
		if (*name)
			ks_strbuf_printf(s->path, before ? ".%s" : "%s", name);
		if (descend(s, btf_members(type)[i].type,
			    offset - btf_member_bit_offset(type, i) / 8, depth + 1))
			return true;
		s->path->len = before;
	}
	return false;
}

static bool descend(const struct search *s, u32 id, u32 offset, int depth)
{
	const struct btf_type *type = ks_btf_resolve(s->btf, &id);
	s64 size;

	if (!type || depth > DEPTH_MAX)
		return false;
	if (btf_is_array(type)) {
		size = btf__resolve_size(s->btf, btf_array(type)->type);
		ks_strbuf_printf(s->path, "[]");
		return size > 0 &&
		       descend(s, btf_array(type)->type, (u32)(offset % size), depth + 1);
	}
	if (btf_is_composite(type))
		return in_members(s, type, offset, depth);
	return btf_is_ptr(type) ? offset < 8 : !s->pointers;
}

/* === Public =============================================================================== */

enum ks_path ks_types_path(const struct ks_types *types, u32 type, u32 offset,
			   struct ks_strbuf *path)
{
	struct search s = { .btf = types->btf, .path = path, .pointers = true };
	u32 id = types->items.items[type].btf;

	path->len = 0;
	if (!id)
		return KS_PATH_NONE;
	if (descend(&s, id, offset, 0))
		return KS_PATH_POINTER;
	path->len = 0;
	s.pointers = false;
	return descend(&s, id, offset, 0) ? KS_PATH_OTHER : KS_PATH_NONE;
}
