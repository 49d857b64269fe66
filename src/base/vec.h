/* SPDX-License-Identifier: LGPL-2.1-only */
/* Growable arrays: a plain pointer, a length and a capacity, grown by half with overflow checks. */
#ifndef KS_BASE_VEC_H
#define KS_BASE_VEC_H

#include <stdlib.h>

#include "base/types.h"

/* Makes room for @need elements; *@items may move. Returns 0 or -ENOMEM, leaving the array whole. */
int ks_grow(void **items, size_t *cap, size_t need, size_t elem_size);

/* KS_VEC(type) declares one; ks_vec_push() returns a pointer to the new zeroed element or NULL. */
#define KS_VEC(type)         \
	struct {             \
		type *items; \
		size_t len;  \
		size_t cap;  \
	}

#define ks_vec_reserve(v, n) \
	((n) <= (v)->cap     \
		 ? 0         \
		 : ks_grow((void **)(void *)&(v)->items, &(v)->cap, (n), sizeof(*(v)->items)))

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
