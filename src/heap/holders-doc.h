/* SPDX-License-Identifier: LGPL-2.1-only */
/* Who holds objects, as a document. */
#ifndef KS_HEAP_HOLDERS_DOC_H
#define KS_HEAP_HOLDERS_DOC_H

#include "heap/selection.h"
#include "table/doc.h"

/* Adds the table of who holds the selected objects, by type and field. @top rows in text, 0 = all. -ENOMEM. */
int ks_doc_add_holders(struct ks_doc *doc, const struct ks_snapshot *snapshot,
		       const struct ks_selection *selection, u64 top);

/*
 * All about who holds the selected objects: the holders, the tasks that they are nearest to, the shortest way from a root
 * to one of them, what they retain, and who alone holds most of them.
 */
int ks_doc_of_holders(const struct ks_snapshot *snapshot, const struct ks_selection *selection,
		      const char *name, u64 top, struct ks_doc **ret_doc, struct ks_diag *diag);

#endif
