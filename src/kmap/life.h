/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The time in which at least one object of a site lives: the union of their lives. Memory is bounded: where a
 * site has too many separate lives, the shortest gaps between them are closed, and how much time that added is
 * known.
 */
#ifndef KS_KMAP_LIFE_H
#define KS_KMAP_LIFE_H

#include "base/types.h"
#include "base/vec.h"

#define KS_KMAP_SPANS_MAX 256

struct ks_kmap_span {
	u64 begin, end; /* end > begin */
};

struct ks_kmap_life {
	KS_VEC(struct ks_kmap_span) spans; /* in order; they neither meet nor overlap */
	u64 closed;			   /* time in gaps that were closed */
	u64 live_begin;			   /* of the oldest object that has no end */
	bool has_live;
};

/* An object that lived from @begin to @end. Nothing happens where that is no time. 0 or -ENOMEM. */
int ks_kmap_life_add(struct ks_kmap_life *life, u64 begin, u64 end);

/* An object without an end. */
void ks_kmap_life_add_live(struct ks_kmap_life *life, u64 begin);

/* The time in which one lives, until @last, the end of the map. */
u64 ks_kmap_life_time(const struct ks_kmap_life *life, u64 last);

void ks_kmap_life_free(struct ks_kmap_life *life);

#endif
