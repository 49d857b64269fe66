/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The fields of a map: what was done to each part of the objects of a type, by whom. Made of a census with spots; types
 * come from debug information.
 */
#ifndef KS_KMAP_FIELDS_H
#define KS_KMAP_FIELDS_H

#include "kmap/places.h"
#include "sym/debug-set.h"

enum ks_kmap_typed {
	KS_KMAP_UNTYPED,
	KS_KMAP_TYPED_SITE,  /* what the result of the allocation is assigned to */
	KS_KMAP_TYPED_CACHE, /* what other objects of the cache are, or its name says */
	KS_KMAP_TYPEDS
};

const char *ks_kmap_typed_name(enum ks_kmap_typed typed);

/* A function, and what it did to a field. */
struct ks_kmap_user {
	u32 function; /* label of the places */
	u64 reads, writes;
};

#define KS_KMAP_CPU_WORDS 2 /* processors are counted modulo 128 */

struct ks_kmap_field {
	const char *name, *type; /* type "" = not known */
	u32 offset, size, member;
	u64 reads, writes;
	u64 bytes_read, bytes_written; /* of the field itself */
	u64 ranges;	 /* of its accesses, those that reach beyond it: memcpy() and so on */
	u64 writes_most; /* to one object, ranges aside; at most */
	u64 reader_cpus[KS_KMAP_CPU_WORDS], writer_cpus[KS_KMAP_CPU_WORDS];
	bool in_interrupt;
	KS_VEC(struct ks_kmap_user) users; /* most accesses first */
};

/* A type; or, where it is not known, the objects of a cache or of a site. */
struct ks_kmap_struct {
	const char *name;
	enum ks_kmap_typed typed;
	struct ks_debug_struct *layout; /* NULL = not known */
	u64 size;	      /* of the struct; without a layout, the most that was requested */
	u64 objects, aligned; /* aligned: that start with a cache line */
	u64 lines, bytes;     /* accessed in each object, added up */
	u64 reads, writes;
	u64 varying;			     /* of these, at offsets that are not known */
	u64 beyond;			     /* of these, behind the struct */
	KS_VEC(struct ks_kmap_field) fields; /* by offset */
};

struct ks_kmap_fields {
	KS_VEC(struct ks_kmap_struct) structs; /* most accesses first */
	u64 unplaced;			       /* accesses that do not say where */
	u64 untyped;			       /* accesses to objects of unknown type */
	struct ks_arena strings;
};

/* @debug may be NULL. @census was read with spots. */
int ks_kmap_fields_new(const struct ks_kmap_census *census, const struct ks_kmap_places *places,
		       struct ks_debug_set *debug, struct ks_kmap_fields **ret_fields,
		       struct ks_diag *diag);
void ks_kmap_fields_free(struct ks_kmap_fields *fields);

/* What the order of a struct's members costs. */
struct ks_kmap_cost {
	u64 size, holes;
	u64 hot_lines; /* cache lines with a member that has a hundredth of all accesses, or more */
	u64 mixed_lines; /* of these, with members that are read and others that are written */
};

/* Of a type with a layout. 0 or -ENOMEM. */
int ks_kmap_cost_of_layout(const struct ks_kmap_struct *type, struct ks_kmap_cost *ret_cost);

static inline u64 ks_kmap_field_accesses(const struct ks_kmap_field *field)
{
	return field->reads + field->writes;
}

#endif
