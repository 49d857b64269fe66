/* SPDX-License-Identifier: LGPL-2.1-only */
/* Interning: equal byte strings get equal small numbers, handed out in order of first appearance. */
#ifndef KS_BASE_INTERN_H
#define KS_BASE_INTERN_H

#include "base/arena.h"
#include "base/vec.h"

struct ks_str {
	const char *s; /* NUL-terminated, but may hold other bytes before it */
	u32 len;
};

struct ks_intern {
	struct ks_arena arena;
	KS_VEC(struct ks_str) strs; /* by id */
	u32 *index;		    /* id + 1 per bucket, 0 = empty */
	u32 mask;		    /* buckets - 1; a power of two */
	u64 seed;
};

/* Fails only for lack of memory. deinit accepts a zeroed struct. */
int ks_intern_init(struct ks_intern *in);
void ks_intern_deinit(struct ks_intern *in);

/* The id of the string, new or old; KS_NONE when there is no memory. */
u32 ks_intern_add(struct ks_intern *in, const char *s, size_t len);

/* The id of a known string, or KS_NONE. */
u32 ks_intern_find(const struct ks_intern *in, const char *s, size_t len);

static inline struct ks_str ks_intern_get(const struct ks_intern *in, u32 id)
{
	static const struct ks_str empty = { "", 0 };

	return id < in->strs.len ? in->strs.items[id] : empty;
}

#endif
