/* SPDX-License-Identifier: LGPL-2.1-only */
/* "Did you mean ...?": the word that a misspelt one is nearest to. */
#ifndef KS_BASE_NEAREST_H
#define KS_BASE_NEAREST_H

#include "base/types.h"

struct ks_nearest {
	const char *word; /* that was typed */
	const char *best; /* NULL = none is near */
	unsigned int distance;
};

static inline struct ks_nearest ks_nearest_to(const char *word)
{
	return (struct ks_nearest){ .word = word };
}

/* Offers a word that it may have meant. */
void ks_nearest_offer(struct ks_nearest *nearest, const char *candidate);

#endif
