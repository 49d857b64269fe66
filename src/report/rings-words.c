// SPDX-License-Identifier: LGPL-2.1-only
/* What is written in a ring chart outside of its slices: heading, middle and tables. */
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "report/rings-layout.h"

/* === Data ================================================================================= */

/* Rows of the table of directories, and what is left for the table of files below it. */
enum { TABLE_ROWS = 18, FILE_ROWS_MIN = 5 };

#define MARGIN	      44.0
#define TABLE_X	      830.0
#define TABLE_Y	      144.0
#define TABLE_END     (KS_RINGS_HEIGHT - 56.0)
#define TABLE_WIDTH   (KS_RINGS_WIDTH - MARGIN - TABLE_X)
#define ROW_HEIGHT    32.0
#define SWATCH	      15.0
#define PERCENT_WIDTH 80.0
#define BYTES_WIDTH   104.0
#define NAME_WIDTH    (TABLE_WIDTH - PERCENT_WIDTH - BYTES_WIDTH - 8.0)
#define ROW_SIZE      14.0

static const struct ks_rgb ink = { 0x1a, 0x1a, 0x1a };
static const struct ks_rgb faint_ink = { 0x66, 0x66, 0x66 };
static const struct ks_rgb rule = { 0xd0, 0xd0, 0xd0 };

/* === Internals ============================================================================ */

static double width_of(const struct ks_rings *l, const char *text, double size, bool bold)
{
	return l->measure->width(l->measure->ctx, text, size, bold);
}

/* The text, or as much of its beginning as fits, with dots for the rest. */
static const char *fit(struct ks_rings *l, const char *text, double size, bool bold, double room)
{
	size_t len = strlen(text);

	if (width_of(l, text, size, bold) <= room)
		return text;
	while (len) {
		struct ks_strbuf sb;
		const char *s;

		/* Not in the middle of a character. */
		for (len--; len && ((u8)text[len] & 0xc0) == 0x80;)
			len--;
		ks_strbuf_init(&sb);
		ks_strbuf_add(&sb, text, len);
		ks_strbuf_puts(&sb, "\xe2\x80\xa6");
		s = ks_rings_keep(l, &sb);
		if (width_of(l, s, size, bold) <= room)
			return s;
	}
	return "";
}

static void add_text(struct ks_rings *l, struct ks_chart_text text, double room)
{
	struct ks_chart_text *slot;

	text.text = fit(l, text.text, text.size, text.bold, room);
	text.width = width_of(l, text.text, text.size, text.bold);
	text.slice = KS_NONE;
	slot = *text.text ? ks_vec_push(&l->chart->texts) : NULL;
	if (slot)
		*slot = text;
	else
		l->nomem |= *text.text != '\0';
}

static void add_box(struct ks_rings *l, double x, double y, double w, double h, struct ks_rgb fill)
{
	struct ks_chart_box *box = ks_vec_push(&l->chart->boxes);

	if (box)
		*box = (struct ks_chart_box){ x, y, w, h, fill };
	else
		l->nomem = true;
}

static void add_center(struct ks_rings *l)
{
	const char *name = *l->spec->root_path ? l->spec->root_path : "all";
	double room = l->radii[0] * 1.7;
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	ks_render_bytes(&sb, ks_rings_total(l));
	add_text(l,
		 (struct ks_chart_text){ .x = KS_RINGS_CENTER_X,
					 .y = KS_RINGS_CENTER_Y - 11,
					 .size = 22,
					 .anchor = KS_ANCHOR_MIDDLE,
					 .bold = true,
					 .color = ink,
					 .text = ks_rings_keep(l, &sb) },
		 room);
	add_text(l,
		 (struct ks_chart_text){ .x = KS_RINGS_CENTER_X,
					 .y = KS_RINGS_CENTER_Y + 14,
					 .size = 13,
					 .anchor = KS_ANCHOR_MIDDLE,
					 .color = faint_ink,
					 .text = ks_rings_keep_clean(l, name) },
		 room);
}

static void add_heading(struct ks_rings *l)
{
	const struct ks_rings_spec *spec = l->spec;
	double room = KS_RINGS_WIDTH - 2 * MARGIN;

	l->chart->title = ks_rings_keep_clean(l, spec->title);
	add_text(l,
		 (struct ks_chart_text){ .x = MARGIN,
					 .y = 46,
					 .size = 27,
					 .bold = true,
					 .color = ink,
					 .text = l->chart->title },
		 room);
	add_text(l,
		 (struct ks_chart_text){ .x = MARGIN,
					 .y = 80,
					 .size = 15,
					 .color = faint_ink,
					 .text = ks_rings_keep_clean(l, spec->subtitle) },
		 room);
	add_text(l,
		 (struct ks_chart_text){ .x = KS_RINGS_WIDTH - MARGIN,
					 .y = KS_RINGS_HEIGHT - 22,
					 .size = 11,
					 .anchor = KS_ANCHOR_END,
					 .color = faint_ink,
					 .text = ks_rings_keep_clean(l, spec->note) },
		 room);
}

static void add_row(struct ks_rings *l, double y, const char *name, const char *bytes,
		    const char *percent, bool bold, double indent)
{
	double end = TABLE_X + TABLE_WIDTH;
	struct ks_chart_text text = { .x = TABLE_X + indent,
				      .y = y,
				      .size = ROW_SIZE,
				      .bold = bold,
				      .color = ink,
				      .text = name };

	add_text(l, text, NAME_WIDTH - indent);
	text.anchor = KS_ANCHOR_END;
	text.x = end - PERCENT_WIDTH;
	text.text = bytes;
	add_text(l, text, BYTES_WIDTH);
	text.x = end;
	text.text = percent;
	add_text(l, text, PERCENT_WIDTH - 4);
}

static void add_share_row(struct ks_rings *l, double y, const char *name, u64 bytes, bool bold,
			  double indent)
{
	struct ks_strbuf number, part;
	const char *bytes_text;

	ks_strbuf_init(&number);
	ks_strbuf_init(&part);
	ks_render_grouped(&number, bytes);
	ks_render_percent(&part, bytes, ks_rings_total(l));
	bytes_text = ks_rings_keep(l, &number);
	add_row(l, y, name, bytes_text, ks_rings_keep(l, &part), bold, indent);
}

/* What a child must have for a row of its own: be visible, and leave room for the others. */
static u64 row_limit(const struct ks_rings *l)
{
	const struct ks_dirtree *tree = l->spec->tree;
	u32 child = ks_dirtree_node(tree, l->spec->root)->child;
	u64 visible = ks_rings_visible(l, 0);
	unsigned int rows = 0;

	for (; child != KS_NONE; child = ks_dirtree_node(tree, child)->sibling) {
		const struct ks_dirnode *node = ks_dirtree_node(tree, child);

		if (node->unresolved || node->bytes < visible)
			continue;
		/* Two rows are kept for "other" and "unresolved". */
		if (++rows > TABLE_ROWS - 2)
			return node->bytes + 1;
	}
	return visible;
}

static double add_head(struct ks_rings *l, double y, const char *name)
{
	add_row(l, y, name, "bytes", "share", true, 0);
	add_box(l, TABLE_X, y + ROW_HEIGHT / 2 - 1, TABLE_WIDTH, 1, rule);
	return y + ROW_HEIGHT;
}

static double add_table_row(struct ks_rings *l, double y, const struct ks_share *share, u8 hue)
{
	add_box(l, TABLE_X, y - SWATCH / 2, SWATCH, SWATCH,
		ks_rings_share_color(share, hue, 0, false));
	add_share_row(l, y, ks_rings_share_name(l, share), share->bytes, false, SWATCH + 12);
	return y + ROW_HEIGHT;
}

/* The first ring as a table: a swatch, a name, bytes and percent. Returns where it ends. */
static double add_table(struct ks_rings *l)
{
	const struct ks_dirnode *root = ks_dirtree_node(l->spec->tree, l->spec->root);
	u32 child = root->child;
	u64 limit = row_limit(l);
	double y = add_head(l, TABLE_Y,
			    *l->spec->root_path ? ks_rings_keep_clean(l, l->spec->root_path)
						: l->spec->top);
	struct ks_hues hues;
	struct ks_share share = { .node = root, .bytes = root->bytes };

	ks_hues_init(&hues);
	if (child == KS_NONE && *root->name)
		y = add_table_row(l, y, &share, ks_hues_next(&hues, root->name));
	while (ks_rings_next_share(l, limit, &child, &share))
		y = add_table_row(l, y, &share,
				  share.node ? ks_hues_next(&hues, share.node->name) : 0);
	add_box(l, TABLE_X, y - ROW_HEIGHT / 2, TABLE_WIDTH, 1, rule);
	add_share_row(l, y, "total", ks_rings_total(l), true, SWATCH + 12);
	return y + ROW_HEIGHT;
}

/* The part of a path that is below the root of the chart. */
static const char *path_below(struct ks_rings *l, u32 node)
{
	const struct ks_dirtree *tree = l->spec->tree;
	const char *names[KS_DIRTREE_DEPTH];
	struct ks_strbuf sb;
	size_t n = 0;

	for (; node != l->spec->root && n < ARRAY_SIZE(names);
	     node = ks_dirtree_node(tree, node)->parent)
		names[n++] = ks_dirtree_node(tree, node)->name;
	ks_strbuf_init(&sb);
	while (n--)
		ks_strbuf_printf(&sb, n ? "%s/" : "%s", names[n]);
	return ks_rings_keep(l, &sb);
}

/* A path that is too long loses directories in front: the end tells more. */
static const char *fit_path(struct ks_rings *l, const char *path, double room)
{
	const char *rest = ks_rings_keep_clean(l, path), *shown = rest;

	while (width_of(l, shown, ROW_SIZE, false) > room && (rest = strchr(rest, '/'))) {
		struct ks_strbuf sb;

		ks_strbuf_init(&sb);
		ks_strbuf_printf(&sb, "\xe2\x80\xa6%s", rest++);
		shown = ks_rings_keep(l, &sb);
	}
	return shown;
}

static bool is_below(const struct ks_rings *l, u32 node)
{
	while (node != KS_NONE && node != l->spec->root)
		node = ks_dirtree_node(l->spec->tree, node)->parent;
	return node != KS_NONE;
}

/* The largest leaf that comes behind @last in order of size, then of number; KS_NONE = no more. */
static u32 next_leaf(const struct ks_rings *l, u32 last)
{
	const struct ks_dirtree *tree = l->spec->tree;
	u64 limit = last == KS_NONE ? UINT64_MAX : ks_dirtree_node(tree, last)->bytes;
	u32 best = KS_NONE, i;

	for (i = 1; i < tree->nodes.len; i++) {
		const struct ks_dirnode *node = ks_dirtree_node(tree, i);

		if (node->child != KS_NONE || node->unresolved || node->bytes > limit ||
		    (node->bytes == limit && last != KS_NONE && i <= last))
			continue;
		if ((best == KS_NONE || node->bytes > ks_dirtree_node(tree, best)->bytes) &&
		    is_below(l, i))
			best = i;
	}
	return best;
}

/* Where there is room: the largest leaves, wherever they are. */
static void add_leaves(struct ks_rings *l, double y)
{
	int rows = (int)((TABLE_END - y) / ROW_HEIGHT);
	u32 leaf = KS_NONE;
	struct ks_strbuf head;

	if (rows < FILE_ROWS_MIN + 1)
		return;
	ks_strbuf_init(&head);
	ks_strbuf_printf(&head, "largest %s", l->spec->leaves);
	y = add_head(l, y, ks_rings_keep(l, &head));
	while (--rows && (leaf = next_leaf(l, leaf)) != KS_NONE) {
		add_share_row(l, y, fit_path(l, path_below(l, leaf), NAME_WIDTH),
			      ks_dirtree_node(l->spec->tree, leaf)->bytes, false, 0);
		y += ROW_HEIGHT;
	}
}

/* === Public =============================================================================== */

void ks_rings_add_words(struct ks_rings *l)
{
	double end;

	add_center(l);
	add_heading(l);
	end = add_table(l);
	if (l->rings > 1)
		add_leaves(l, end + ROW_HEIGHT / 2);
}
