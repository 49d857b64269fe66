/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Which of several types an object has, by its contents: in the right one, pointers lead to what they should. It is for
 * caches that the kernel has merged, whose possible types are known.
 */
#ifndef KS_HEAP_SHAPE_H
#define KS_HEAP_SHAPE_H

#include "heap/slot-index.h"
#include "heap/typing.h"

enum { KS_CANDIDATES_MAX = 32 };

/* The types that the objects of a merged cache may have. */
struct ks_candidates {
	u32 types[KS_CANDIDATES_MAX];
	u32 count;
	bool merged;
};

struct ks_shape {
	const struct ks_kernel *kernel;
	const struct ks_census *census;
	const struct ks_typing *typing;
	const struct ks_slot_index *index;
	const struct ks_candidates *candidates; /* expanded */
	u32 cache;				/* the object's own */
};

/* The type that fits better than all others, or 0. */
u32 ks_shape_judge(const struct ks_shape *shape, const u8 *data, u32 size);

#endif
