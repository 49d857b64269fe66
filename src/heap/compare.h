/* SPDX-License-Identifier: LGPL-2.1-only */
/* Two snapshots compared: which objects are new, and which caches and types grew. */
#ifndef KS_HEAP_COMPARE_H
#define KS_HEAP_COMPARE_H

#include "base/intern.h"
#include "heap/snapshot.h"

/*
 * What became of an object of the second snapshot. Objects are known by their address, so all but the first need snapshots of
 * one boot. That an object is new is certain: there was none at its address, or one of another cache or type. That it
 * is the same is certain but for the chance that a new one has the same contents. In between nobody can tell: it
 * has changed, or has been freed and another of its type has taken its place.
 */
enum ks_heap_fate {
	KS_FATE_UNKNOWN, /* the snapshots are of different boots */
	KS_FATE_SAME,
	KS_FATE_CHANGED,
	KS_FATE_REPLACED, /* new, where another was */
	KS_FATE_NEW,	  /* where none was */
};

/* Objects of one type in one cache. Those of the first snapshot that are gone were replaced, or nothing is there. */
struct ks_heap_change {
	u32 type, cache; /* names */
	u64 before, after;
	u64 bytes_before, bytes_after;
	u64 fresh, fresh_bytes; /* new or replaced */
	u64 changed;
	u64 gone;
	u32 example; /* the first of the new ones; KS_NONE = there is none */
};

struct ks_heap_compare {
	const struct ks_snapshot *before, *after;
	bool same_boot;
	struct ks_intern names; /* of types and caches */
	KS_VEC(struct ks_heap_change) types;
	KS_VEC(struct ks_heap_change) caches; /* their type is KS_NONE */
	u8 *fate;			      /* enum ks_heap_fate, by object of the second */
	struct ks_heap_change total;
};

/* Whether the object was certainly allocated since the first snapshot. */
static inline bool ks_heap_is_new(const struct ks_heap_compare *compare, u32 object)
{
	return compare->fate[object] >= KS_FATE_REPLACED;
}

/*
 * The snapshots must outlive it. Rows are by growth in bytes, then by bytes of new objects; what neither
 * grew nor shrank nor has new or gone objects has a row, too.
 */
int ks_heap_compare_make(const struct ks_snapshot *before, const struct ks_snapshot *after,
			 struct ks_heap_compare **ret_compare, struct ks_diag *diag);
void ks_heap_compare_free(struct ks_heap_compare *compare);

#endif
