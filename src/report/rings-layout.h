/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the ring charts: the layout while it is made. Functions that fail set nomem. */
#ifndef KS_REPORT_RINGS_LAYOUT_H
#define KS_REPORT_RINGS_LAYOUT_H

#include "report/rings.h"

enum { KS_RINGS_MAX = 4 };

/* Points. The rings are on the left, the table on the right. */
#define KS_RINGS_WIDTH	  1280.0
#define KS_RINGS_HEIGHT	  840.0
#define KS_RINGS_CENTER_X 412.0
#define KS_RINGS_CENTER_Y 466.0
#define KS_RINGS_RADIUS	  340.0

struct ks_rings {
	const struct ks_rings_spec *spec;
	const struct ks_text_measure *measure;
	struct ks_chart *chart;
	unsigned int rings;
	double radii[KS_RINGS_MAX + 1];
	bool nomem;
};

/* What a slice stands for: a node, or several small ones gathered. */
struct ks_share {
	const struct ks_dirnode *node; /* NULL = gathered */
	u64 bytes;
	u32 count; /* of gathered ones */
};

/* Of the node in the middle. */
static inline u64 ks_rings_total(const struct ks_rings *l)
{
	return ks_dirtree_node(l->spec->tree, l->spec->root)->bytes;
}

/* Moves the text into the chart's arena; "" when that fails. */
const char *ks_rings_keep(struct ks_rings *l, struct ks_strbuf *sb);

/* The same from a string that may hold anything: made harmless. */
const char *ks_rings_keep_clean(struct ks_rings *l, const char *s);

/*
 * The next share of a node's children, from *@child on: one that has @visible bytes, or all that
 * have not. What is unresolved always stays on its own.
 */
bool ks_rings_next_share(const struct ks_rings *l, u64 visible, u32 *child,
			 struct ks_share *ret_share);

/* The least number of bytes that makes a visible arc in the ring of this level. */
u64 ks_rings_visible(const struct ks_rings *l, unsigned int level);

/* "inode.c", "other (12)". */
const char *ks_rings_share_name(struct ks_rings *l, const struct ks_share *share);
struct ks_rgb ks_rings_share_color(const struct ks_share *share, u8 hue, unsigned int level,
				   bool odd);

/* All that is written outside of slices: heading, middle and tables. */
void ks_rings_add_words(struct ks_rings *l);

#endif
