/* SPDX-License-Identifier: LGPL-2.1-only */
/* Objects of a type or cache as a list, and all about one object. */
#ifndef KS_HEAP_SHOW_DOC_H
#define KS_HEAP_SHOW_DOC_H

#include "heap/kernel.h"
#include "heap/selection.h"
#include "table/doc.h"

struct ks_show {
	const struct ks_snapshot *snapshot; /* with a graph */
	const struct ks_selection *selection;
	struct ks_kernel *kernel; /* NULL = its memory can't be read: the snapshot is from a file */
	const char *kallsyms;	  /* functions; NULL = none */
	bool contents;		  /* values too */
	u64 top;		  /* rows in text; 0 = all */
};

int ks_doc_of_show(const struct ks_show *show, struct ks_doc **ret_doc, struct ks_diag *diag);

#endif
