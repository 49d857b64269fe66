// SPDX-License-Identifier: LGPL-2.1-only
/* The flame graph: a tree of frames, laid out in rows. */
#include "report/flame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/map64.h"
#include "base/quantity.h"
#include "report/frames.h"
#include "report/rings.h"

/* === Data ================================================================================= */

/* In points. The font has one width for all characters, so that labels can be cut to fit. */
static const double chart_width = 1200, margin = 10, head_height = 46, row_height = 18;
static const double font_size = 11, char_width = 6.65, thinnest = 0.4;

struct node {
	u32 name, parent; /* parent KS_NONE = the root */
	u32 child, sibling;
	u64 value;
	u32 depth;
	u8 hue;
};

struct flame {
	enum ks_measure measure;
	struct ks_intern names;
	struct ks_map64 edges;	   /* parent and name; node n is edge n - 1 */
	KS_VEC(struct node) nodes; /* [0] is the root */
	u32 deepest;
	bool by_name; /* a function has a colour of its own, wherever it stands */
	struct ks_hues rows[KS_FRAMES_MAX + 2]; /* by depth: each is drawn from left to right */
	u64 thin;				/* frames that are too thin to draw */
	struct ks_strbuf *out;
};

/* === Internals: the tree ================================================================== */

static bool is_bytes(enum ks_measure measure)
{
	return measure != KS_MEASURE_OBJECTS && measure != KS_MEASURE_ALLOCS;
}

static u32 child_of(struct flame *f, u32 parent, const struct ks_frame *frame)
{
	u32 name = ks_intern_add(&f->names, frame->s, frame->len), node;
	struct node *made;

	if (name == KS_NONE)
		return KS_NONE;
	node = ks_map64_add(&f->edges, (u64)parent << 32 | name);
	if (node == KS_NONE || node + 1 < f->nodes.len)
		return node == KS_NONE ? KS_NONE : node + 1;
	made = ks_vec_push(&f->nodes);
	if (!made)
		return KS_NONE;
	*made = (struct node){
		.name = name,
		.parent = parent,
		.child = KS_NONE,
		.sibling = KS_NONE,
		.depth = f->nodes.items[parent].depth + 1,
	};
	f->deepest = ks_max(f->deepest, made->depth);
	return node + 1;
}

static int add_site(struct flame *f, const struct ks_group *group)
{
	struct ks_frames frames = ks_frames_of(group);
	u64 value = ks_measure_of(&group->stat, f->measure);
	u32 node = 0;
	size_t i;

	if (!value)
		return 0;
	f->nodes.items[0].value += value;
	for (i = 0; i < frames.len; i++) {
		node = child_of(f, node, &frames.items[i]);
		if (node == KS_NONE)
			return -ENOMEM;
		f->nodes.items[node].value += value;
	}
	return 0;
}

static const char *name_of(const struct flame *f, u32 node)
{
	return node ? ks_intern_get(&f->names, f->nodes.items[node].name).s : "all";
}

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct flame *f = arg;
	u32 a = *(const u32 *)pa, b = *(const u32 *)pb;

	if (f->nodes.items[a].value != f->nodes.items[b].value)
		return f->nodes.items[a].value < f->nodes.items[b].value ? -1 : 1;
	return strcmp(name_of(f, b), name_of(f, a));
}

/* Hangs the children into their parents, so that the largest comes first. */
static int link_children(struct flame *f)
{
	size_t len = f->nodes.len, i;
	u32 *order = malloc(len * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		order[i] = (u32)i;
	qsort_r(order, len, sizeof(*order), compare, f);
	for (i = 0; i < len; i++) { /* the last to be hung in is the first in the list */
		struct node *node = &f->nodes.items[order[i]];

		if (node->parent == KS_NONE)
			continue;
		node->sibling = f->nodes.items[node->parent].child;
		f->nodes.items[node->parent].child = order[i];
	}
	free(order);
	return 0;
}

/*
 * All below a top directory or module have its hue; but not where nearly all is below one of them, as call
 * stacks are: that would be a picture of one colour.
 */
static void color_top(struct flame *f)
{
	struct ks_hues hues;
	u32 node = f->nodes.items[0].child;

	f->by_name = node != KS_NONE &&
		     f->nodes.items[node].value > f->nodes.items[0].value / 10 * 9;
	ks_hues_init(&hues);
	for (node = f->nodes.items[0].child; node != KS_NONE; node = f->nodes.items[node].sibling)
		f->nodes.items[node].hue = ks_hues_next(&hues, name_of(f, node));
}

static struct ks_rgb fill_of(const struct flame *f, u32 number)
{
	const struct node *node = &f->nodes.items[number];

	if (!node->depth)
		return (struct ks_rgb){ 0xd8, 0xd8, 0xd8 };
	if (!f->by_name)
		return ks_rings_color(node->hue, node->depth - 1, false);
	return ks_rings_color(node->hue, 2 + node->depth % 2, false);
}

/* === Internals: drawing =================================================================== */

static void put_text(struct flame *f, const char *s)
{
	ks_escape_xml(f->out, s, strlen(s));
}

static void put_value(struct flame *f, u64 value)
{
	ks_render_grouped(f->out, value);
	ks_strbuf_puts(f->out, is_bytes(f->measure) ? " bytes" : "");
}

static void put_share(struct flame *f, u64 value)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_render_percent(&text, value, f->nodes.items[0].value);
	put_text(f, ks_strbuf_str(&text)); /* it may hold a < */
	ks_strbuf_deinit(&text);
}

/* Directories are told by their last component: those above stand above. */
static const char *short_name(const struct flame *f, u32 node)
{
	const char *name = name_of(f, node), *slash = strrchr(name, '/');

	return slash && slash[1] ? slash + 1 : name;
}

static void put_size(struct flame *f, u64 value)
{
	if (is_bytes(f->measure))
		ks_render_bytes(f->out, value);
	else
		ks_render_grouped(f->out, value);
}

/* The name, cut where it does not fit, and the size behind it where there is room for both. */
static void put_label(struct flame *f, u32 node, double x, double y, double width,
		      struct ks_rgb fill)
{
	enum { SIZE_ROOM = 14 };
	const char *name = short_name(f, node);
	size_t fits = width > 8 ? (size_t)((width - 8) / char_width) : 0, len = strlen(name);
	struct ks_rgb color = ks_text_color_on(fill);

	if (fits < 3)
		return;
	ks_strbuf_printf(f->out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"#%02x%02x%02x\">", x + 4,
			 y + row_height * 0.5 + font_size * KS_BASELINE, color.r, color.g, color.b);
	ks_escape_xml(f->out, name, len <= fits ? len : fits - 2);
	ks_strbuf_puts(f->out, len <= fits ? "" : "..");
	if (len + SIZE_ROOM <= fits) {
		ks_strbuf_puts(f->out, "  ");
		put_size(f, f->nodes.items[node].value);
	}
	ks_strbuf_puts(f->out, "</text>");
}

static void put_frame(struct flame *f, u32 number, double x, double width)
{
	const struct node *node = &f->nodes.items[number];
	struct ks_rgb fill = fill_of(f, number);
	double y = head_height + node->depth * row_height;

	ks_strbuf_puts(f->out, "<g><title>");
	put_text(f, name_of(f, number));
	ks_strbuf_puts(f->out, ": ");
	put_value(f, node->value);
	ks_strbuf_puts(f->out, ", ");
	put_share(f, node->value);
	ks_strbuf_printf(f->out,
			 "</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
			 "fill=\"#%02x%02x%02x\"/>",
			 x, y, width, row_height - 1, fill.r, fill.g, fill.b);
	put_label(f, number, x, y, width, fill);
	ks_strbuf_puts(f->out, "</g>\n");
}

/* Depth is bounded by KS_FRAMES_MAX. */
static void put_tree(struct flame *f, u32 number, double x, double width)
{
	double scale = width / (double)f->nodes.items[number].value;
	u32 child;

	put_frame(f, number, x, width);
	for (child = f->nodes.items[number].child; child != KS_NONE;
	     child = f->nodes.items[child].sibling) {
		struct node *node = &f->nodes.items[child];
		double part = scale * (double)node->value;

		if (f->by_name && part >= thinnest)
			node->hue = ks_hues_next(&f->rows[node->depth], name_of(f, child));
		else if (number)
			node->hue = f->nodes.items[number].hue;
		if (part < thinnest)
			f->thin++;
		else
			put_tree(f, child, x, part);
		x += part;
	}
}

static void put_document(struct flame *f, const char *title)
{
	double height = head_height + (f->deepest + 1) * row_height + 26;

	ks_strbuf_printf(f->out,
			 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
			 "width=\"%g\" height=\"%g\" font-family=\"DejaVu Sans Mono, monospace\" "
			 "font-size=\"%g\">\n<title>",
			 chart_width, height, chart_width, height, font_size);
	put_text(f, title);
	ks_strbuf_printf(f->out,
			 "</title>\n<style>g:hover rect{opacity:.75}text{pointer-events:none}"
			 "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
			 "<text x=\"%g\" y=\"22\" font-size=\"15\">",
			 margin);
	put_text(f, title);
	ks_strbuf_printf(f->out, "</text>\n<text x=\"%g\" y=\"38\">", margin);
	put_value(f, f->nodes.items[0].value);
	if (is_bytes(f->measure) && f->nodes.items[0].value >= 1024) {
		ks_strbuf_puts(f->out, " (");
		put_size(f, f->nodes.items[0].value);
		ks_strbuf_puts(f->out, ")");
	}
	ks_strbuf_puts(f->out, " in all</text>\n");
	if (f->nodes.items[0].value)
		put_tree(f, 0, margin, chart_width - 2 * margin);
	if (f->thin)
		ks_strbuf_printf(f->out,
				 "<text x=\"%g\" y=\"%.1f\">%llu frames are too thin to be drawn, "
				 "and what is below them</text>\n",
				 margin, height - 8, (unsigned long long)f->thin);
	ks_strbuf_puts(f->out, "</svg>\n");
}

/* === Public =============================================================================== */

void ks_render_flame(const struct ks_rows *rows, enum ks_measure measure, const char *title,
		     struct ks_strbuf *out)
{
	struct flame f = { .measure = measure, .out = out };
	struct node *root = ks_vec_push(&f.nodes);
	size_t i;
	int err = !root || ks_intern_init(&f.names) || ks_map64_init(&f.edges);

	if (root)
		*root = (struct node){ .parent = KS_NONE, .child = KS_NONE, .sibling = KS_NONE };
	for (i = 0; i < rows->len && !err; i++)
		err = add_site(&f, rows->items[i]);
	if (!err)
		err = link_children(&f);
	if (err) {
		out->failed = true;
	} else {
		color_top(&f);
		put_document(&f, title);
	}
	ks_vec_free(&f.nodes);
	ks_map64_deinit(&f.edges);
	ks_intern_deinit(&f.names);
}
