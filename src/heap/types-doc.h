/* SPDX-License-Identifier: LGPL-2.1-only */
/* The types of a snapshot's objects as a table. */
#ifndef KS_HEAP_TYPES_DOC_H
#define KS_HEAP_TYPES_DOC_H

#include "heap/kernel.h"
#include "heap/snapshot.h"
#include "table/doc.h"

/*
 * @top rows in text, 0 = all. @kernel, which the snapshot is of, or the snapshot's references say what objects of no
 * known type have in common; NULL = a file. NULL when there is no memory.
 */
struct ks_doc *ks_doc_of_types(const struct ks_snapshot *snapshot, struct ks_kernel *kernel,
			       u64 top);

/* The table alone, and how much is known in words. */
void ks_doc_add_types(struct ks_doc *doc, const struct ks_snapshot *snapshot, u64 top);

#endif
