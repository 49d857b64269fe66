// SPDX-License-Identifier: GPL-2.0-only
/* The heap of "kmemscope html --heap". */
#include "cli/html-heap.h"

#include "cli/html-kmap.h"
#include "heap/page-doc.h"
#include "heap/snapshot-file.h"
#include "source/open.h"

/* === Internals ============================================================================ */

static int no_events(void *ctx, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	(void)ctx;
	(void)diag;
	*ret_batch = (struct ks_batch){ 0 };
	return 0;
}

static int open_empty(struct ks_cli *cli, struct ks_cli_html_heap *heap)
{
	static const struct ks_source_callbacks callbacks = { .format = "heap snapshot",
							      .gives = KS_GIVES_CAPTURE,
							      .clock = KS_CLOCK_SECONDS,
							      .next = no_events };
	struct ks_diag diag = { 0 };
	int err = ks_source_open_callbacks(&callbacks, NULL, NULL, &heap->source, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	cli->capture->source = heap->source;
	return 0;
}

static int make_doc(const char *path, const char *before, struct ks_doc **ret_doc,
		    struct ks_diag *diag)
{
	struct ks_snapshot *snapshot = NULL, *old = NULL;
	struct ks_heap_compare *compare = NULL;
	int err = ks_snapshot_load(path, &snapshot, diag);

	if (!err && before)
		err = ks_snapshot_load(before, &old, diag);
	if (!err && before)
		err = ks_heap_compare_make(old, snapshot, &compare, diag);
	if (!err)
		err = ks_doc_of_heap_page(snapshot, compare, ret_doc, diag);
	ks_heap_compare_free(compare);
	ks_snapshot_free(old);
	ks_snapshot_free(snapshot);
	return err;
}

/* === Public =============================================================================== */

int ks_cli_html_heap_open(struct ks_cli *cli, const char *path, const char *before, bool alone,
			  struct ks_cli_html_heap *ret_heap)
{
	struct ks_diag diag = { 0 };
	int err = make_doc(path, before, &ret_heap->doc, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	if (before)
		ks_doc_text(ret_heap->doc, "before", ks_cli_base_name(before));
	ret_heap->page = (struct ks_html_tables){ "heap", ret_heap->doc, ks_cli_base_name(path) };
	return alone ? open_empty(cli, ret_heap) : 0;
}

void ks_cli_html_heap_close(struct ks_cli_html_heap *heap)
{
	ks_doc_free(heap->doc);
	ks_source_close(heap->source);
	*heap = (struct ks_cli_html_heap){ 0 };
}
