/* SPDX-License-Identifier: LGPL-2.1-only */
/* Types of objects as a table. */
#ifndef KS_HEAP_TYPING_DOC_H
#define KS_HEAP_TYPING_DOC_H

#include "heap/typing.h"
#include "table/doc.h"

/* Adds the table, the most bytes first, and in words how much is known. @top rows in text, 0 = all. */
void ks_doc_add_types(struct ks_doc *doc, const struct ks_census *census,
		      const struct ks_typing *typing, u64 top);

#endif
