// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope info: what is in a capture, or in a snapshot of a heap. */
#include "cli/heap-source.h"
#include "cli/output.h"
#include "cli/report.h"
#include "heap/snapshot-doc.h"
#include "heap/snapshot-file.h"

static int print_snapshot(const struct ks_cli *cli)
{
	struct ks_snapshot *snapshot;
	struct ks_diag diag;
	struct ks_doc *doc;
	u64 bytes;
	int err;

	if (!ks_heap_is_snapshot(cli->capture->input, &bytes))
		return -1;
	err = ks_snapshot_load(cli->capture->input, &snapshot, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	doc = ks_doc_of_snapshot(snapshot, cli->capture->input, bytes);
	ks_snapshot_free(snapshot);
	return doc ? ks_cli_print_doc(cli, doc)
		   : ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
}

static int ask(struct ks_analysis *analysis, const void *opts, struct ks_diag *diag)
{
	(void)opts;
	(void)diag;
	ks_analysis_count_names(analysis);
	return 0;
}

static struct ks_doc *make(const struct ks_model *model, const struct ks_cli *cli, const void *opts)
{
	(void)cli;
	(void)opts;
	return ks_doc_of_info(model);
}

const struct ks_report ks_report_info = {
	.usage = "usage: kmemscope info [OPTION...] FILE\n"
		 "\n"
		 "Shows what is in a capture: format, time span, events by kind, totals, capture\n"
		 "quality, misuse of the allocator, and the first lines that were not understood.\n"
		 "Of a snapshot of a heap: the kernel, the time, and how much there is.\n",
	.examples = "examples:\n"
		    "  kmemscope info trace.dat\n",
	.shared = KS_WITH_INPUT | KS_WITH_JSON | KS_WITH_COMMON | KS_WITH_BYTES,
	.other = print_snapshot,
	.ask = ask,
	.make = make,
};
