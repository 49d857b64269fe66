// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap unreachable: objects that nobody holds, seen so twice. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/heap.h"
#include "cli/output.h"
#include "heap/unreachable.h"

/* === Internals ============================================================================ */

static void wait_ns(u64 ns)
{
	struct timespec left = { .tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000) };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static int look(const struct ks_heap_source *source, struct ks_snapshot **ret_snapshot,
		struct ks_candidates_list *ret_list, struct ks_diag *diag)
{
	struct ks_snapshot *snapshot;
	int err = ks_heap_source_snapshot(source, true, &snapshot, diag);

	if (err)
		return err;
	err = ks_unreachable_find(snapshot, ret_list, diag);
	if (err)
		ks_snapshot_free(snapshot);
	else
		*ret_snapshot = snapshot;
	return err;
}

/* Now and again after a while; or two files. One file is not enough, and says so; a dump does not change. */
static int look_twice(struct ks_heap_args *args, struct ks_snapshot **ret_snapshot,
		      struct ks_candidates_list *ret_list, struct ks_diag *diag)
{
	struct ks_heap_source second = args->source;
	struct ks_candidates_list before = { 0 };
	struct ks_snapshot *first;
	char boot[64];
	int err = look(&args->source, &first, &before, diag);

	if (err)
		return err;
	if (args->source.vmcore || (args->source.from && !args->nr_operands)) {
		*ret_snapshot = first;
		*ret_list = before;
		return 0;
	}
	snprintf(boot, sizeof(boot), "%s", first->boot);
	ks_snapshot_free(first);
	if (args->source.from)
		second.from = args->operands[0];
	else
		wait_ns(args->wait_ns);
	err = look(&second, ret_snapshot, ret_list, diag);
	if (!err && strcmp((*ret_snapshot)->boot, boot)) {
		ks_snapshot_free(*ret_snapshot);
		ks_candidates_deinit(ret_list);
		err = ks_diag_set(diag, KS_EBADINPUT,
				  "%s and %s are of two boots, and have no object in common",
				  args->source.from, second.from);
	}
	if (!err)
		ks_unreachable_confirm(ret_list, &before);
	ks_candidates_deinit(&before);
	return err;
}

/* === Public =============================================================================== */

int ks_heap_unreachable(struct ks_heap_args *args)
{
	struct ks_candidates_list list;
	struct ks_snapshot *snapshot;
	struct ks_diag diag;
	struct ks_doc *doc;
	int err;

	if (args->nr_operands && !args->source.from)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "a second file goes with --from, and '%s' is alone",
				    args->operands[0]);
	err = look_twice(args, &snapshot, &list, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	doc = ks_doc_of_unreachable(snapshot, &list, args->rows.top);
	ks_candidates_deinit(&list);
	ks_snapshot_free(snapshot);
	if (!doc)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	return ks_cli_print_doc(&args->cli, doc);
}
