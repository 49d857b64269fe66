/* SPDX-License-Identifier: LGPL-2.1-only */
/* Holders, ways, retained bytes and unreachable objects, for the page of a heap. */
#ifndef KS_HEAP_PAGE_GRAPH_H
#define KS_HEAP_PAGE_GRAPH_H

#include "heap/snapshot.h"
#include "table/doc.h"

/* Objects of one type in one cache, known in one way: a row of the page. */
struct ks_page_type {
	u64 objects, bytes;
	u32 type, example;
	u16 cache;
	u8 known_by;
};

/*
 * Adds tables for the first of the types, which refer to these by their number: "retained", "holders" and "ways"; and
 * "unreachable". The snapshot has a graph.
 */
int ks_doc_add_page_graph(struct ks_doc *doc, const struct ks_snapshot *snapshot,
			  const struct ks_page_type *types, size_t count, struct ks_diag *diag);

#endif
