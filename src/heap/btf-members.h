/* SPDX-License-Identifier: LGPL-2.1-only */
/* Members of the kernel's structs and values of its enums, looked up by name in its type information (BTF). */
#ifndef KS_HEAP_BTF_MEMBERS_H
#define KS_HEAP_BTF_MEMBERS_H

#include "base/types.h"

struct btf;
struct btf_type;

/* The structs and enums of these names: found in one pass, as BTF has no index by name. */
struct ks_btf_types {
	const struct btf *btf;
	const char *const *names;
	u32 *ids; /* as many as names; 0 = there is none */
	size_t len;
};

/* A member as it was found: its place in the outermost struct. */
struct ks_btf_found {
	u32 type; /* its BTF type */
	u32 bit;
	u32 bits; /* of a bit field; else 0 */
};

/* The type behind typedefs, qualifiers and tags; @id becomes its number. NULL: there is none. */
const struct btf_type *ks_btf_resolve(const struct btf *btf, u32 *id);

/* A member of struct @id, or of a nameless struct or union in it. False: there is none. */
bool ks_btf_find_member(const struct btf *btf, u32 id, const char *name, struct ks_btf_found *ret);

/* Where a member of a struct is, in bytes. False: there is none. */
bool ks_btf_member(const struct btf *btf, const char *type, const char *name, u32 *ret_offset);

/* Fills @types->ids. Of namesakes the first counts. */
void ks_btf_find_types(struct ks_btf_types *types);

/* The number of a type by its name; 0 = there is none, or the name is not one of @types. */
u32 ks_btf_id(const struct ks_btf_types *types, const char *name);

/* The size of a type in bytes; KS_NONE = there is none. */
u32 ks_btf_size(const struct ks_btf_types *types, const char *name);

/* The first member that exists. Both lists have alternatives, "one|two"; types go first. */
bool ks_btf_find_field(const struct ks_btf_types *types, const char *of, const char *members,
		       struct ks_btf_found *ret);

/* The value of an enumerator of the enum @of. False, and KS_NONE: there is none. */
bool ks_btf_enumerator(const struct ks_btf_types *types, const char *of, const char *name,
		       u32 *ret_value);

#endif
