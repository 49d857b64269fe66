// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope info: what is in a capture, or in a snapshot of a heap. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/output.h"
#include "cli/report.h"
#include "heap/snapshot-doc.h"
#include "heap/snapshot-file.h"

/* A pipe is left alone: what is read from it is gone. */
static bool is_snapshot(const char *path, u64 *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char head[16];
	ssize_t n = -1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		n = ks_pread_full(fd, head, sizeof(head), 0);
		*ret_bytes = (u64)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	return n > 0 && ks_snapshot_probe(head, (size_t)n);
}

static int print_snapshot(const struct ks_cli *cli)
{
	struct ks_snapshot *snapshot;
	struct ks_diag diag;
	struct ks_doc *doc;
	u64 bytes;
	int err;

	if (!is_snapshot(cli->capture->input, &bytes))
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
	.shared = KS_WITH_INPUT | KS_WITH_JSON | KS_WITH_COMMON,
	.other = print_snapshot,
	.ask = ask,
	.make = make,
};
