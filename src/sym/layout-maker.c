// SPDX-License-Identifier: LGPL-2.1-only
/* Makes the layout of a struct, member by member. */
#include "sym/layout-maker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

/* === Internals ============================================================================ */

/* Overlapping members, of a struct that is a union, are in the order of the declaration. */
static int by_offset(const void *pa, const void *pb)
{
	const struct ks_debug_field *a = pa, *b = pb;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->member < b->member ? -1 : a->member > b->member;
}

/* === Public =============================================================================== */

int ks_layout_begin(struct ks_layout_maker *m, const char *name, u64 size)
{
	*m = (struct ks_layout_maker){ .layout = calloc(1, sizeof(*m->layout)) };
	if (!m->layout || ks_intern_init(&m->layout->strings)) {
		ks_debug_struct_free(m->layout);
		return -ENOMEM;
	}
	m->layout->name = ks_layout_string(m, name);
	m->layout->size = (u32)size;
	return 0;
}

int ks_layout_end(struct ks_layout_maker *m, struct ks_debug_struct **ret_layout)
{
	struct ks_debug_struct *layout = m->layout;

	if (m->failed) {
		ks_debug_struct_free(layout);
		return -ENOMEM;
	}
	if (layout->fields.len)
		qsort(layout->fields.items, layout->fields.len, sizeof(*layout->fields.items),
		      by_offset);
	*ret_layout = layout;
	return 0;
}

u32 ks_layout_string(struct ks_layout_maker *m, const char *s)
{
	u32 id = ks_intern_add(&m->layout->strings, s, strlen(s));

	m->failed |= id == KS_NONE;
	return id;
}

void ks_layout_add(struct ks_layout_maker *m, const char *name, const char *type, u64 offset,
		   u64 size)
{
	struct ks_debug_field *field = ks_vec_push(&m->layout->fields);

	m->last_is_bits = false;
	if (!field) {
		m->failed = true;
		return;
	}
	*field = (struct ks_debug_field){ .name = ks_layout_string(m, name),
					  .type = ks_layout_string(m, type),
					  .offset = (u32)offset,
					  .size = (u32)size,
					  .member = m->member };
}

/* Those one behind the other, without a byte between them, are one field: "a..c". */
void ks_layout_add_bits(struct ks_layout_maker *m, const char *name, u64 first, u64 bits)
{
	u64 start = first / 8, end = (first + bits + 7) / 8;
	struct ks_debug_field *last;
	struct ks_strbuf text;

	if (m->last_is_bits && first <= (m->bits_end + 7) / 8 * 8) {
		last = &m->layout->fields.items[m->layout->fields.len - 1];
		last->size = (u32)(end - last->offset);
		ks_strbuf_init(&text);
		ks_strbuf_puts(&text, ks_debug_string(m->layout, last->name));
		if (text.s && strstr(text.s, ".."))
			text.len = (size_t)(strstr(text.s, "..") - text.s);
		ks_strbuf_printf(&text, "..%s", name);
		m->failed |= text.failed;
		if (!text.failed)
			last->name = ks_layout_string(m, text.s);
		ks_strbuf_deinit(&text);
	} else {
		ks_layout_add(m, name, "bits", start, end - start);
	}
	m->last_is_bits = true;
	m->bits_end = first + bits;
}

void ks_debug_struct_free(struct ks_debug_struct *layout)
{
	if (!layout)
		return;
	ks_intern_deinit(&layout->strings);
	ks_vec_free(&layout->fields);
	ks_vec_free(&layout->members);
	free(layout);
}
