// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap diff: what changed between two snapshots. */
#include "cli/heap.h"
#include "cli/output.h"
#include "heap/compare-doc.h"
#include "heap/snapshot-file.h"

int ks_heap_diff(struct ks_heap_args *args)
{
	struct ks_snapshot *before = NULL, *after = NULL;
	struct ks_heap_compare *compare = NULL;
	struct ks_doc *doc = NULL;
	struct ks_diag diag;
	int err = ks_snapshot_load(args->operands[0], &before, &diag);

	if (!err)
		err = ks_snapshot_load(args->operands[1], &after, &diag);
	if (!err)
		err = ks_heap_compare_make(before, after, &compare, &diag);
	if (!err)
		doc = ks_doc_of_compare(compare, args->operands[0], args->operands[1],
					args->rows.top);
	ks_heap_compare_free(compare);
	ks_snapshot_free(before);
	ks_snapshot_free(after);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	if (!doc)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	return ks_cli_print_doc(&args->cli, doc);
}
