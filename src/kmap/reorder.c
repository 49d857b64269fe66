// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A proposed order of members. What is read together comes first, then what is written, in cache lines of its own if other
 * processors write it; what is seldom accessed fills the holes and the end.
 */
#include "kmap/reorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

struct packer {
	const struct ks_debug_struct *layout;
	struct ks_kmap_order_of *order;
	u32 *queue; /* members that are to be placed, in order */
	size_t nr;
	bool *placed;
	u64 at;
	bool failed;
};

/* === Internals ============================================================================ */

static int add_up(const struct ks_kmap_struct *type, struct ks_kmap_order_of *order)
{
	size_t nr = type->layout->members.len, i;
	u64 total = 0;

	order->heat = calloc(nr + 1, sizeof(*order->heat));
	order->reads = calloc(nr + 1, sizeof(*order->reads));
	order->writes = calloc(nr + 1, sizeof(*order->writes));
	if (!order->heat || !order->reads || !order->writes)
		return -ENOMEM;
	/* Ranges are left out: a memset() of all heats nothing. */
	for (i = 0; i < type->fields.len; i++) {
		const struct ks_kmap_field *field = &type->fields.items[i];
		u64 all = field->reads + field->writes;
		u64 own = all - ks_min(field->ranges, all);

		total += own;
		if (field->member >= nr || !all)
			continue;
		order->reads[field->member] += field->reads;
		order->writes[field->member] += own < field->reads ? 0 : own - field->reads;
	}
	for (i = 0; i < nr; i++) {
		u64 own = order->reads[i] + order->writes[i];

		if (!own || own * 100 < total * KS_KMAP_HOT_PERCENT)
			order->heat[i] = KS_KMAP_COLD;
		else if (order->reads[i] >= KS_KMAP_READ_RATIO * order->writes[i])
			order->heat[i] = KS_KMAP_READ_MOSTLY;
		else
			order->heat[i] = KS_KMAP_WRITTEN;
	}
	return 0;
}

/* Lines with a byte of a hot member, for members where they are, or where it is proposed. */
static int count_lines(const struct ks_debug_struct *layout, const struct ks_kmap_order_of *order,
		       bool proposed, u64 size, u64 *ret_hot, u64 *ret_mixed)
{
	u64 lines = size / KS_KMAP_LINE + 2, line;
	u8 *heats = calloc((size_t)lines, 1);
	size_t i;

	if (!heats)
		return -ENOMEM;
	for (i = 0; i < (proposed ? order->places.len : layout->members.len); i++) {
		u32 member = proposed ? order->places.items[i].member : (u32)i;
		u64 offset = proposed ? order->places.items[i].offset
				      : layout->members.items[i].offset;
		u64 len = layout->members.items[member].size;

		if (order->heat[member] == KS_KMAP_COLD || !len)
			continue;
		for (line = offset / KS_KMAP_LINE;
		     line <= (offset + len - 1) / KS_KMAP_LINE && line < lines; line++)
			heats[line] |= (u8)(1 << order->heat[member]);
	}
	*ret_hot = *ret_mixed = 0;
	for (line = 0; line < lines; line++) {
		*ret_hot += heats[line] != 0;
		*ret_mixed += heats[line] == (1 << KS_KMAP_READ_MOSTLY | 1 << KS_KMAP_WRITTEN);
	}
	free(heats);
	return 0;
}

/* Whether processors read what others write: then each should have cache lines of its own. */
static bool is_shared(const struct ks_kmap_struct *type, const struct ks_kmap_order_of *order)
{
	u64 readers[KS_KMAP_CPU_WORDS] = { 0 }, writers[KS_KMAP_CPU_WORDS] = { 0 };
	size_t i, j;

	for (i = 0; i < type->fields.len; i++) {
		const struct ks_kmap_field *field = &type->fields.items[i];

		for (j = 0; j < KS_KMAP_CPU_WORDS && field->member < type->layout->members.len;
		     j++) {
			if (order->heat[field->member] == KS_KMAP_READ_MOSTLY)
				readers[j] |= field->reader_cpus[j];
			else if (order->heat[field->member] == KS_KMAP_WRITTEN)
				writers[j] |= field->writer_cpus[j];
		}
	}
	return memcmp(readers, writers, sizeof(readers)) != 0;
}

static u64 align_up(u64 value, u64 align)
{
	return align > 1 ? (value + align - 1) / align * align : value;
}

static void place(struct packer *p, u32 member)
{
	const struct ks_debug_member *m = &p->layout->members.items[member];
	struct ks_kmap_place *to = ks_vec_push(&p->order->places);

	if (!to) {
		p->failed = true;
		return;
	}
	p->at = align_up(p->at, m->align);
	*to = (struct ks_kmap_place){ .member = member, .offset = (u32)p->at };
	p->at += m->size;
	p->placed[member] = true;
}

/* The next member of the queue that leaves no hole and ends before @end; KS_NONE = there is none. */
static u32 find_filler(const struct packer *p, u64 end)
{
	size_t i;

	for (i = 0; i < p->nr; i++) {
		const struct ks_debug_member *m = &p->layout->members.items[p->queue[i]];

		if (!p->placed[p->queue[i]] && p->order->heat[p->queue[i]] == KS_KMAP_COLD &&
		    m->size && align_up(p->at, m->align) == p->at && p->at + m->size <= end)
			return p->queue[i];
	}
	return KS_NONE;
}

/* Goes on to @end, as far as members that are cold fill the way. */
static void fill_to(struct packer *p, u64 end)
{
	u32 filler;

	while (p->at < end && !p->failed && (filler = find_filler(p, end)) != KS_NONE)
		place(p, filler);
}

static void place_all_of(struct packer *p, enum ks_kmap_heat heat, bool new_line)
{
	bool first = true;
	size_t i;

	for (i = 0; i < p->nr && !p->failed; i++) {
		u32 member = p->queue[i];

		if (p->placed[member] || p->order->heat[member] != heat)
			continue;
		if (first && new_line && p->at % KS_KMAP_LINE) {
			fill_to(p, align_up(p->at, KS_KMAP_LINE));
			p->at = align_up(p->at, KS_KMAP_LINE);
		}
		fill_to(p, align_up(p->at, p->layout->members.items[member].align));
		place(p, member);
		first = false;
	}
}

/* Large alignments first, then what is accessed most; the declared order decides the rest. */
static int by_alignment(const void *pa, const void *pb, void *ctx)
{
	const struct packer *p = ctx;
	u32 a = *(const u32 *)pa, b = *(const u32 *)pb;
	const struct ks_debug_member *x = &p->layout->members.items[a],
				     *y = &p->layout->members.items[b];
	u64 m = p->order->reads[a] + p->order->writes[a],
	    n = p->order->reads[b] + p->order->writes[b];

	if (x->align != y->align)
		return x->align > y->align ? -1 : 1;
	if (m != n)
		return m > n ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* A struct that begins with another one is often taken for that: it stays where it is. */
static bool begins_with_struct(const struct ks_debug_struct *layout)
{
	return layout->fields.len > 1 && layout->fields.items[1].member == 0;
}

static u64 struct_align(const struct ks_debug_struct *layout)
{
	u64 align = 1;
	size_t i;

	for (i = 0; i < layout->members.len; i++)
		align = ks_max(align, (u64)layout->members.items[i].align);
	return align;
}

static int pack(const struct ks_debug_struct *layout, struct ks_kmap_order_of *order, bool apart)
{
	struct packer p = { .layout = layout, .order = order };
	size_t i;

	order->places.len = 0;
	p.nr = layout->members.len;
	p.queue = calloc(p.nr + 1, sizeof(*p.queue));
	p.placed = calloc(p.nr + 1, sizeof(*p.placed));
	p.failed = !p.queue || !p.placed;
	if (!p.failed) {
		for (i = 0; i < p.nr; i++)
			p.queue[i] = (u32)i;
		if (begins_with_struct(layout))
			place(&p, 0);
		qsort_r(p.queue, p.nr, sizeof(*p.queue), by_alignment, &p);
		place_all_of(&p, KS_KMAP_READ_MOSTLY, false);
		place_all_of(&p, KS_KMAP_WRITTEN, apart);
		place_all_of(&p, KS_KMAP_COLD, false);
		order->new_size = align_up(p.at, struct_align(layout));
	}
	free(p.queue);
	free(p.placed);
	return p.failed ? -ENOMEM : 0;
}

/* Bytes that no member has; of a union, whose members overlap, there are none. */
static u64 count_holes(const struct ks_debug_struct *layout, u64 size)
{
	u64 used = 0;
	size_t i;

	for (i = 0; i < layout->members.len; i++)
		used += layout->members.items[i].size;
	return used < size ? size - used : 0;
}

static bool is_union(const struct ks_debug_struct *layout)
{
	size_t i;

	for (i = 1; i < layout->members.len; i++)
		if (layout->members.items[i].offset <
		    layout->members.items[i - 1].offset + layout->members.items[i - 1].size)
			return true;
	return false;
}

/* === Public =============================================================================== */

int ks_kmap_reorder(const struct ks_kmap_struct *type, struct ks_kmap_order_of *ret_order)
{
	const struct ks_debug_struct *layout = type->layout;
	struct ks_kmap_order_of order = { .size = layout->size };
	int err = add_up(type, &order);

	if (!err && !is_union(layout)) {
		err = pack(layout, &order, is_shared(type, &order));
		/* Lines of their own are not worth a larger struct. */
		if (!err && order.new_size > layout->size)
			err = pack(layout, &order, false);
	}
	if (!err)
		err = count_lines(layout, &order, false, layout->size, &order.hot_lines,
				  &order.mixed_lines);
	if (!err)
		err = count_lines(layout, &order, true, order.new_size, &order.new_hot_lines,
				  &order.new_mixed_lines);
	if (err) {
		ks_kmap_order_deinit(&order);
		return err;
	}
	order.holes = count_holes(layout, layout->size);
	order.new_holes = count_holes(layout, order.new_size);
	*ret_order = order;
	return 0;
}

int ks_kmap_cost_of_layout(const struct ks_kmap_struct *type, struct ks_kmap_cost *ret_cost)
{
	struct ks_kmap_order_of order = { 0 };
	int err = add_up(type, &order);

	if (!err)
		err = count_lines(type->layout, &order, false, type->layout->size, &order.hot_lines,
				  &order.mixed_lines);
	if (!err)
		*ret_cost = (struct ks_kmap_cost){
			.size = type->layout->size,
			.holes = count_holes(type->layout, type->layout->size),
			.hot_lines = order.hot_lines,
			.mixed_lines = order.mixed_lines,
		};
	ks_kmap_order_deinit(&order);
	return err;
}

void ks_kmap_order_deinit(struct ks_kmap_order_of *order)
{
	ks_vec_free(&order->places);
	free(order->heat);
	free(order->reads);
	free(order->writes);
	*order = (struct ks_kmap_order_of){ 0 };
}

u64 ks_kmap_size_class(u64 size)
{
	u64 class = 8;

	if (size > 64 && size <= 96)
		return 96;
	if (size > 128 && size <= 192)
		return 192;
	while (class < size && class < 8192)
		class *= 2;
	return class >= size ? class : 0;
}
