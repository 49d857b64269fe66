/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What each object is, and how that is known: by the name of its cache, by a typed object's field that points to
 * it, by functions that its contents name.
 */
#ifndef KS_HEAP_TYPING_H
#define KS_HEAP_TYPING_H

#include "heap/btf-types.h"
#include "heap/cache-types.h"
#include "heap/objects.h"

enum ks_known_by {
	KS_KNOWN_NOT,
	KS_KNOWN_CACHE,	 /* the cache has objects of this type only */
	KS_KNOWN_SLAB,	 /* the slab allocator itself holds it */
	KS_KNOWN_FIELD,	 /* a field that points to it says so, and the size fits */
	KS_KNOWN_UNION,	 /* as before, but the field may be something else */
	KS_KNOWN_START,	 /* a field says that it begins with this struct; it is larger */
	KS_KNOWN_SHAPE,	 /* of the types of merged caches, the one whose pointers make sense */
	KS_KNOWN_MERGED, /* one of the types of the caches that were merged */
	KS_KNOWN_TEXT,	 /* a function or a table of functions in its contents */
	KS_KNOWN_LIKE, /* a pointer to void leads to it, as to one of this type, beside the same operations */
	KS_KNOWN_HOLDER, /* no type: a pointer to void leads to it, and the operations beside it are known */
	KS_KNOWN_TAG,  /* no type: the kernel notes which code allocated it */
	KS_KNOWN_FILE, /* a file leads to it, of the kind whose files have such */
	KS_KNOWN_WAYS,
};

/* Objects of one type in one cache, known in one way. */
struct ks_typing_row {
	u32 type, cache;
	enum ks_known_by known_by;
	u64 objects, bytes;
};

struct ks_typing {
	struct ks_types *types;
	struct ks_aliases *aliases;
	u32 *of;	 /* by slot: the type; 0 = not known, or known by cache_type */
	u8 *known_by;	 /* by slot */
	u32 *cache_type; /* by cache: the type of all its objects; 0 = they differ */
	KS_VEC(struct ks_typing_row) rows; /* most bytes first */
	bool no_functions; /* their addresses can't be had: contents were not looked at */
};

/* @kallsyms: a file with the kernel's functions; NULL = contents are not looked at. */
int ks_typing_make(struct ks_kernel *kernel, const struct ks_census *census,
		   const struct ks_slots *slots, const char *kallsyms,
		   struct ks_typing **ret_typing, struct ks_diag *diag);

/* Only what the search for roots needs: areas of vmalloc, and tasks. Most objects have no type then, and there are no rows. */
int ks_typing_make_for_roots(struct ks_kernel *kernel, const struct ks_census *census,
			     const struct ks_slots *slots, struct ks_typing **ret_typing,
			     struct ks_diag *diag);

/* Private to the files that type: fills in the rows (typing-rows.c). */
int ks_typing_add_up(struct ks_typing *typing, const struct ks_census *census,
		     const struct ks_slots *slots);

void ks_typing_free(struct ks_typing *typing);

/* "cache", "field", ... */
const char *ks_known_by_name(enum ks_known_by known_by);

#endif
