/* SPDX-License-Identifier: LGPL-2.1-only */
/* Holders, ways, retained bytes and unreachable objects, for the page of a heap. */
#ifndef KS_HEAP_PAGE_GRAPH_H
#define KS_HEAP_PAGE_GRAPH_H

#include "heap/type-sums.h"
#include "table/doc.h"

/*
 * Adds tables for the first of the types, which refer to these by their number: "retained", "holders" and "ways"; and
 * "unreachable". The snapshot has a graph.
 */
int ks_doc_add_page_graph(struct ks_doc *doc, const struct ks_snapshot *snapshot,
			  const struct ks_type_sum *types, size_t count, struct ks_diag *diag);

#endif
