// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap types: what the objects are, and how that is known. */
#include "cli/heap.h"
#include "cli/output.h"
#include "heap/types-doc.h"

int ks_heap_types(struct ks_heap_args *args)
{
	struct ks_snapshot *snapshot;
	struct ks_kernel *kernel;
	struct ks_diag diag;
	struct ks_doc *doc;
	int err = ks_heap_source_both(&args->source, false, &snapshot, &kernel, &diag);

	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	doc = ks_doc_of_types(snapshot, kernel, args->rows.top);
	ks_snapshot_free(snapshot);
	ks_kernel_free(kernel);
	if (!doc)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	return ks_cli_print_doc(&args->cli, doc);
}
