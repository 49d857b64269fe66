// SPDX-License-Identifier: LGPL-2.1-only
/* Where everything in a ring chart goes. Knows nothing of how it is drawn. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/quantity.h"
#include "report/rings-label.h"
#include "report/rings-layout.h"

/* === Data ================================================================================= */

/* An arc shorter than this cannot be told from a line. */
#define ARC_MIN 3.5

static const struct ks_rgb nothing = { 0xec, 0xec, 0xec };

/* The way down to a slice. */
struct spot {
	const char *path; /* of the parent; "" = the top */
	unsigned int level;
	u8 hue;
	double from, to;
};

/* === Internals ============================================================================ */

static unsigned int depth_below(const struct ks_dirtree *tree, u32 node, unsigned int limit)
{
	unsigned int deepest = 0;
	u32 child;

	if (!limit)
		return 0;
	for (child = ks_dirtree_node(tree, node)->child; child != KS_NONE;
	     child = ks_dirtree_node(tree, child)->sibling)
		deepest = ks_max(deepest, 1 + depth_below(tree, child, limit - 1));
	return deepest;
}

/* The fewer the rings, the larger the hole: rings should look like rings. */
static void choose_radii(struct ks_rings *l)
{
	static const double holes[KS_RINGS_MAX + 1] = { 0, 0.5, 0.36, 0.28, 0.23 };
	double hole = KS_RINGS_RADIUS * holes[l->rings];
	unsigned int i;

	for (i = 0; i <= l->rings; i++)
		l->radii[i] = hole + (KS_RINGS_RADIUS - hole) * i / l->rings;
}

static void add_label(struct ks_rings *l, u32 index, const char *name)
{
	struct ks_chart_text text = { .text = name, .slice = index };
	struct ks_chart_text *slot;

	text.color = ks_text_color_on(l->chart->slices.items[index].fill);
	if (!ks_label_fit(&l->chart->slices.items[index], l->measure, l->chart->center_x,
			  l->chart->center_y, &text))
		return;
	slot = ks_vec_push(&l->chart->texts);
	if (slot)
		*slot = text;
	else
		l->nomem = true;
}

/* "s-" or "o-" (for others), then the path with all but letters and digits as _XX: unique. */
static const char *make_id(struct ks_rings *l, const char *path, bool gathered)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	ks_strbuf_puts(&sb, gathered ? "o-" : "s-");
	for (; *path; path++) {
		u8 c = (u8)*path;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    c == '-' || c == '.')
			ks_strbuf_add(&sb, path, 1);
		else
			ks_strbuf_printf(&sb, "_%02X", c);
	}
	return ks_rings_keep(l, &sb);
}

static const char *make_title(struct ks_rings *l, const char *path, const struct ks_share *share)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	if (!share->node)
		ks_strbuf_printf(&sb, "%u others in ", share->count);
	ks_escape_tty(&sb, *path ? path : "the whole tree",
		      strlen(*path ? path : "the whole tree"));
	ks_strbuf_puts(&sb, ": ");
	ks_render_grouped(&sb, share->bytes);
	ks_strbuf_puts(&sb, " bytes, ");
	ks_render_percent(&sb, share->bytes, ks_rings_total(l));
	return ks_rings_keep(l, &sb);
}

static const char *join(struct ks_rings *l, const char *dir, const char *name)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	ks_strbuf_printf(&sb, "%s%s%s", dir, *dir ? "/" : "", name);
	return ks_rings_keep(l, &sb);
}

static void add_children(struct ks_rings *l, const struct ks_dirnode *node,
			 const struct spot *spot);

static void add_slice(struct ks_rings *l, const struct ks_share *share, const struct spot *spot,
		      bool odd)
{
	const char *path = share->node ? join(l, spot->path, share->node->name) : spot->path;
	struct ks_chart_slice *slice = ks_vec_push(&l->chart->slices);
	struct spot below = { path, spot->level + 1, spot->hue, spot->from, spot->to };

	if (!slice) {
		l->nomem = true;
		return;
	}
	*slice = (struct ks_chart_slice){
		.inner = l->radii[spot->level],
		.outer = l->radii[spot->level + 1],
		.from = spot->from,
		.to = spot->to,
		.fill = ks_rings_share_color(share, spot->hue, spot->level, odd),
		.id = make_id(l, path, !share->node),
		.title = make_title(l, path, share),
	};
	add_label(l, (u32)(slice - l->chart->slices.items), ks_rings_share_name(l, share));
	if (share->node)
		add_children(l, share->node, &below);
}

static void add_children(struct ks_rings *l, const struct ks_dirnode *node, const struct spot *spot)
{
	struct spot at = *spot;
	struct ks_share share;
	bool odd = false;
	u32 child = node->child;
	double start = spot->from;
	struct ks_hues hues;
	u64 done = 0;

	if (spot->level >= l->rings || !node->bytes)
		return;
	ks_hues_init(&hues);
	while (ks_rings_next_share(l, ks_rings_visible(l, spot->level), &child, &share)) {
		/* From sums, not by adding up angles: the last slice ends where the parent does. */
		at.from = start + (spot->to - start) * ((double)done / (double)node->bytes);
		done += share.bytes;
		at.to = start + (spot->to - start) * ((double)done / (double)node->bytes);
		if (!spot->level && share.node)
			at.hue = ks_hues_next(&hues, share.node->name);
		add_slice(l, &share, &at, odd);
		odd = !odd;
	}
}

/* A single file is a ring of one slice. */
static void add_leaf(struct ks_rings *l, const struct ks_dirnode *leaf)
{
	struct ks_share share = { .node = leaf, .bytes = leaf->bytes, .count = 1 };
	const char *slash = strrchr(l->spec->root_path, '/');
	struct ks_strbuf parent;
	struct ks_hues hues;
	struct spot spot = { .to = 2 * M_PI };

	ks_hues_init(&hues);
	ks_strbuf_init(&parent);
	if (slash)
		ks_strbuf_add(&parent, l->spec->root_path, (size_t)(slash - l->spec->root_path));
	spot.path = ks_rings_keep(l, &parent);
	spot.hue = ks_hues_next(&hues, leaf->name);
	add_slice(l, &share, &spot, false);
}

/* A grey ring where there is nothing to show. */
static void add_empty(struct ks_rings *l)
{
	struct ks_chart_slice *slice = ks_vec_push(&l->chart->slices);

	if (!slice) {
		l->nomem = true;
		return;
	}
	*slice = (struct ks_chart_slice){ .inner = KS_RINGS_RADIUS / 2,
					  .outer = KS_RINGS_RADIUS,
					  .to = 2 * M_PI,
					  .fill = nothing,
					  .id = "",
					  .title = "" };
}

/* === Public =============================================================================== */

const char *ks_rings_keep(struct ks_rings *l, struct ks_strbuf *sb)
{
	const char *s = sb->failed ? NULL
				   : ks_arena_strndup(&l->chart->arena, ks_strbuf_str(sb), sb->len);

	ks_strbuf_deinit(sb);
	l->nomem |= !s;
	return s ? s : "";
}

const char *ks_rings_keep_clean(struct ks_rings *l, const char *s)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	ks_escape_tty(&sb, s, strlen(s));
	return ks_rings_keep(l, &sb);
}

bool ks_rings_next_share(const struct ks_rings *l, u64 visible, u32 *child,
			 struct ks_share *ret_share)
{
	const struct ks_dirtree *tree = l->spec->tree;
	const struct ks_dirnode *node;

	if (*child == KS_NONE)
		return false;
	node = ks_dirtree_node(tree, *child);
	*ret_share = (struct ks_share){ .node = node, .bytes = node->bytes, .count = 1 };
	*child = node->sibling;
	if (node->bytes >= visible)
		return true;
	while (*child != KS_NONE && !ks_dirtree_node(tree, *child)->unresolved) {
		node = ks_dirtree_node(tree, *child);
		ret_share->node = NULL;
		ret_share->bytes += node->bytes;
		ret_share->count++;
		*child = node->sibling;
	}
	return true;
}

u64 ks_rings_visible(const struct ks_rings *l, unsigned int level)
{
	double middle = (l->radii[level] + l->radii[level + 1]) / 2;

	return (u64)(ARC_MIN / (2 * M_PI * middle) * (double)ks_rings_total(l)) + 1;
}

const char *ks_rings_share_name(struct ks_rings *l, const struct ks_share *share)
{
	struct ks_strbuf sb;

	if (share->node)
		return ks_rings_keep_clean(l, share->node->name);
	ks_strbuf_init(&sb);
	ks_strbuf_printf(&sb, "other (%u)", share->count);
	return ks_rings_keep(l, &sb);
}

struct ks_rgb ks_rings_share_color(const struct ks_share *share, u8 hue, unsigned int level,
				   bool odd)
{
	if (!share->node)
		return ks_rings_other_color(level);
	if (share->node->unresolved)
		return ks_rings_unresolved_color(level);
	return ks_rings_color(hue, level, odd);
}

int ks_rings_layout(const struct ks_rings_spec *spec, const struct ks_text_measure *measure,
		    struct ks_chart *ret_chart)
{
	const struct ks_dirnode *root = ks_dirtree_node(spec->tree, spec->root);
	struct ks_chart chart = { .width = KS_RINGS_WIDTH,
				  .height = KS_RINGS_HEIGHT,
				  .center_x = KS_RINGS_CENTER_X,
				  .center_y = KS_RINGS_CENTER_Y };
	struct ks_rings l = { .spec = spec, .measure = measure, .chart = &chart };
	struct spot spot = { .path = spec->root_path, .to = 2 * M_PI };

	ks_arena_init(&chart.arena);
	l.rings = ks_max(depth_below(spec->tree, spec->root, KS_RINGS_MAX), 1u);
	choose_radii(&l);
	if (!root->bytes)
		add_empty(&l);
	else if (root->child == KS_NONE)
		add_leaf(&l, root);
	else
		add_children(&l, root, &spot);
	ks_rings_add_words(&l);
	if (l.nomem) {
		ks_chart_deinit(&chart);
		return -ENOMEM;
	}
	*ret_chart = chart;
	return 0;
}

void ks_chart_deinit(struct ks_chart *chart)
{
	ks_arena_deinit(&chart->arena);
	ks_vec_free(&chart->slices);
	ks_vec_free(&chart->boxes);
	ks_vec_free(&chart->texts);
}
