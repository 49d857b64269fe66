// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Where the members of a struct are, by the kernel's own type information (BTF), which stock kernels carry with them. The
 * fields have the names that DWARF would give them.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "sym/debug-file.h"
#include "sym/layout-maker.h"
#include "sym/quiet-btf.h"

/* === Data ================================================================================= */

/* Damaged files may have a struct inside of itself, even many times: what is looked at is limited by depth and by number. */
#define DEPTH_MAX  16
#define FIELDS_MAX 20000

/* === Internals: types ===================================================================== */

/* Without what does not change where things are. NULL = there is no such type. */
static const struct btf_type *peel(const struct btf *btf, u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	int depth = 0;

	while (t && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t)) &&
	       depth++ < 4 * DEPTH_MAX)
		t = btf__type_by_id(btf, t->type);
	return t;
}

static u64 size_of(const struct btf *btf, u32 id)
{
	s64 size = btf__resolve_size(btf, id);

	return size > 0 ? (u64)size : 0;
}

static const char *name_at(const struct btf *btf, u32 offset)
{
	const char *name = btf__name_by_offset(btf, offset);

	return name ? name : "";
}

/* libbpf has a function for this, which a struct inside of itself sends round for ever. */
static u32 align_of(const struct btf *btf, u32 id, int depth, unsigned int *left)
{
	const struct btf_type *t = peel(btf, id);
	u32 align = 1;
	unsigned int i;
	u64 size;

	if (!t || depth > DEPTH_MAX || !*left)
		return 1;
	--*left;
	if (btf_is_array(t))
		return align_of(btf, btf_array(t)->type, depth + 1, left);
	if (btf_is_composite(t)) {
		/* A word is the most that members need, but for very few. */
		for (i = 0; i < btf_vlen(t) && align < WORD && *left; i++)
			align = ks_max(align,
				       align_of(btf, btf_members(t)[i].type, depth + 1, left));
		return align;
	}
	size = size_of(btf, id);
	return size == 2 || size == 4 || size == 8 || size == 16 ? (u32)size : 1;
}

/* As C says it. */
static void say_type(struct ks_strbuf *out, const struct btf *btf, u32 id, int depth)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const char *name = t ? name_at(btf, t->name_off) : "", *what = "";

	if (!id || !t || depth > DEPTH_MAX) {
		ks_strbuf_puts(out, "void");
		return;
	}
	switch (btf_kind(t)) {
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		say_type(out, btf, t->type, depth + 1);
		return;
	case BTF_KIND_PTR:
		say_type(out, btf, t->type, depth + 1);
		ks_strbuf_puts(out, out->len && out->s[out->len - 1] == '*' ? "*" : " *");
		return;
	case BTF_KIND_ARRAY:
		say_type(out, btf, btf_array(t)->type, depth + 1);
		ks_strbuf_puts(out, "[]");
		return;
	case BTF_KIND_FUNC_PROTO:
		ks_strbuf_puts(out, "function");
		return;
	case BTF_KIND_STRUCT:
		what = "struct";
		break;
	case BTF_KIND_FWD:
		what = btf_kflag(t) ? "union" : "struct";
		break;
	case BTF_KIND_UNION:
		what = "union";
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		what = "enum";
		break;
	default:
		break;
	}
	ks_strbuf_printf(out, "%s%s%s", what, *what && *name ? " " : "",
			 *name || *what ? name : "?");
}

/* The first names in a union without a name of its own: "{a|b}". */
static void name_union(struct ks_strbuf *out, const struct btf *btf, const struct btf_type *t)
{
	unsigned int i, nr = 0;

	ks_strbuf_puts(out, "{");
	for (i = 0; i < btf_vlen(t); i++) {
		const char *name = name_at(btf, btf_members(t)[i].name_off);

		if (!*name)
			continue;
		if (nr++ == 3) {
			ks_strbuf_puts(out, "|...");
			break;
		}
		ks_strbuf_printf(out, "%s%s", nr > 1 ? "|" : "", name);
	}
	ks_strbuf_puts(out, "}");
}

/* === Internals: fields ==================================================================== */

static void add_members(struct ks_layout_maker *m, const struct btf *btf, const struct btf_type *t,
			const char *prefix, u64 base, int depth);

/* @base is in bytes. */
static void add_one(struct ks_layout_maker *m, const struct btf *btf, const struct btf_type *in,
		    unsigned int number, const char *prefix, u64 base, int depth)
{
	const struct btf_member *member = &btf_members(in)[number];
	const char *own = name_at(btf, member->name_off);
	const struct btf_type *t = peel(btf, member->type);
	u32 first = btf_member_bit_offset(in, number), bits = btf_member_bitfield_size(in, number);
	u64 size = size_of(btf, member->type);
	struct ks_strbuf name, text;

	if (!t)
		return;
	ks_strbuf_init(&name);
	ks_strbuf_init(&text);
	ks_strbuf_puts(&name, prefix);
	if (*own || btf_is_union(t))
		ks_strbuf_puts(&name, *prefix ? "." : "");
	if (*own)
		ks_strbuf_puts(&name, own);
	else if (btf_is_union(t))
		name_union(&name, btf, t);
	say_type(&text, btf, member->type, 0);
	if (name.failed || text.failed)
		m->failed = true;
	else if (bits)
		ks_layout_add_bits(m, name.len ? name.s : "?", base * 8 + first, bits);
	else if (btf_is_struct(t) && size > (*own ? WORD : 0) && depth < DEPTH_MAX &&
		 m->layout->fields.len < FIELDS_MAX)
		add_members(m, btf, t, name.len ? name.s : "", base + first / 8, depth + 1);
	else if (size)
		ks_layout_add(m, name.len ? name.s : "?", ks_strbuf_str(&text), base + first / 8,
			      size);
	ks_strbuf_deinit(&name);
	ks_strbuf_deinit(&text);
}

static void add_members(struct ks_layout_maker *m, const struct btf *btf, const struct btf_type *t,
			const char *prefix, u64 base, int depth)
{
	unsigned int i;

	for (i = 0; i < btf_vlen(t) && !m->failed; i++)
		add_one(m, btf, t, i, prefix, base, depth);
}

/* A member of the struct itself, with its fields. A bit field may go on with the member before. */
static void add_member(struct ks_layout_maker *m, const struct btf *btf, const struct btf_type *t,
		       unsigned int number)
{
	const struct btf_member *from = &btf_members(t)[number];
	struct ks_debug_struct *layout = m->layout;
	size_t before = layout->fields.len, i;
	unsigned int left = FIELDS_MAX;
	struct ks_debug_member *member;

	add_one(m, btf, t, number, "", 0, 0);
	if (m->failed || (layout->fields.len == before && !m->last_is_bits))
		return;
	if (layout->fields.len == before) {
		member = &layout->members.items[layout->members.len - 1];
		member->size = layout->fields.items[before - 1].offset +
			       layout->fields.items[before - 1].size - member->offset;
		member->name = layout->fields.items[before - 1].name;
		return;
	}
	for (i = before; i < layout->fields.len; i++)
		layout->fields.items[i].member = (u32)layout->members.len;
	member = ks_vec_push(&layout->members);
	if (!member) {
		m->failed = true;
		return;
	}
	*member = (struct ks_debug_member){ .offset = btf_member_bit_offset(t, number) / 8,
					    .size = (u32)size_of(btf, from->type),
					    .align = align_of(btf, from->type, 0, &left) };
	if (m->last_is_bits)
		member->size = layout->fields.items[before].size;
	member->name = *name_at(btf, from->name_off) && !m->last_is_bits
			       ? ks_layout_string(m, name_at(btf, from->name_off))
			       : layout->fields.items[layout->fields.len - 1].name;
}

/* === Public =============================================================================== */

int ks_btf_open(const char *path, struct btf **ret_btf, struct ks_diag *diag)
{
	struct btf *btf = ks_btf_parse(path);
	int err = errno;

	if (btf) {
		*ret_btf = btf;
		return 0;
	}
	if (err == ENOMEM)
		return ks_diag_nomem(diag, "reading type information");
	return ks_diag_set(diag, KS_EBADINPUT, "%s: type information (BTF) that makes no sense",
			   path);
}

void ks_btf_close(struct btf *btf)
{
	btf__free(btf);
}

int ks_btf_layout(const struct btf *btf, const char *name, struct ks_debug_struct **ret_layout)
{
	s32 id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
	struct ks_layout_maker m;
	unsigned int i;

	*ret_layout = NULL;
	if (!t)
		return 0;
	if (ks_layout_begin(&m, name, t->size))
		return -ENOMEM;
	for (i = 0; i < btf_vlen(t) && !m.failed; i++)
		add_member(&m, btf, t, i);
	return ks_layout_end(&m, ret_layout);
}
