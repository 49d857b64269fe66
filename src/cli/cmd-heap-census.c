// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap without a subcommand: what is in the kernel's memory now. */
#include "cli/heap.h"
#include "cli/output.h"
#include "heap/census-doc.h"

/* === Internals ============================================================================ */

static int make_types(struct ks_kernel *kernel, struct ks_census *census,
		      struct ks_typing **ret_typing, struct ks_diag *diag)
{
	struct ks_slots *slots;
	int err = ks_slots_read(kernel, census, &slots, diag);

	if (err)
		return err;
	err = ks_typing_make(kernel, census, slots, "/proc/kallsyms", ret_typing, diag);
	ks_slots_free(slots);
	return err;
}

static int report(struct ks_cli *cli, struct ks_kernel *kernel, unsigned int by)
{
	const struct ks_census_options options = { .charges = by == KS_HEAP_BY_CGROUP };
	struct ks_aliases *aliases = NULL;
	struct ks_witness *witness = NULL;
	struct ks_typing *typing = NULL;
	struct ks_census *census;
	struct ks_diag diag;
	struct ks_doc *doc = NULL;
	int err = ks_census_take(kernel, &options, &census, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	if (by == KS_HEAP_BY_TYPE)
		err = make_types(kernel, census, &typing, &diag);
	if (!err && !ks_witness_read(census->caches, &witness) &&
	    !ks_aliases_read(kernel, census->caches, &aliases))
		doc = ks_doc_of_census(&(struct ks_heap_report){
			.kernel = kernel,
			.census = census,
			.witness = witness,
			.aliases = aliases,
			.typing = typing,
			.by = by,
			.top = cli->rows->top,
		});
	ks_witness_free(witness);
	ks_aliases_free(aliases);
	ks_typing_free(typing);
	ks_census_free(census);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	if (!doc)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	return ks_cli_print_doc(cli, doc);
}

/* === Public =============================================================================== */

int ks_heap_census(struct ks_heap_args *args)
{
	struct ks_kernel *kernel;
	struct ks_diag diag;
	int err = ks_heap_source_kernel(&args->source, &kernel, &diag), code;

	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	code = report(&args->cli, kernel, args->by);
	ks_kernel_free(kernel);
	return code;
}
