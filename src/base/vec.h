/* SPDX-License-Identifier: LGPL-2.1-only */
/* Growable arrays: a plain pointer, a length and a capacity, grown by half with overflow checks. */
#ifndef KS_BASE_VEC_H
#define KS_BASE_VEC_H

#include <errno.h>
#include <stdlib.h>

#include "base/types.h"

/*
 * Makes room for @need elements. Returns where the array is now, and changes *@cap; or NULL, leaving both
 * as they were.
 */
/* An array for this many elements, not zeroed; NULL where memory, or an address space, is too small for it. */
void *ks_array_new(u64 count, size_t elem_size);

void *ks_grow_array(void *items, size_t *cap, u64 need, size_t elem_size);

/* Makes room for @need elements in an array of @cap, of any type. 0 or -ENOMEM. */
#define ks_reserve(items, cap, need)                                                     \
	((need) <= (cap) ? 0 : ({                                                        \
		void *grown_ = ks_grow_array((items), &(cap), (need), sizeof(*(items))); \
                                                                                         \
		if (grown_)                                                              \
			(items) = grown_;                                                \
		grown_ ? 0 : -ENOMEM;                                                    \
	}))

/* KS_VEC(type) declares one; ks_vec_push() returns a pointer to the new zeroed element or NULL. */
#define KS_VEC(type)         \
	struct {             \
		type *items; \
		size_t len;  \
		size_t cap;  \
	}

#define ks_vec_reserve(v, n) ks_reserve((v)->items, (v)->cap, (n))

#define ks_vec_push(v)                     \
	(ks_vec_reserve((v), (v)->len + 1) \
		 ? NULL                    \
		 : (void *)__builtin_memset(&(v)->items[(v)->len++], 0, sizeof(*(v)->items)))

#define ks_vec_free(v)             \
	do {                       \
		free((v)->items);  \
		(v)->items = NULL; \
		(v)->len = 0;      \
		(v)->cap = 0;      \
	} while (0)

#endif
