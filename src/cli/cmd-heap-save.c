// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap save: a snapshot of the heap as a file, for later and for elsewhere. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/heap.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "heap/snapshot-doc.h"
#include "heap/snapshot-file.h"

/* === Internals ============================================================================ */

static int save(struct ks_cli *cli, const struct ks_snapshot *snapshot, const char *path)
{
	struct ks_progress progress;
	struct ks_diag diag;
	int err;

	ks_cli_progress_start(&progress, "saving");
	err = ks_snapshot_save(snapshot, path, ks_cli_progress, &progress, &diag);
	ks_cli_progress_end(&progress);
	return err ? ks_cli_fail(cli, err, &diag) : 0;
}

static int print_saved(struct ks_cli *cli, const struct ks_snapshot *snapshot, const char *path)
{
	struct ks_doc *doc;
	struct stat st;

	if (stat(path, &st))
		return ks_cli_error(cli, KS_EXIT_FAILED, "%s: %s", path, strerror(errno));
	doc = ks_doc_of_snapshot(snapshot, path, (u64)st.st_size);
	if (!doc)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	return ks_cli_print_doc(cli, doc);
}

/* === Public =============================================================================== */

int ks_heap_save(struct ks_heap_args *args)
{
	struct ks_cli *cli = &args->cli;
	struct ks_snapshot *snapshot;
	struct ks_diag diag;
	int err, code;

	if (!args->output)
		return ks_cli_error(cli, KS_EXIT_USAGE, "name the snapshot to make with -o FILE");
	if (!strcmp(args->output, "-"))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "a snapshot must be a regular file; give it a name");
	err = ks_heap_source_snapshot(&args->source, !args->no_graph, &snapshot, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	code = save(cli, snapshot, args->output);
	if (!code)
		code = print_saved(cli, snapshot, args->output);
	ks_snapshot_free(snapshot);
	return code;
}
