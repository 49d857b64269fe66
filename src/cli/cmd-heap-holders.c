// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap holders: who holds objects, and how a root leads to them. */
#include "cli/heap.h"
#include "cli/output.h"
#include "heap/holders-doc.h"

int ks_heap_holders(struct ks_heap_args *args)
{
	struct ks_selection *selection = NULL;
	struct ks_snapshot *snapshot;
	struct ks_diag diag;
	struct ks_doc *doc;
	int err = ks_heap_source_snapshot(&args->source, true, &snapshot, &diag);

	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	err = ks_selection_make(snapshot, args->operands[0], &selection, &diag);
	if (!err)
		err = ks_doc_of_holders(snapshot, selection, args->operands[0], args->rows.top,
					&doc, &diag);
	ks_selection_free(selection);
	ks_snapshot_free(snapshot);
	return err ? ks_cli_fail(&args->cli, err, &diag) : ks_cli_print_doc(&args->cli, doc);
}
