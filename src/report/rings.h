/* SPDX-License-Identifier: LGPL-2.1-only */
/* Ring charts: bytes by directory, one ring a level. */
#ifndef KS_REPORT_RINGS_H
#define KS_REPORT_RINGS_H

#include "analysis/dirtree.h"
#include "report/chart.h"
#include "table/doc.h"

struct ks_rings_spec {
	const struct ks_dirtree *tree; /* sorted */
	u32 root;		       /* the node in the middle */
	const char *root_path;	       /* "fs/ext4"; "" = the whole tree */
	const char *title;	       /* "Linux 6.12.9: static footprint" */
	const char *subtitle;	       /* what was counted */
	const char *note;	       /* small, at the bottom; "" = none */
	const char *top, *leaves;      /* what the first ring and the last ones are made of */
};

/*
 * Places everything. A label is drawn only where it fits into its slice, so that none overlaps and
 * none leaves the picture; slices too thin to see are gathered as "other (n)". -ENOMEM or 0.
 */
int ks_rings_layout(const struct ks_rings_spec *spec, const struct ks_text_measure *measure,
		    struct ks_chart *ret_chart);

/* The same as data: the tree below the root, with its bytes. NULL when there is no memory. */
struct ks_doc *ks_doc_of_rings(const struct ks_rings_spec *spec);

/*
 * Colours, by number: a name has one of 12 hues in every chart. Each hue has three tones: if one of the last few names
 * had the very colour, another tone is taken, so that neighbours differ. The kernel's top directories each have a hue
 * of their own.
 */
enum { KS_HUES_RECENT = 12 };

struct ks_hues {
	struct {
		u32 hash;
		u8 color;
	} recent[KS_HUES_RECENT]; /* the last one first */
	size_t len;
};

void ks_hues_init(struct ks_hues *hues);

/* A call site, "function+0x...", has the hue of its function. */
u8 ks_hues_next(struct ks_hues *hues, const char *name);

/* All colours, and the names that have one of their own, for the page. */
struct ks_known_color {
	const char *name;
	u8 color;
};

size_t ks_colors_len(void);
const struct ks_known_color *ks_known_colors(size_t *ret_len);

/* The number as a colour; @level counts the rings from 0. */
struct ks_rgb ks_rings_color(u8 color, unsigned int level, bool odd);
struct ks_rgb ks_rings_other_color(unsigned int level);
struct ks_rgb ks_rings_unresolved_color(unsigned int level);

/* Black or white, whichever is better to read on the fill. */
struct ks_rgb ks_text_color_on(struct ks_rgb fill);

#endif
