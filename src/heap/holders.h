/* SPDX-License-Identifier: LGPL-2.1-only */
/* Who holds objects: references added up by the holder's type and field. */
#ifndef KS_HEAP_HOLDERS_H
#define KS_HEAP_HOLDERS_H

#include "heap/field-index.h"
#include "heap/selection.h"

/* Holders of one kind: objects of a type by one field, or roots of a kind. */
struct ks_holders_row {
	u32 type;	/* KS_NONE: roots */
	u32 word;	/* the place; of roots their kind */
	u64 references; /* to selected objects */
	u64 objects;	/* of the selected, that are held so at least once */
	u64 holders;
	u32 example; /* a holder: an object, or a root */
};

struct ks_holders {
	KS_VEC(struct ks_holders_row) items; /* the most objects first */
};

/* Fields of one name are one row. */
int ks_holders_find(const struct ks_snapshot *snapshot, const struct ks_field_index *fields,
		    const struct ks_selection *selection, struct ks_holders **ret_holders);
void ks_holders_free(struct ks_holders *holders);

/* "task_struct.files", "stack bash/17": who holds, and by which field. */
void ks_holders_row_text(const struct ks_snapshot *snapshot, const struct ks_field_index *fields,
			 const struct ks_holders_row *row, char *text, size_t size);

/* "variable", "per-CPU", "stack", ... */
const char *ks_root_kind_name(enum ks_root_kind kind);

#endif
