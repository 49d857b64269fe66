// SPDX-License-Identifier: LGPL-2.1-only
/* Where the members of a struct are, by DWARF. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "sym/debug-file.h"
#include "sym/layout-maker.h"

/* === Data ================================================================================= */

/* Damaged files may have a struct inside of itself. */
#define DEPTH_MAX 16

/* === Internals: what DWARF says =========================================================== */

static bool type_of(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attr;

	return dwarf_formref_die(dwarf_attr(die, DW_AT_type, &attr), ret_type) &&
	       !dwarf_peel_type(ret_type, ret_type);
}

static bool number(Dwarf_Die *die, unsigned int name, u64 *ret_value)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value))
		return false;
	*ret_value = value;
	return true;
}

static u64 size_of(Dwarf_Die *type)
{
	Dwarf_Word size;

	return dwarf_aggregate_size(type, &size) ? 0 : size;
}

static bool is_aggregate(Dwarf_Die *type)
{
	return dwarf_tag(type) == DW_TAG_structure_type || dwarf_tag(type) == DW_TAG_union_type;
}

static u32 align_of(Dwarf_Die *type, unsigned int depth)
{
	u64 stated = 0;
	Dwarf_Die inner, child;
	u32 align = 1;

	if (number(type, DW_AT_alignment, &stated) && stated && stated <= 4096)
		return (u32)stated;
	if (depth > DEPTH_MAX)
		return 1;
	if (dwarf_tag(type) == DW_TAG_array_type)
		return type_of(type, &inner) ? align_of(&inner, depth + 1) : 1;
	if (!is_aggregate(type)) {
		u64 size = size_of(type);

		return size == 2 || size == 4 || size == 8 || size == 16 ? (u32)size : 1;
	}
	if (dwarf_child(type, &child))
		return 1;
	do {
		u32 own;

		if (dwarf_tag(&child) != DW_TAG_member || !type_of(&child, &inner))
			continue;
		own = number(&child, DW_AT_alignment, &stated) && stated && stated <= 4096
			      ? (u32)stated
			      : align_of(&inner, depth + 1);
		align = ks_max(align, own);
	} while (!dwarf_siblingof(&child, &child));
	return align;
}

/* As C says it; "..." where that would be long: arrays of arrays, functions. */
static void say_type(struct ks_strbuf *out, Dwarf_Die *die, unsigned int depth)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;
	const char *name;

	if (depth > DEPTH_MAX || !dwarf_formref_die(dwarf_attr(die, DW_AT_type, &attr), &type)) {
		ks_strbuf_puts(out, "void");
		return;
	}
	name = dwarf_diename(&type);
	switch (dwarf_tag(&type)) {
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		say_type(out, &type, depth + 1);
		return;
	case DW_TAG_pointer_type:
		say_type(out, &type, depth + 1);
		ks_strbuf_puts(out, out->len && out->s[out->len - 1] == '*' ? "*" : " *");
		return;
	case DW_TAG_array_type:
		say_type(out, &type, depth + 1);
		ks_strbuf_puts(out, "[]");
		return;
	case DW_TAG_subroutine_type:
		ks_strbuf_puts(out, "function");
		return;
	case DW_TAG_structure_type:
		ks_strbuf_printf(out, "struct%s%s", name ? " " : "", name ? name : "");
		return;
	case DW_TAG_union_type:
		ks_strbuf_printf(out, "union%s%s", name ? " " : "", name ? name : "");
		return;
	case DW_TAG_enumeration_type:
		ks_strbuf_printf(out, "enum%s%s", name ? " " : "", name ? name : "");
		return;
	default:
		ks_strbuf_puts(out, name ? name : "?");
	}
}

/* The bits of a bit field from the start of its struct, which must be known by DWARF 4's attribute or later. */
static bool bit_field(Dwarf_Die *member, u64 *ret_first, u64 *ret_bits)
{
	return number(member, DW_AT_bit_size, ret_bits) &&
	       number(member, DW_AT_data_bit_offset, ret_first);
}

/* === Internals: fields ==================================================================== */

/* The first names in a union without a name of its own: "{a|b}". */
static void name_union(struct ks_strbuf *out, Dwarf_Die *type)
{
	unsigned int nr = 0;
	Dwarf_Die child;

	ks_strbuf_puts(out, "{");
	if (!dwarf_child(type, &child))
		do {
			const char *name = dwarf_diename(&child);

			if (dwarf_tag(&child) != DW_TAG_member || !name)
				continue;
			if (nr++ == 3) {
				ks_strbuf_puts(out, "|...");
				break;
			}
			ks_strbuf_printf(out, "%s%s", nr > 1 ? "|" : "", name);
		} while (!dwarf_siblingof(&child, &child));
	ks_strbuf_puts(out, "}");
}

static void add_members(struct ks_layout_maker *m, Dwarf_Die *type, const char *prefix, u64 base,
			unsigned int depth);

static void add_one(struct ks_layout_maker *m, Dwarf_Die *member, const char *prefix, u64 base,
		    unsigned int depth)
{
	const char *own = dwarf_diename(member);
	u64 offset = 0, first, bits;
	struct ks_strbuf name, text;
	Dwarf_Die type;

	if (!type_of(member, &type))
		return;
	ks_strbuf_init(&name);
	ks_strbuf_init(&text);
	ks_strbuf_puts(&name, prefix);
	if (own)
		ks_strbuf_printf(&name, "%s%s", *prefix ? "." : "", own);
	else if (dwarf_tag(&type) == DW_TAG_union_type) {
		ks_strbuf_puts(&name, *prefix ? "." : "");
		name_union(&name, &type);
	} else {
		ks_strbuf_puts(&name, "");
	}
	say_type(&text, member, 0);
	number(member, DW_AT_data_member_location, &offset);
	if (name.failed || text.failed || !text.s) {
		m->failed = true;
	} else if (bit_field(member, &first, &bits)) {
		ks_layout_add_bits(m, name.len ? name.s : "?", base * 8 + first, bits);
	} else if (dwarf_tag(&type) == DW_TAG_structure_type && size_of(&type) > (own ? WORD : 0) &&
		   depth < DEPTH_MAX) {
		add_members(m, &type, name.len ? name.s : "", base + offset, depth + 1);
	} else if (size_of(&type)) {
		ks_layout_add(m, name.len ? name.s : "?", text.s, base + offset, size_of(&type));
	}
	ks_strbuf_deinit(&name);
	ks_strbuf_deinit(&text);
}

static void add_members(struct ks_layout_maker *m, Dwarf_Die *type, const char *prefix, u64 base,
			unsigned int depth)
{
	Dwarf_Die child;

	if (dwarf_child(type, &child))
		return;
	do {
		if (dwarf_tag(&child) == DW_TAG_member && !m->failed)
			add_one(m, &child, prefix, base, depth);
	} while (!dwarf_siblingof(&child, &child));
}

/* === Internals: members =================================================================== */

/* A member of the struct itself, with its fields. */
static void add_member(struct ks_layout_maker *m, Dwarf_Die *die)
{
	size_t before = m->layout->fields.len;
	struct ks_debug_member *member;
	u64 stated, offset = 0, first, bits;
	Dwarf_Die type;
	u32 align;

	if (!type_of(die, &type))
		return;
	m->member = (u32)m->layout->members.len;
	/* A bit field may go on with the member before. */
	if (m->last_is_bits && m->member)
		m->member--;
	add_one(m, die, "", 0, 0);
	if (m->layout->fields.len == before) {
		if (m->last_is_bits && m->member < m->layout->members.len) {
			member = &m->layout->members.items[m->member];
			member->size = m->layout->fields.items[before - 1].offset +
				       m->layout->fields.items[before - 1].size - member->offset;
			member->name = m->layout->fields.items[before - 1].name;
		}
		return;
	}
	m->member = (u32)m->layout->members.len;
	for (; before < m->layout->fields.len; before++)
		m->layout->fields.items[before].member = m->member;
	number(die, DW_AT_data_member_location, &offset);
	align = number(die, DW_AT_alignment, &stated) && stated && stated <= 4096
			? (u32)stated
			: align_of(&type, 0);
	member = ks_vec_push(&m->layout->members);
	if (!member) {
		m->failed = true;
		return;
	}
	*member = (struct ks_debug_member){ .offset = (u32)offset,
					    .size = (u32)size_of(&type),
					    .align = align };
	if (bit_field(die, &first, &bits)) {
		member->offset = (u32)(first / 8);
		member->size = (u32)((first + bits + 7) / 8) - member->offset;
	}
	member->name = dwarf_diename(die) ? ks_layout_string(m, dwarf_diename(die))
					  : m->layout->fields.items[m->layout->fields.len - 1].name;
	if (m->last_is_bits || !dwarf_diename(die))
		member->name = m->layout->fields.items[m->layout->fields.len - 1].name;
}

static int make_layout(Dwarf_Die *type, const char *name, struct ks_debug_struct **ret_layout)
{
	struct ks_layout_maker m;
	Dwarf_Die child;
	int err = ks_layout_begin(&m, name, size_of(type));

	if (!err && !dwarf_child(type, &child))
		do {
			if (dwarf_tag(&child) == DW_TAG_member && !m.failed)
				add_member(&m, &child);
		} while (!dwarf_siblingof(&child, &child));
	return err ? err : ks_layout_end(&m, ret_layout);
}

/* === Public =============================================================================== */

int ks_debug_layout(struct ks_debug_types *types, const char *name,
		    struct ks_debug_struct **ret_layout, struct ks_diag *diag)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, die;

	*ret_layout = NULL;
	if (types->btf)
		return ks_btf_layout(types->btf, name, ret_layout)
			       ? ks_diag_nomem(diag, "reading type information")
			       : 0;
	while (!dwarf_get_units(types->dwarf, cu, &cu, NULL, NULL, &unit, NULL)) {
		if (dwarf_child(&unit, &die))
			continue;
		do {
			const char *own = is_aggregate(&die) ? dwarf_diename(&die) : NULL;

			if (!own || strcmp(own, name) || dwarf_hasattr(&die, DW_AT_declaration))
				continue;
			return make_layout(&die, name, ret_layout)
				       ? ks_diag_nomem(diag, "reading debug information")
				       : 0;
		} while (!dwarf_siblingof(&die, &die));
	}
	return 0;
}
