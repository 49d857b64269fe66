// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap unreachable: objects that nobody holds, seen so twice. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/heap-sites.h"
#include "cli/heap.h"
#include "cli/output.h"
#include "heap/alloc-tags.h"
#include "heap/tracks.h"

/* === Internals ============================================================================ */

/* Of CLOCK_MONOTONIC; returns at once if it is past. */
static void wait_until(u64 ns)
{
	const struct timespec then = { .tv_sec = (time_t)(ns / 1000000000),
				       .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
		;
}

/* What one look has found. */
struct look {
	struct ks_snapshot *snapshot;
	struct ks_kernel *kernel; /* NULL = it was a file */
	struct ks_candidates_list list;
};

static void look_free(struct look *look)
{
	ks_candidates_deinit(&look->list);
	ks_snapshot_free(look->snapshot);
	ks_kernel_free(look->kernel);
}

static int look_at(const struct ks_heap_source *source, struct look *ret_look, struct ks_diag *diag)
{
	struct look look = { 0 };
	int err = ks_heap_source_both(source, true, &look.snapshot, &look.kernel, diag);

	if (err)
		return err;
	err = ks_unreachable_find(look.snapshot, &look.list, diag);
	if (err)
		look_free(&look);
	else
		*ret_look = look;
	return err;
}

/* Now and again after a while; or two files. One file is not enough, and says so; a dump does not change. */
static int look_twice(struct ks_heap_args *args, struct look *ret_look, struct ks_diag *diag)
{
	struct ks_heap_source first = args->source, second = args->source;
	struct ks_candidates_list before;
	struct look look;
	u64 begun = ks_clock_ns(CLOCK_MONOTONIC);
	char boot[64];
	int err;

	/* Of the first look only addresses and checksums are wanted. */
	first.brief = !args->source.vmcore && !args->source.from;
	err = look_at(&first, &look, diag);
	if (err)
		return err;
	if (args->source.vmcore || (args->source.from && !args->nr_operands)) {
		*ret_look = look;
		return 0;
	}
	snprintf(boot, sizeof(boot), "%s", look.snapshot->boot);
	/* Two snapshots at a time would need twice the memory. */
	before = look.list;
	look.list = (struct ks_candidates_list){ 0 };
	look_free(&look);
	if (args->source.from)
		second.from = args->operands[0];
	else /* an object is read about as late in both looks, so the first one's time counts */
		wait_until(begun + args->wait_ns);
	err = look_at(&second, &look, diag);
	if (!err && strcmp(look.snapshot->boot, boot)) {
		look_free(&look);
		err = ks_diag_set(diag, KS_EBADINPUT,
				  "%s and %s are of two boots, and have no object in common",
				  args->source.from, second.from);
	}
	if (!err) {
		ks_unreachable_confirm(&look.list, &before);
		*ret_look = look;
	}
	ks_candidates_deinit(&before);
	return err;
}

/* What the kernel itself notes, and what a capture says, which is the more exact where both do. 0 or an exit code. */
static int find_sites(struct ks_heap_args *args, const struct look *look,
		      struct ks_heap_sites *sites)
{
	int code = 0;

	if (look->kernel && (ks_heap_sites_add_tags(sites, look->kernel, &look->list) ||
			     ks_heap_sites_add_tracks(sites, look->kernel, &look->list,
						      ks_heap_symbols(look->kernel))))
		code = ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	if (!code && args->sites)
		code = ks_heap_sites_of_capture(&args->cli, args->sites, sites);
	return code;
}

static int show(struct ks_heap_args *args, const struct look *look)
{
	struct ks_unreachable_show show = { .each = args->each, .top = args->rows.top };
	struct ks_heap_sites sites;
	struct ks_doc *doc = NULL;
	int code;

	if (ks_heap_sites_init(&sites)) {
		ks_heap_sites_deinit(&sites);
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	}
	code = find_sites(args, look, &sites);
	if (!code) {
		if (args->sites || sites.names.len)
			show.sites = &sites;
		doc = ks_doc_of_unreachable(look->snapshot, &look->list, &show);
		if (!doc)
			code = ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	}
	ks_heap_sites_deinit(&sites);
	return code ? code : ks_cli_print_doc(&args->cli, doc);
}

/* === Public =============================================================================== */

int ks_heap_unreachable(struct ks_heap_args *args)
{
	struct ks_diag diag;
	struct look look;
	int err, code;

	if (args->nr_operands && !args->source.from)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "a second file goes with --from, and '%s' is alone",
				    args->operands[0]);
	err = look_twice(args, &look, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	code = show(args, &look);
	look_free(&look);
	return code;
}
