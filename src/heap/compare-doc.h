/* SPDX-License-Identifier: LGPL-2.1-only */
/* The comparison of two snapshots as tables. */
#ifndef KS_HEAP_COMPARE_DOC_H
#define KS_HEAP_COMPARE_DOC_H

#include "heap/compare.h"
#include "table/doc.h"

/* @first and @second are what the snapshots are called; @top rows in text, 0 = all. NULL when there is no memory. */
struct ks_doc *ks_doc_of_compare(const struct ks_heap_compare *compare, const char *first,
				 const char *second, u64 top);

/* The tables of types and caches alone, without what did not change. */
void ks_doc_add_changes(struct ks_doc *doc, const struct ks_heap_compare *compare, u64 top);

#endif
