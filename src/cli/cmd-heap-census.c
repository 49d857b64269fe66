// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap without a subcommand: what is in the kernel's memory, now or in a snapshot. */
#include "cli/heap.h"
#include "cli/output.h"
#include "heap/census-doc.h"

/* === Internals ============================================================================ */

/* Caches and charges can be counted without a look at the objects. */
static int count(const struct ks_heap_args *args, struct ks_snapshot **ret_snapshot,
		 struct ks_heap_charges *charges, struct ks_diag *diag)
{
	const struct ks_census_options options = { .charges = args->by == KS_HEAP_BY_CGROUP };
	struct ks_snapshot *snapshot = NULL;
	struct ks_census *census = NULL;
	struct ks_kernel *kernel;
	int err = ks_heap_source_kernel(&args->source, &kernel, diag);

	if (err)
		return err;
	err = ks_census_take(kernel, &options, &census, diag);
	if (!err)
		err = ks_snapshot_new(&snapshot, diag);
	if (!err)
		err = ks_snapshot_add_census(snapshot, kernel, census, diag);
	if (!err && options.charges &&
	    ks_heap_charges_of_census(snapshot, census->charges, charges))
		err = ks_diag_nomem(diag, "adding up charges");
	ks_census_free(census);
	ks_kernel_free(kernel);
	if (err)
		ks_snapshot_free(snapshot);
	else
		*ret_snapshot = snapshot;
	return err;
}

static int get(const struct ks_heap_args *args, struct ks_snapshot **ret_snapshot,
	       struct ks_heap_charges *charges, struct ks_diag *diag)
{
	int err;

	if (!args->source.from && args->by != KS_HEAP_BY_TYPE)
		return count(args, ret_snapshot, charges, diag);
	err = ks_heap_source_snapshot(&args->source, false, ret_snapshot, diag);
	if (err || args->by != KS_HEAP_BY_CGROUP)
		return err;
	err = ks_heap_charges_of(*ret_snapshot, charges);
	if (!err)
		return 0;
	ks_snapshot_free(*ret_snapshot);
	return ks_diag_nomem(diag, "adding up charges");
}

/* === Public =============================================================================== */

int ks_heap_census(struct ks_heap_args *args)
{
	struct ks_heap_charges charges = { 0 };
	struct ks_snapshot *snapshot;
	struct ks_doc *doc = NULL;
	struct ks_diag diag;
	int err = get(args, &snapshot, &charges, &diag);

	if (!err) {
		doc = ks_doc_of_census(&(struct ks_heap_report){
			.heap = snapshot,
			.charges = &charges,
			.from = args->source.from,
			.by = args->by,
			.top = args->rows.top,
		});
		ks_snapshot_free(snapshot);
	}
	ks_vec_free(&charges.rows);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	if (!doc)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	return ks_cli_print_doc(&args->cli, doc);
}
