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
 * The hue of a directory: the kernel's top directories always have the same, others one by their name
 * that is none of the last few, in @recent, so that neighbours differ.
 */
struct ks_hues {
	u8 recent[8]; /* of 12: a legend rarely has a colour twice */
};

void ks_hues_init(struct ks_hues *hues);
u8 ks_hues_next(struct ks_hues *hues, const char *name);

/* The hue as a colour; @level counts the rings from 0. */
struct ks_rgb ks_rings_color(u8 hue, unsigned int level, bool odd);
struct ks_rgb ks_rings_other_color(unsigned int level);
struct ks_rgb ks_rings_unresolved_color(unsigned int level);

/* Black or white, whichever is better to read on the fill. */
struct ks_rgb ks_text_color_on(struct ks_rgb fill);

#endif
