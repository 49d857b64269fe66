/* SPDX-License-Identifier: LGPL-2.1-only */
/* The tables of a heap's part of the HTML report. */
#ifndef KS_HEAP_PAGE_DOC_H
#define KS_HEAP_PAGE_DOC_H

#include "heap/compare.h"
#include "table/doc.h"

/*
 * Tables of bounded length: what has the most bytes by itself, the rest as one row. @compare: with the snapshot that came
 * before; NULL = there is none.
 */
int ks_doc_of_heap_page(const struct ks_snapshot *snapshot, const struct ks_heap_compare *compare,
			struct ks_doc **ret_doc, struct ks_diag *diag);

#endif
