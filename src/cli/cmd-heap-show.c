// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap show: the objects of a type or cache, or all about one. */
#include "cli/heap.h"
#include "cli/output.h"
#include "heap/show-doc.h"

int ks_heap_show(struct ks_heap_args *args)
{
	struct ks_selection *selection = NULL;
	struct ks_snapshot *snapshot;
	struct ks_kernel *kernel;
	struct ks_diag diag;
	struct ks_doc *doc;
	u64 address;
	int err;

	if (args->contents && args->source.from)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "--contents: a snapshot has no contents of memory");
	/* A list of objects needs no references, which take longest to find. */
	err = ks_heap_source_both(&args->source, ks_selection_address(args->operands[0], &address),
				  &snapshot, &kernel, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	err = ks_selection_make(snapshot, args->operands[0], &selection, &diag);
	if (!err)
		err = ks_doc_of_show(
			&(struct ks_show){ .snapshot = snapshot,
					   .selection = selection,
					   .kernel = kernel,
					   .kallsyms = kernel ? ks_heap_symbols(kernel) : NULL,
					   .contents = args->contents,
					   .top = args->rows.top },
			&doc, &diag);
	ks_selection_free(selection);
	ks_snapshot_free(snapshot);
	ks_kernel_free(kernel);
	return err ? ks_cli_fail(&args->cli, err, &diag) : ks_cli_print_doc(&args->cli, doc);
}
