/* SPDX-License-Identifier: LGPL-2.1-only */
/* From a place in an object to the field that is there, for a snapshot from anywhere. */
#ifndef KS_HEAP_FIELD_INDEX_H
#define KS_HEAP_FIELD_INDEX_H

#include "heap/snapshot.h"

struct ks_field_index {
	u32 *first; /* by type, and one more for the end */
	u32 *field; /* by word: number of the field + 1; 0 = none */
};

int ks_field_index_new(const struct ks_snapshot *snapshot, struct ks_field_index **ret_index);
void ks_field_index_free(struct ks_field_index *index);

/* The number of the field at a word of an object of this type, or KS_NONE. */
static inline u32 ks_field_at(const struct ks_field_index *index, u32 type, u32 word)
{
	u32 at = index->first[type] + word;

	return at < index->first[type + 1] ? index->field[at] - 1 : KS_NONE;
}

/* Whether a field is a link to the next in a list or tree. */
bool ks_field_is_link(const char *name);

/* Whether a field is no pointer by its type: what looks like one there may be something else. */
bool ks_field_is_doubtful(const char *name);

/* What stands behind the type's name: ".f_path.dentry", "" for elements of arrays, "+0x18" where there is no name. */
void ks_field_text(const struct ks_snapshot *snapshot, const struct ks_field_index *index, u32 type,
		   u32 word, char *text, size_t size);

#endif
